import { describe, expect, it } from 'vitest';
import { noFacts } from '../../../src/core/value-facts.js';
import { toChunk } from '../../../src/lake/chunk/write-chunk.js';
import type { WritingRun } from '../../../src/lake/documents/run-file.js';
import type { StagedChunk } from '../../../src/lake/documents/stage-file.js';
import { MAX_OVERLAP, nextSlice } from '../../../src/run/key-ranges.js';
import { mergeSlice } from '../../../src/run/read/compact-chunks.js';
import { firstStage } from '../../../src/run/read/read-stage.js';
import { Staging } from '../../../src/run/staging.js';
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
const COLUMNS = ['id', 'updatedAt', 'note'].map((name) => ({ name, types: 0, values: noFacts() }));
const run = {
  runId: NEW_RUN,
  startedAt: Date.parse(NEW_TIME),
  resource: { ...profileOf(), name: 'tasks', updatedAtField: 'updatedAt', deleted: null },
  sync: { pageSize: 1 },
  columns: [],
  rollback: null,
} as unknown as WritingRun;

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

function merged(chunks: readonly StagedChunk[], chain: number, to = chunks.length) {
  const ref = { resource: 'tasks', runId: NEW_RUN };
  const { signal: stop } = new AbortController();
  const staging = new Staging(lake.store, ref, 1);
  const stage = { ...firstStage(run), chunks, chain, columns: COLUMNS, duplicates: 10 };
  return mergeSlice({ staging, run, stop, draining: () => false }, stage, { from: 0, to });
}

async function rowsOf({ key }: StagedChunk): Promise<string[]> {
  return (await readPart(lake.store, key)).map(({ cells }) => cells.join(':'));
}

describe('A merged chunk', () => {
  it('has the newest row of each key, and the current header', async () => {
    const { chunks, duplicates, shifted } = await merged(
      [await chunk(0, ['a:2', 'c:1', 'e:1'], {}, 2), await chunk(0, ['a:1', 'b:1', 'c:1:later'])],
      0,
    );
    const [twins, newest] = chunks;
    expect(chunks).toHaveLength(2);
    expect(await rowsOf(newest!)).toEqual(['a:2:', 'b:1:', 'c:1:later', 'e:1:']);
    expect(newest).toMatchObject({ rows: 4, first: 'a', last: 'e', columns: 3, chain: 0, repeated: 0 });
    // As in one chunk, what a newer row replaces and differs from it may show that the key is not unique.
    expect(await rowsOf(twins!)).toEqual(['a:1:', 'c:1:']);
    expect(twins).toMatchObject({ rows: 2, chain: 0, isTwin: true });
    expect({ duplicates, shifted }).toEqual({ duplicates: 10, shifted: true });
  });

  it('takes the place of its chunks, and shows no shift of a later chain', async () => {
    const later = await chunk(1, ['a:1', 'b:1']);
    const { chunks, duplicates, shifted } = await merged(
      [await chunk(0, ['a:1', 'c:1'], { repeated: 2 }), await chunk(0, ['b:1', 'c:1']), later],
      1,
      2,
    );
    expect(chunks).toMatchObject([{ chain: 0, repeated: 3, rows: 3 }, later]);
    expect({ duplicates, shifted }).toEqual({ duplicates: 11, shifted: false });
  });

  it('keeps one replaced row of each key, the same one however the rows are divided', async () => {
    const rows = ['a:1:one', 'a:1:six', 'a:1:two', 'a:1:one'];
    const chunks = await Promise.all(rows.map((row) => chunk(0, [row])));
    const [first, second] = [await merged(chunks.slice(0, 2), 0), await merged(chunks.slice(2), 0)];
    const found = await merged([...first.chunks, ...second.chunks], 0);
    expect(await Promise.all(found.chunks.map(rowsOf))).toEqual([['a:1:six'], ['a:1:one']]);
    const whole = await merged(chunks, 0);
    expect(await Promise.all(whole.chunks.map(rowsOf))).toEqual([['a:1:six'], ['a:1:one']]);
    expect(found.duplicates).toBe(whole.duplicates);
  });

  it('keeps the proof of a page that a key is not unique', async () => {
    const proof = await chunk(0, ['a:1:one'], { isTwin: true, isProof: true });
    const { chunks } = await merged(
      [await chunk(0, ['b:1:old']), proof, await chunk(0, ['a:1:two', 'b:1']), await chunk(0, ['a:1:two'])],
      0,
    );
    expect(await Promise.all(chunks.map(rowsOf))).toEqual([['b:1:old'], ['a:1:one'], ['a:1:two', 'b:1:']]);
    expect(chunks.map(({ isTwin, isProof }) => [isTwin, isProof])).toEqual([
      [true, undefined],
      [true, true],
      [undefined, undefined],
    ]);
  });

  it('is made of pieces that a merge can open one by one', async () => {
    const note = 'x'.repeat(1024 * 1024);
    const rows = (from: number) => Array.from({ length: 20 }, (_, at) => `k${10 + 2 * at + from}:1:${note}`);
    const { chunks } = await merged([await chunk(0, rows(0)), await chunk(0, rows(1))], 0);
    expect(chunks.map((piece) => piece.rows)).toEqual([14, 14, 12]);
    for (const [at, piece] of chunks.slice(1).entries()) expect(piece.first > chunks[at]!.last).toBe(true);
  });
});

describe('The next merge of chunks', () => {
  type Range = readonly [first: string, last: string, rawBytes?: number, more?: Partial<StagedChunk>];
  const of = (...ranges: readonly Range[]) =>
    ranges.map(
      ([first, last, rawBytes = 1, more = {}]) =>
        ({ first, last, rawBytes, chain: 0, ...more }) as unknown as StagedChunk,
    );
  const many = (count: number, ...range: Range) => of(...Array.from({ length: count }, () => range));

  it('is needed from 64 chunks that share a key, in all readings together', () => {
    expect(nextSlice(many(63, 'a', 'z'), [])).toBeNull();
    expect(nextSlice(many(64, 'a', 'z'), [])).toEqual({ from: 0, to: 2 });
    expect(nextSlice(many(10, 'a', 'z'), many(60, 'a', 'z'))).toEqual({ from: 0, to: 8 });
    expect(nextSlice([...many(63, 'a', 'm'), ...many(63, 'n', 'z')], [])).toBeNull();
  });

  it('takes the smallest runs, and no more than needed', () => {
    expect(nextSlice(many(200, 'a', 'z'), [])).toEqual({ from: 0, to: 64 });
    const after = [...of(['a', 'm', 30], ['n', 'z', 34]), ...many(136, 'a', 'z')];
    expect(nextSlice(after, [])).toEqual({ from: 2, to: 66 });
    expect(nextSlice([...many(60, 'a', 'z', 5), ...many(6, 'a', 'z', 1)], [])).toEqual({ from: 60, to: 64 });
  });

  it('does not mix chains of pages', () => {
    const chunks = [...many(3, 'a', 'z', 9), ...many(70, 'a', 'z', 1, { chain: 1 })];
    expect(nextSlice(chunks, [])).toEqual({ from: 3, to: 14 });
    const alone = Array.from({ length: 80 }, (_, chain) => of(['a', 'z', 1, { chain }])).flat();
    expect(nextSlice(alone, [])).toBeNull();
  });

  const twin = { isTwin: true } as const;

  it('takes replaced rows with the chunk after them, and never alone', () => {
    const pair = [...of(['k', 'k', 1, twin]), ...of(['a', 'z', 9])];
    const pairs = Array.from({ length: 40 }, () => pair).flat();
    expect(nextSlice(pairs, [])).toEqual({ from: 0, to: 40 });
    expect(nextSlice([...of(['a', 'z', 9]), ...many(80, 'k', 'k', 1, twin)], [])).toBeNull();
    expect(nextSlice([...many(20, 'a', 'z', 9), ...pairs.slice(20)], [])).toEqual({ from: 0, to: 20 });
  });

  it('ends if each merge leaves replaced rows', () => {
    let chunks = many(300, 'a', 'z', 9);
    for (let slice = nextSlice(chunks, []); slice !== null; slice = nextSlice(chunks, [])) {
      const { from, to } = slice;
      expect(to - from).toBeLessThanOrEqual(MAX_OVERLAP);
      const left = [...many(2, 'b', 'y', 1, twin), ...of(['a', 'z', 9 * (to - from)])];
      chunks = chunks.toSpliced(from, to - from, ...left);
    }
    expect(chunks.length).toBeLessThan(MAX_OVERLAP);
  });

  it('ends with fewer than 64 runs, however many there are', () => {
    let chunks = many(5000, 'a', 'z');
    let merges = 0;
    for (let slice = nextSlice(chunks, []); slice !== null; slice = nextSlice(chunks, [])) {
      const { from, to } = slice;
      expect(to - from).toBeLessThanOrEqual(MAX_OVERLAP);
      const rawBytes = chunks.slice(from, to).reduce((sum, one) => sum + one.rawBytes, 0);
      chunks = chunks.toSpliced(from, to - from, ...of(['a', 'z', rawBytes]));
      merges++;
    }
    expect(chunks).toHaveLength(63);
    expect(merges).toBe(79);
  });
});
