import { describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { inFolder, MANIFEST, runFolder } from '../../../src/lake/documents/lake-layout.js';
import { encodeManifest, type ManifestFields } from '../../../src/lake/documents/manifest.js';
import { findMissingChangeLogs } from '../../../src/lake/published/change-logs.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { temporaryLake } from './data-plane.js';
import { type PublishedRun, publishRun } from './published.js';

const idOf = (day: number): RunId =>
  `202611${String(day).padStart(2, '0')}T020000Z-0000000${day % 10}` as RunId;
const dateOf = (day: number): string => `2026-11-${String(day).padStart(2, '0')}`;

/** Four runs on a chain, whose change logs have one part each. */
async function fourRuns(store: ObjectStore, resource: string) {
  const runs: { readonly run: PublishedRun; readonly manifest: ObjectKey; readonly part: ObjectKey }[] = [];
  for (let day = 1; day <= 4; day++) {
    const runId = idOf(day);
    const columns = [{ name: 'id', types: ['string'] }] as unknown as ManifestFields['columns'];
    const run = await publishRun(store, {
      resource,
      runId,
      date: dateOf(day),
      columns,
      parts: [[['a'], ['b']]],
    });
    const folder = runFolder(resource, 'changes', dateOf(day), runId);
    const part = inFolder(folder, run.parts[0]!.key.split('/').at(-1)!);
    const previousRuns = [...runs].reverse().map((one) => ({ runId: one.run.pointer.runId, publishedAt: 1 }));
    const parts = [{ ...run.parts[0]!, key: part }];
    const body = encodeManifest({ ...run.manifest, tree: 'changes', parts, previousRuns });
    await store.write(inFolder(folder, MANIFEST), body);
    runs.push({ run, manifest: inFolder(folder, MANIFEST), part });
  }
  return runs;
}

describe('change logs that are missing', () => {
  const lake = temporaryLake();
  let resources = 0;

  it.each<[string, (runs: Awaited<ReturnType<typeof fourRuns>>) => Promise<unknown>, [number, RegExp][]]>([
    ['nothing', async () => {}, []],
    [
      'the oldest log',
      ([first]) => lake.store.remove([first!.manifest, first!.part]),
      [[1, /with it the change log of run/]],
    ],
    [
      'a log in the middle, and the oldest',
      ([first, , third]) => lake.store.remove([first!.manifest, first!.part, third!.manifest, third!.part]),
      [
        [3, /with it the change log of run/],
        [1, /with it the change log of run/],
      ],
    ],
    [
      'a part',
      ([, second]) => lake.store.remove([second!.part]),
      [[2, /is missing: the change log of run .* lacks rows/]],
    ],
    [
      'the end of a part',
      ([, second]) => lake.store.write(second!.part, Buffer.from('x')),
      [[2, /has 1 bytes instead of \d+/]],
    ],
    [
      'a manifest',
      ([, second]) => lake.store.remove([second!.manifest]),
      [[2, /is missing, so the change log/]],
    ],
    [
      'the content of a manifest',
      ([, second]) => lake.store.write(second!.manifest, Buffer.from('{')),
      [[2, /_datapackage.json/]],
    ],
  ])('are found: %s', async (_, damage, expected) => {
    const resource = `r${resources++}`;
    const runs = await fourRuns(lake.store, resource);
    await damage(runs);
    const found = await findMissingChangeLogs(lake.store, runs.at(-1)!.run.pointer);
    expect(found.map(({ runId }) => runId)).toEqual(expected.map(([day]) => idOf(day)));
    for (const [at, [, text]] of expected.entries()) expect(found[at]!.problem).toMatch(text);
  });

  it('change logs that are missing before the newest run are not known if its own log is missing', async () => {
    const resource = `r${resources++}`;
    const runs = await fourRuns(lake.store, resource);
    const { run, manifest, part } = runs.at(-1)!;
    await lake.store.remove([manifest, part]);
    const found = await findMissingChangeLogs(lake.store, run.pointer);
    expect(found.map(({ problem }) => problem).join('\n')).toMatch(
      /with it the change log.*\n.*is not known/,
    );
  });
});
