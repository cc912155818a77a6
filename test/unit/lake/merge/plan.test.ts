import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../src/core/brands.js';
import type { Block } from '../../../../src/lake/documents/block-index.js';
import type { PublishedPart } from '../../../../src/lake/documents/manifest.js';
import type { StagedChunk } from '../../../../src/lake/documents/stage-file.js';
import type { SortKey } from '../../../../src/lake/rows/row.js';
import type { KeyRange } from '../../../../src/run/key-ranges.js';
import { byKey, inRange } from '../../../../src/run/key-ranges.js';
import { type PlanInput, planTasks } from '../../../../src/run/merge/plan-merge.js';
import type { MergeTask } from '../../../../src/run/run-journal.js';
import { rounds } from '../../../support/seeds.js';

const ROW_BYTES = 100;

interface Given {
  /** Keys of the parts before, in order. */
  readonly before: readonly (readonly number[])[];
  /** Keys by chunk, in order. */
  readonly chunks: readonly (readonly number[])[];
  readonly blockRows: number;
  readonly partBytes: number;
  readonly rewrite: 'all' | 'touched';
  readonly gone: readonly number[];
}

const keyOf = (n: number): SortKey => String(n).padStart(6, '0') as SortKey;

function slices<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size),
  );
}

function partOf(keys: readonly number[], at: number): PublishedPart {
  return {
    key: `part-${at}` as ObjectKey,
    bytes: 1,
    rawBytes: keys.length * ROW_BYTES,
    rows: keys.length,
    crc32: '',
    sha256: '',
    lineBreaks: 0,
    first: keys.length === 0 ? null : keyOf(keys[0]!),
    last: keys.length === 0 ? null : keyOf(keys.at(-1)!),
  };
}

interface Planned {
  readonly plan: Awaited<ReturnType<typeof planTasks>>;
  /** Blocks whose keys were read. */
  readonly looked: number;
}

async function planOf(given: Given): Promise<Planned> {
  let looked = 0;
  const blockKeys = given.chunks.map((keys) => slices(keys, given.blockRows));
  const input: PlanInput = {
    before: given.before.map(partOf),
    chunks: given.chunks.map(
      (keys, at): StagedChunk => ({
        key: `chunk-${at}` as ObjectKey,
        rows: keys.length,
        bytes: 1,
        rawBytes: keys.length * ROW_BYTES,
        first: keyOf(keys[0]!),
        last: keyOf(keys.at(-1)!),
        columns: 1,
        indexCrc32: '00000000',
      }),
    ),
    blocks: blockKeys.map((blocks) =>
      blocks.map(
        (keys): Block => ({
          first: keyOf(keys[0]!),
          last: keyOf(keys.at(-1)!),
          rows: keys.length,
          offset: 0,
          bytes: 1,
          rawBytes: keys.length * ROW_BYTES,
          rawCrc32: 0,
          crc32: 0,
          lineBreaks: 0,
        }),
      ),
    ),
    partBytes: given.partBytes,
    rewrite: given.rewrite,
    gone: given.gone.map(keyOf),
    keysOf: async (chunk, block) => {
      looked++;
      return blockKeys[chunk]![block]!.map(keyOf);
    },
  };
  return { plan: await planTasks(input), looked };
}

const keySet = (maxLength: number, minLength = 0) =>
  fc
    .uniqueArray(fc.integer({ min: 0, max: 400 }), { minLength, maxLength })
    .map((keys) => keys.sort((a, b) => a - b));
const anyGiven: fc.Arbitrary<Given> = fc.record({
  before: fc
    .tuple(keySet(80), fc.integer({ min: 1, max: 30 }), fc.boolean())
    .map(([keys, size, empty]) => (keys.length === 0 && empty ? [[]] : slices(keys, size))),
  chunks: fc.array(keySet(30, 1), { maxLength: 5 }),
  blockRows: fc.integer({ min: 1, max: 10 }),
  partBytes: fc.integer({ min: ROW_BYTES, max: 40 * ROW_BYTES }),
  rewrite: fc.constantFrom('all' as const, 'touched' as const),
  gone: keySet(3),
});

/** The keys of a task: those that it merges, or of the part that it carries over. */
function rangeOf(task: MergeTask): KeyRange {
  return task.kind === 'merge' ? task.range : { from: task.part.first, to: `${task.part.last}\0` as SortKey };
}

const merges = (tasks: readonly MergeTask[]) => tasks.filter((task) => task.kind === 'merge');

describe('A merge plan', () => {
  it('has every fetched row in exactly one merge that lists its chunk, and every previous row in exactly one task', async () => {
    await fc.assert(
      fc.asyncProperty(anyGiven, async (given) => {
        const { tasks } = (await planOf(given)).plan;
        for (const [chunk, keys] of given.chunks.entries()) {
          for (const key of keys.map(keyOf)) {
            const takers = merges(tasks).filter(
              ({ range, chunks }) => inRange(key, range) && chunks.includes(chunk),
            );
            expect(takers).toHaveLength(1);
            expect(tasks.filter((task) => task.kind === 'carry' && inRange(key, rangeOf(task)))).toEqual([]);
          }
        }
        for (const [part, keys] of given.before.entries()) {
          const name = `part-${part}`;
          const owners = tasks.filter(
            (task) => (task.kind === 'carry' ? task.part.key : task.before?.key) === name,
          );
          expect(owners).toHaveLength(keys.length === 0 ? 0 : 1);
          for (const key of keys.map(keyOf)) expect(inRange(key, rangeOf(owners[0]!))).toBe(true);
        }
      }),
      { numRuns: rounds(400) },
    );
  });

  it('has tasks in the order of their keys, with ranges that do not overlap and distinct part numbers', async () => {
    await fc.assert(
      fc.asyncProperty(anyGiven, async (given) => {
        const { tasks } = (await planOf(given)).plan;
        let number = 0;
        let end: SortKey | null = '' as SortKey;
        for (const task of tasks) {
          expect(task.number).toBe(number);
          number += task.kind === 'merge' ? task.parts : 1;
          const { from, to } = rangeOf(task);
          expect(end).not.toBeNull();
          if (from === null) expect(task).toBe(tasks[0]);
          else expect(byKey(end!, from)).toBeLessThanOrEqual(0);
          if (from !== null && to !== null) expect(byKey(from, to)).toBeLessThan(0);
          end = to;
        }
      }),
      { numRuns: rounds(200) },
    );
  });

  it('lists the chunks of a task oldest first, and leaves out those that cannot reach into it', async () => {
    await fc.assert(
      fc.asyncProperty(anyGiven, async (given) => {
        for (const task of merges((await planOf(given)).plan.tasks)) {
          expect(task.chunks).toEqual([...task.chunks].sort((a, b) => a - b));
          for (const chunk of task.chunks) {
            const keys = given.chunks[chunk]!;
            const { from, to } = task.range;
            expect(from === null || keyOf(keys.at(-1)!) >= from).toBe(true);
            expect(to === null || keyOf(keys[0]!) < to).toBe(true);
          }
        }
      }),
      { numRuns: rounds(200) },
    );
  });

  it('copies exactly the parts whose range has no fetched and no deleted row', async () => {
    await fc.assert(
      fc.asyncProperty(anyGiven, async (given) => {
        const { tasks } = (await planOf({ ...given, rewrite: 'touched' })).plan;
        const touched = [...given.chunks.flat(), ...given.gone];
        const parts = given.before.filter((keys) => keys.length > 0);
        const carried = parts.flatMap((_, at) => {
          const from = at === 0 ? Number.NEGATIVE_INFINITY : parts[at]![0]!;
          const to = parts[at + 1]?.[0] ?? Number.POSITIVE_INFINITY;
          return touched.some((key) => key >= from && key < to) ? [] : [keyOf(parts[at]![0]!)];
        });
        expect(tasks.flatMap((task) => (task.kind === 'carry' ? [task.part.first] : []))).toEqual(carried);
      }),
      { numRuns: rounds(300) },
    );
  });

  it('copies no part if all must be rewritten', async () => {
    await fc.assert(
      fc.asyncProperty(anyGiven, async (given) => {
        const { tasks } = (await planOf({ ...given, rewrite: 'all' })).plan;
        expect(tasks.filter(({ kind }) => kind === 'carry')).toEqual([]);
      }),
      { numRuns: rounds(50) },
    );
  });

  it('has each task in one batch, separates merges from copies, and has at most 64 batches of merges', async () => {
    await fc.assert(
      fc.asyncProperty(anyGiven, async (given) => {
        const { tasks, batches } = (await planOf(given)).plan;
        expect(batches.flat().sort((a, b) => a - b)).toEqual([...tasks.keys()]);
        const kinds = batches.map((batch) => new Set(batch.map((at) => tasks[at]!.kind)));
        for (const kind of kinds) expect(kind.size).toBe(1);
        expect(kinds.filter((kind) => kind.has('merge')).length).toBeLessThanOrEqual(64);
      }),
      { numRuns: rounds(200) },
    );
  });

  it('stays within 64 batches of merges when a thousand parts are touched', async () => {
    const before = Array.from({ length: 1000 }, (_, at) => [at * 10, at * 10 + 5]);
    const chunk = before.filter((_, at) => at % 4 !== 0).map(([key]) => key! + 1);
    const given = {
      before,
      chunks: [chunk],
      blockRows: 8,
      partBytes: 200,
      rewrite: 'touched',
      gone: [],
    } as const;
    const { plan } = await planOf(given);
    const batches = plan.batches.map((batch) => ({ size: batch.length, kind: plan.tasks[batch[0]!]!.kind }));
    expect(batches.filter(({ kind }) => kind === 'merge').length).toBeLessThanOrEqual(64);
    expect(batches.filter(({ kind }) => kind === 'merge').length).toBeGreaterThan(50);
    expect(batches.filter(({ kind }) => kind === 'carry').map(({ size }) => size)).toEqual([200, 50]);
    expect(plan.tasks.filter(({ kind }) => kind === 'carry')).toHaveLength(250);
  });

  it('reads no block if the index alone shows which parts are touched', async () => {
    const before = [
      [0, 9],
      [10, 19],
      [20, 29],
    ];
    const inside = {
      before,
      chunks: [
        [1, 2, 3],
        [11, 12],
      ],
      blockRows: 10,
      partBytes: 1000,
      rewrite: 'touched',
      gone: [],
    } as const;
    expect((await planOf(inside)).looked).toBe(0);
    const across = { ...inside, chunks: [[1, 21]] };
    const { looked, plan } = await planOf(across);
    expect(looked).toBe(1);
    expect(plan.tasks.map(({ kind }) => kind)).toEqual(['merge', 'carry', 'merge']);
  });

  it('makes a first snapshot of parts near the wanted size, whatever the order of the chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 4, max: 20 }),
        fc.boolean(),
        async (chunks, partRows, mixed) => {
          const keys = Array.from({ length: 400 }, (_, at) => at);
          const split = mixed
            ? Array.from({ length: chunks }, (_, at) => keys.filter((key) => key % chunks === at))
            : slices(keys, Math.ceil(400 / chunks)).reverse();
          const partBytes = partRows * ROW_BYTES;
          const { tasks, hasBefore } = (
            await planOf({ before: [], chunks: split, blockRows: 2, partBytes, rewrite: 'all', gone: [] })
          ).plan;
          expect(hasBefore).toBe(false);
          const sizes = merges(tasks).map(({ range, parts }) => ({
            rows: keys.filter((key) => inRange(keyOf(key), range)).length,
            parts,
          }));
          // A block's first key stands for all of it, so a boundary may be off by a block of each chunk.
          const slack = 2 * chunks * 2;
          for (const { rows, parts } of sizes.slice(0, -1))
            expect(Math.abs(rows / parts - partRows)).toBeLessThanOrEqual(slack + 1);
          expect(sizes.reduce((sum, { rows }) => sum + rows, 0)).toBe(400);
        },
      ),
      { numRuns: rounds(60) },
    );
  });

  it('splits a part that has grown to twice the wanted size', async () => {
    const before = [Array.from({ length: 10 }, (_, at) => at * 2)];
    const chunks = [Array.from({ length: 10 }, (_, at) => at * 2 + 1)];
    const { tasks } = (
      await planOf({ before, chunks, blockRows: 5, partBytes: 10 * ROW_BYTES, rewrite: 'touched', gone: [] })
    ).plan;
    expect(tasks).toMatchObject([{ kind: 'merge', parts: 2, partBytes: 10 * ROW_BYTES }]);
  });

  it('has no task without rows', async () => {
    const nothing = {
      before: [],
      chunks: [],
      blockRows: 1,
      partBytes: 100,
      rewrite: 'all',
      gone: [],
    } as const;
    for (const before of [[], [[]]]) {
      expect((await planOf({ ...nothing, before })).plan).toEqual({
        tasks: [],
        batches: [],
        hasBefore: false,
      });
    }
  });
});
