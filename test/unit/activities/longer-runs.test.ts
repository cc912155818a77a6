import { describe, expect, it } from 'vitest';
import { mergeChains } from '../../../activities/extract/longer-runs.js';
import type { ExtractInput } from '../../../src/core/contract/index.js';
import { toChunk } from '../../../src/lake/chunk/write.js';
import { groupByChain, MAX_OVERLAP, overlapTooMuch } from '../../../src/lake/merge/longer-runs.js';
import type { RunFile } from '../../../src/lake/run/run-file.js';
import { firstStage, type StagedChunk } from '../../../src/lake/run/stage.js';
import {
  NEW_RUN,
  NEW_TIME,
  profileOf,
  type Row,
  readPart,
  temporaryLake,
  writePart,
} from '../lake/data-plane.js';

const lake = temporaryLake();
const COLUMNS = ['id', 'updatedAt', 'note'].map((name) => ({ name, types: 0 }));
const run = {
  runId: NEW_RUN,
  startedAt: Date.parse(NEW_TIME),
  resource: { ...profileOf(), name: 'tasks', updatedAtField: 'updatedAt' },
  sync: { pageSize: 1 },
  columns: [],
} as unknown as RunFile;

/** A chunk with the rows `id:updatedAt`, in a header of so many columns. */
async function chunk(chain: number, rows: readonly string[], more: Partial<StagedChunk> = {}, columns = 3) {
  const names = COLUMNS.slice(0, columns).map(({ name }) => name);
  const written = await writePart(
    lake.store,
    lake.newKey('.csv'),
    rows.map((text): Row => {
      const cells = [...text.split(':'), null].slice(0, columns);
      return { runId: NEW_RUN, syncedAt: NEW_TIME, deletedAt: null, cells };
    }),
    { columns: names, compression: 'none' },
  );
  return { ...toChunk(written, columns), chain, ...more };
}

async function merged(chunks: readonly StagedChunk[], chain: number) {
  const input = { resource: 'tasks', runId: NEW_RUN, call: 3 } as unknown as ExtractInput;
  const { signal } = new AbortController();
  const stage = { ...firstStage(run, 1), chunks, chain, columns: COLUMNS, duplicates: 10 };
  return mergeChains({ store: lake.store, run, input, signal }, stage);
}

async function rowsOf({ key }: StagedChunk): Promise<string[]> {
  return (await readPart(lake.store, key)).map(({ cells }) => cells.join(':'));
}

describe('Longer runs', () => {
  it('have the newest row of each key, and the current header', async () => {
    const { chunks, duplicates, shifted } = await merged(
      [await chunk(0, ['a:2', 'c:1', 'e:1'], {}, 2), await chunk(0, ['a:1', 'b:1', 'c:1:later'])],
      0,
    );
    expect(chunks).toHaveLength(1);
    expect(await rowsOf(chunks[0]!)).toEqual(['a:2:', 'b:1:', 'c:1:later', 'e:1:']);
    expect(chunks[0]).toMatchObject({ rows: 4, first: 'a', last: 'e', columns: 3, chain: 0, repeated: 2 });
    expect({ duplicates, shifted }).toEqual({ duplicates: 12, shifted: true });
  });

  it('never mix chains of pages, and keep the order of the chunks', async () => {
    const { chunks, duplicates, shifted } = await merged(
      [
        await chunk(0, ['a:1', 'c:1'], { repeated: 2 }),
        await chunk(0, ['b:1', 'c:1']),
        await chunk(1, ['a:1', 'b:1']),
        await chunk(2, ['a:1', 'd:1']),
        await chunk(2, ['b:1', 'c:1']),
      ],
      2,
    );
    expect(chunks.map(({ chain, repeated = 0, rows }) => [chain, repeated, rows])).toEqual([
      [0, 3, 3],
      [1, 0, 2],
      [2, 0, 4],
    ]);
    // The repeated key belongs to an earlier chain.
    expect({ duplicates, shifted }).toEqual({ duplicates: 11, shifted: false });
  });

  it('leave chunks alone that do not overlap', async () => {
    const apart = [await chunk(0, ['a:1', 'b:1']), await chunk(0, ['c:1', 'd:1'])];
    expect((await merged(apart, 0)).chunks).toEqual(apart);
  });

  it('are made of chunks that a merge can open one by one', async () => {
    const note = 'x'.repeat(1024 * 1024);
    const rows = (from: number) => Array.from({ length: 20 }, (_, at) => `k${10 + 2 * at + from}:1:${note}`);
    const { chunks } = await merged([await chunk(0, rows(0)), await chunk(0, rows(1))], 0);
    expect(chunks.map((piece) => piece.rows)).toEqual([14, 14, 12]);
    for (const [at, piece] of chunks.slice(1).entries()) expect(piece.first > chunks[at]!.last).toBe(true);
  });

  it('are needed from 64 chunks that share a key', () => {
    const of = (count: number, first: string, last: string) =>
      Array.from({ length: count }, () => ({ first, last }) as unknown as StagedChunk);
    expect(overlapTooMuch(of(MAX_OVERLAP - 1, 'a', 'z'))).toBe(false);
    expect(overlapTooMuch(of(MAX_OVERLAP, 'a', 'z'))).toBe(true);
    expect(overlapTooMuch([...of(MAX_OVERLAP - 1, 'a', 'm'), ...of(MAX_OVERLAP - 1, 'n', 'z')])).toBe(false);
    expect(groupByChain(of(2, 'a', 'm')).map(({ overlaps }) => overlaps)).toEqual([true]);
  });
});
