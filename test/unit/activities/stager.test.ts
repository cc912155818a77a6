import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { FetchedPage } from '../../../activities/read/page-chain.js';
import { PageReader } from '../../../activities/read/page-reader.js';
import { runSpace, Stager } from '../../../activities/read/stager.js';
import { LakeStaging } from '../../../activities/shared/lake-staging.js';
import { type Cursor, toByteString } from '../../../src/core/brands.js';
import type { ReadInput } from '../../../src/core/contract/index.js';
import { firstStage } from '../../../src/lake/run/read-stage.js';
import { temporaryLake } from '../lake/data-plane.js';
import { RUN } from './run.js';

const lake = temporaryLake();
const MIB = 1024 * 1024;
const TEXT = 'x'.repeat(MIB);
const run = { ...RUN, columns: [], sync: { pageSize: 1 } } as unknown as typeof RUN;
let runs = 0;

/** Stages one page for each list of keys; each row has a MiB. Returns the chunks: their extension and keys. */
async function staged(pages: readonly (readonly string[])[]) {
  const runId = `20261121T020000Z-${String(runs++).padStart(8, '0')}`;
  const input = { resource: 'tasks', runId, call: 0 } as unknown as ReadInput;
  const reader = new PageReader(run, []);
  const first = firstStage(run, 1);
  const stager = new Stager(
    { staging: new LakeStaging(lake.store, input, 1), run, input, reader, now: Date.now, onStaged: () => {} },
    first,
    null,
  );
  for (const [at, keys] of pages.entries()) {
    const done = at === pages.length - 1;
    const cursor = done ? null : (`c${at}` as Cursor);
    const body = JSON.stringify({
      data: keys.map((id) => ({ id, text: TEXT })),
      page: { nextCursor: cursor },
    });
    const value = await reader.read(toByteString(body));
    const received = { value, bytes: body.length, replaced: 0, serviceDate: null, attempts: 1 };
    await stager.add({ received, next: { ...first, cursor }, done } as unknown as FetchedPage, null);
  }
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

  it('gives the space of its runs back', async () => {
    const pages = [...ordered(10, 9)].reverse();
    for (let round = 0; round < 6; round++) expect(await staged(pages)).toHaveLength(1);
  });
});
