import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Cursor, type RunId, toByteString } from '../../../src/core/brands.js';
import type { FetchedPage } from '../../../src/run/read/page-chain.js';
import { PageReader } from '../../../src/run/read/page-reader.js';
import { firstStage } from '../../../src/run/read/read-stage.js';
import { runSpace, Stager } from '../../../src/run/read/stager.js';
import type { StagedRun } from '../../../src/run/run-journal.js';
import { Staging } from '../../../src/run/staging.js';
import { temporaryLake } from '../lake/data-plane.js';
import { RUN } from './run.js';

const lake = temporaryLake();
const MIB = 1024 * 1024;
const TEXT = 'x'.repeat(MIB);
const run = { ...RUN, columns: [], sync: { pageSize: 1 } } as unknown as typeof RUN;
let runs = 0;

/** A stager, and a function that gives it a page with these keys; each row has a MiB. */
function startStager(stagingOf: (ref: StagedRun) => Staging = (ref) => new Staging(lake.store, ref, 1)) {
  const runId = `20261121T020000Z-${String(runs++).padStart(8, '0')}` as RunId;
  const ref = { resource: 'tasks', runId };
  const reader = new PageReader(run, []);
  const first = firstStage(run);
  const stager = new Stager(
    { staging: stagingOf(ref), run, reader, keys: () => [], now: Date.now, onStaged: () => {} },
    first,
    null,
  );
  let pages = 0;
  const add = async (keys: readonly string[], done: boolean): Promise<void> => {
    const cursor = done ? null : (`c${pages++}` as Cursor);
    const body = JSON.stringify({
      data: keys.map((id) => ({ id, text: TEXT })),
      page: { nextCursor: cursor },
    });
    const value = await reader.read(toByteString(body));
    const received = { value, bytes: body.length, replaced: 0, serviceDate: null, attempts: 1 };
    await stager.add({ received, next: { ...first, cursor }, done } as unknown as FetchedPage, null);
  };
  return { stager, add };
}

/** Stages one page for each list of keys. Returns the chunks: their extension and keys. */
async function staged(pages: readonly (readonly string[])[]) {
  const { stager, add } = startStager();
  for (const [at, keys] of pages.entries()) await add(keys, at === pages.length - 1);
  const { stage } = await stager.finish();
  stager.close();
  return stage.chunks.map(({ key, first, last, rows }) => [/\.csv.*/.exec(key)![0], first, last, rows]);
}

const ordered = (from: number, count: number) => Array.from({ length: count }, (_, at) => [`k${from + at}`]);

describe('A stager', () => {
  beforeEach(() => {
    // Its store is near, however slow the disk is.
    vi.spyOn(performance, 'now').mockReturnValue(0);
    // And no chunk is staged because of its age, however slow the machine is.
    vi.spyOn(Date, 'now').mockReturnValue(0);
    return () => vi.restoreAllMocks();
  });

  it('compresses rows in order, whose blocks a merge copies, and stages them after every 4 MiB', async () => {
    expect(await staged(ordered(10, 9))).toEqual([
      ['.csv.gz', 'k10', 'k13', 4],
      ['.csv.gz', 'k14', 'k17', 4],
      ['.csv.gz', 'k18', 'k18', 1],
    ]);
  });

  it('stages rows out of order uncompressed, in one long run', async () => {
    const pages = [...ordered(10, 9)].reverse();
    expect(await staged(pages)).toEqual([['.csv', 'k10', 'k18', 9]]);
  });

  it('compresses rows that come after greater keys, as in a descending list', async () => {
    expect(await staged([...ordered(20, 4), ...ordered(10, 4)])).toEqual([
      ['.csv.gz', 'k20', 'k23', 4],
      ['.csv.gz', 'k10', 'k13', 4],
    ]);
    expect(await staged([...ordered(10, 40)].reverse())).toEqual([
      ['.csv', 'k36', 'k49', 14],
      ['.csv.gz', 'k22', 'k35', 14],
      ['.csv.gz', 'k10', 'k21', 12],
    ]);
  });

  it('does not compress rows between earlier ones', async () => {
    const pages = Array.from({ length: 40 }, (_, at) => [`k${10 + ((17 * at) % 40)}`]);
    const chunks = await staged(pages);
    expect(chunks.map(([extension]) => extension)).toEqual(['.csv', '.csv', '.csv']);
  });

  describe('a process without space for a long reading', () => {
    let taken = 0;
    beforeEach(() => {
      while (runSpace.take(MIB)) taken++;
      return () => runSpace.giveBack(taken * MIB);
    });

    it('stages short ones', async () => {
      const pages = [...ordered(10, 9)].reverse();
      expect(await staged(pages)).toEqual([
        ['.csv', 'k15', 'k18', 4],
        ['.csv.gz', 'k11', 'k14', 4],
        ['.csv.gz', 'k10', 'k10', 1],
      ]);
    });
  });

  it('keeps each row if a page and the clock both wait for a slow store', async () => {
    const answers: (() => void)[] = [];
    class SlowStaging extends Staging {
      override async write(...document: Parameters<Staging['write']>) {
        if (answers.length < 2) await new Promise<void>((resolve) => answers.push(resolve));
        return super.write(...document);
      }
    }
    const { stager, add } = startStager((ref) => new SlowStaging(lake.store, ref, 1));
    const written = (chunks: number) =>
      vi.waitFor(() => expect(answers).toHaveLength(chunks), { timeout: 60_000 });
    await add(['k10', 'k11', 'k12', 'k13'], false);
    await written(1);
    // A page and the clock wait for the first chunk, and then the clock and the next page for the second one.
    const adding = add(['k14', 'k15', 'k16', 'k17'], false);
    await vi.waitFor(() => expect(stager.ahead.fetched).toBe(8), { timeout: 60_000 });
    const saving = stager.saveOld(true);
    answers[0]!();
    await adding;
    await written(2);
    const last = add(['k18', 'k19', 'k20', 'k21'], true);
    await vi.waitFor(() => expect(stager.ahead.fetched).toBe(12), { timeout: 60_000 });
    answers[1]!();
    await Promise.all([saving, last]);
    const { stage } = await stager.finish();
    stager.close();
    expect(stage.chunks.reduce((rows, chunk) => rows + chunk.rows, 0)).toBe(12);
  });

  it('gives the space of its runs back', async () => {
    const pages = [...ordered(10, 9)].reverse();
    for (let round = 0; round < 6; round++) expect(await staged(pages)).toHaveLength(1);
  });
});
