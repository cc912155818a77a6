import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { toChunk } from '../../../src/lake/chunk/write-chunk.js';
import type { StagedChunk } from '../../../src/lake/documents/stage-file.js';
import type { SortKey } from '../../../src/lake/rows/row.js';
import type { ByteRange, ObjectStore } from '../../../src/lake/store/port.js';
import type { KeyRange } from '../../../src/run/key-ranges.js';
import { mergeRows } from '../../../src/run/merge/merge-rows.js';
import { openSources } from '../../../src/run/merge/sources.js';
import { NEW_RUN, NEW_TIME, readIndex, temporaryLake, writePart } from '../lake/data-plane.js';
import { RUN } from './run.js';

const lake = temporaryLake();
const CHUNKS = 24;
const ROWS = 4800;
/** Eight of the blocks below for each chunk. */
const BUFFER_BYTES = 1024 * 1024;
const COLUMNS = ['id', 'note'];
const keyOf = (n: number) => `id-${String(n).padStart(5, '0')}` as SortKey;

/** A chunk with every `CHUNKS`-th row, in blocks of four rows of 1 KiB. */
async function chunk(first: number): Promise<StagedChunk> {
  const numbers = Array.from({ length: ROWS / CHUNKS }, (_, at) => first + CHUNKS * at);
  const rows = numbers.map((n) => ({
    ...{ runId: NEW_RUN, syncedAt: NEW_TIME, deletedAt: null },
    cells: [keyOf(n), 'x'.repeat(1024)],
  }));
  const options = { columns: COLUMNS, blockRows: [4], compression: 'none' } as const;
  return toChunk(await writePart(lake.store, lake.newKey('.csv'), rows, options), COLUMNS.length);
}

interface Read extends ByteRange {
  readonly key: ObjectKey;
}

/** A store that responds only once no further request is made. Each such wait is a latency of a store that is far away. */
class FarStore {
  readonly reads: Read[] = [];
  readonly store: ObjectStore;
  waits = 0;
  #waiting: (() => void)[] = [];

  constructor(store: ObjectStore, bodies: ReadonlyMap<ObjectKey, Buffer>) {
    const { reads } = this;
    const respond = (): Promise<void> => {
      if (this.#waiting.length === 0) setImmediate(() => this.#respond());
      return new Promise<void>((resolve) => this.#waiting.push(resolve));
    };
    const stream: ObjectStore['stream'] = async function* (key, { range } = {}) {
      reads.push({ key, ...range! });
      await respond();
      yield bodies.get(key)!.subarray(range!.offset, range!.offset + range!.length);
    };
    this.store = Object.assign(Object.create(store) as ObjectStore, { stream });
  }

  #respond(): void {
    this.waits++;
    for (const respond of this.#waiting.splice(0)) respond();
  }
}

async function merged(chunks: readonly StagedChunk[], range: KeyRange) {
  const bodies = await Promise.all(chunks.map(async ({ key }) => [key, await lake.store.read(key)] as const));
  const far = new FarStore(lake.store, new Map(bodies));
  const sources = await openSources({
    ...{ store: far.store, run: RUN, range, before: null, chunks },
    written: {
      columns: COLUMNS.map((name) => ({ name, types: 0, values: noFacts() })),
      profile: RUN.resource,
    },
    bufferBytes: BUFFER_BYTES,
    signal: new AbortController().signal,
  });
  const keys: SortKey[] = [];
  const snapshot = {
    add: (key: SortKey) => void keys.push(key),
    take: () => Promise.reject(new Error('no block can be copied')),
    mustFlush: false,
    flush: async () => {},
  };
  await mergeRows({
    ...{ sources, snapshot, changes: null, gone: new Set<SortKey>(), deletes: 'keep', runId: NEW_RUN },
    rollback: null,
    ...{ deletedAt: NEW_TIME, delimiter: ',', isNewer: null },
  });
  return { keys, ...far };
}

describe('The sources of a merge', () => {
  it('read each block of the key range once, and wait for few of the requests', async () => {
    const chunks = await Promise.all(Array.from({ length: CHUNKS }, (_, at) => chunk(at)));
    const range = { from: keyOf(1234), to: keyOf(3456) };
    const { keys, reads, waits } = await merged(chunks, range);
    expect(keys).toEqual(Array.from({ length: 3456 - 1234 }, (_, at) => keyOf(1234 + at)));
    for (const { key } of chunks) {
      const { blocks } = await readIndex(lake.store, key);
      const wanted = blocks.filter(({ first, last }) => last >= range.from && first < range.to);
      const own = reads.filter((read) => read.key === key).sort((a, b) => a.offset - b.offset);
      expect(own[0]!.offset).toBe(wanted[0]!.offset);
      for (const [at, { offset, length }] of own.entries()) {
        expect(offset + length).toBe(own[at + 1]?.offset ?? wanted.at(-1)!.offset + wanted.at(-1)!.bytes);
      }
      expect(own.length).toBeGreaterThan(2);
    }
    // First requests of different lengths keep the chunks from being read in step.
    const firstLengths = chunks.map(({ key }) => reads.find((read) => read.key === key)!.length);
    expect(new Set(firstLengths).size).toBeGreaterThan(4);
    expect(waits).toBeLessThan(reads.length / 5);
  });
});
