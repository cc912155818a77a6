import { describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { decodePointer, encodePointer, type Pointer } from '../../../src/lake/documents/pointer.js';
import { swapPointer } from '../../../src/lake/published/swap.js';
import { crc32, crc32ToHex } from '../../../src/lake/store/crc32.js';
import { checkObject } from '../../../src/lake/store/digest.js';
import {
  type Expected,
  type ObjectStore,
  StoreError,
  StoreUnclearError,
  type SwapResult,
} from '../../../src/lake/store/index.js';
import { WRITER } from '../../support/writer.js';
import { NEW_RUN, OLD_RUN, OLD_TIME, temporaryLake } from './data-plane.js';

const lake = temporaryLake();

const pointerOf = (runId: RunId, resource = 'tasks'): Pointer => ({
  resource,
  runId,
  snapshot: `${resource}/${runId}/_datapackage.json` as ObjectKey,
  changes: null,
  publishedAt: OLD_TIME,
  checkpoint: { updatedSince: OLD_TIME },
  rows: 1,
  connection: 'acme',
  baseUrl: 'https://tracker.example.com',
  writer: WRITER,
  manifests: { snapshot: 'a'.repeat(64), changes: null },
  rolledBack: null,
});
const OURS = pointerOf(NEW_RUN);
const THEIRS = pointerOf('20261121T020000Z-ffffffff' as RunId);
const BEFORE = pointerOf(OLD_RUN);

/** What the store does with one swap: what is there afterwards, and what it answers. */
type Answer = 'written' | 'conflict' | 'unclear' | 'denied';
interface Step {
  readonly answer: Answer;
  /** The run that is there afterwards; `null`: nothing changes. */
  readonly becomes?: Pointer | 'gone';
}

/** One object with versions and scripted answers to swaps. */
class ScriptedStore {
  readonly url = 's3://lake';
  swaps = 0;
  #body: Buffer | null;
  #version = 1;
  readonly #steps: readonly Step[];

  constructor(before: Pointer | null, steps: readonly Step[]) {
    this.#body = before === null ? null : encodePointer(before);
    this.#steps = steps;
  }

  get port(): ObjectStore {
    return this as unknown as ObjectStore;
  }

  get expected(): Expected {
    return this.#body === null ? 'absent' : { etag: `v${this.#version}` };
  }

  async readIfExists(_key: ObjectKey): Promise<{ body: Buffer; etag: string } | null> {
    return this.#body === null ? null : { body: this.#body, etag: `v${this.#version}` };
  }

  async swap(key: ObjectKey, body: Uint8Array, expected: Expected): Promise<SwapResult> {
    expect(key).toBe(pointerKey('tasks'));
    expect(decodePointer(Buffer.from(body))).toEqual(OURS);
    // A store rejects a version that is not there.
    if (JSON.stringify(expected) !== JSON.stringify(this.expected)) return { outcome: 'conflict' };
    const { answer, becomes } = this.#steps[this.swaps++] ?? { answer: 'written', becomes: OURS };
    if (becomes !== undefined) {
      this.#body = becomes === 'gone' ? null : encodePointer(becomes);
      this.#version++;
    }
    const details = { operation: 'swap', key, bucket: this.url, problem: 'no answer' };
    if (answer === 'unclear') throw new StoreUnclearError(details);
    if (answer === 'denied')
      throw new StoreError({ ...details, kind: 'access-denied', problem: 'denied', remedy: '' });
    return answer === 'written' ? { outcome: 'written', etag: `v${this.#version}` } : { outcome: 'conflict' };
  }
}

async function swapped(before: Pointer | null, steps: readonly Step[]) {
  const store = new ScriptedStore(before, steps);
  const outcome = await swapPointer(store.port, OURS, store.expected).catch((error: unknown) => error);
  return { outcome, swaps: store.swaps };
}

const PUBLISHED = { outcome: 'published' };
const LOST = { outcome: 'lost', to: THEIRS.runId };

describe.each<[string, Pointer | null]>([
  ['a first run', null],
  ['a later run', BEFORE],
])('Swapping the pointer for %s', (_, before) => {
  it.each<[string, readonly Step[], object, number]>([
    ['is done when the store says so', [{ answer: 'written', becomes: OURS }], PUBLISHED, 1],
    [
      'succeeds if the answer is lost but the pointer names our run',
      [{ answer: 'unclear', becomes: OURS }],
      PUBLISHED,
      1,
    ],
    ['is tried again when the answer is lost and nothing has changed', [{ answer: 'unclear' }], PUBLISHED, 2],
    ['is done when a conflict is with ourselves', [{ answer: 'conflict', becomes: OURS }], PUBLISHED, 1],
    [
      'is retried after a conflict without another writer',
      [{ answer: 'conflict' }, { answer: 'conflict' }],
      PUBLISHED,
      3,
    ],
    ['is lost when somebody else was faster', [{ answer: 'conflict', becomes: THEIRS }], LOST, 1],
    [
      'is lost if another process wrote while the answer was lost',
      [{ answer: 'unclear', becomes: THEIRS }],
      LOST,
      1,
    ],
    ['is lost at the second try', [{ answer: 'unclear' }, { answer: 'conflict', becomes: THEIRS }], LOST, 2],
    [
      'succeeds if only the last try was written, without an answer',
      [...new Array<Step>(4).fill({ answer: 'unclear' }), { answer: 'unclear', becomes: OURS }],
      PUBLISHED,
      5,
    ],
    [
      'succeeds if an unanswered try causes the conflict of the last one',
      [...new Array<Step>(4).fill({ answer: 'unclear' }), { answer: 'conflict', becomes: OURS }],
      PUBLISHED,
      5,
    ],
  ])('%s', async (_what, steps, outcome, swaps) => {
    expect(await swapped(before, steps)).toEqual({ outcome, swaps });
  });

  it('throws StoreUnclearError if no swap gets an answer', async () => {
    const { outcome, swaps } = await swapped(before, new Array<Step>(20).fill({ answer: 'unclear' }));
    expect(outcome).toBeInstanceOf(StoreUnclearError);
    expect(swaps).toBeLessThan(10);
  });

  it('throws an error about the store if it keeps rejecting a condition that is met', async () => {
    const { outcome } = await swapped(before, new Array<Step>(20).fill({ answer: 'conflict' }));
    expect(outcome).toBeInstanceOf(StoreError);
    expect((outcome as Error).message).toContain('conditional writes');
  });

  it('rethrows any other failure immediately', async () => {
    const { outcome, swaps } = await swapped(before, [{ answer: 'denied' }]);
    expect(outcome).toMatchObject({ kind: 'access-denied' });
    expect(swaps).toBe(1);
  });
});

describe('Swapping the pointer', () => {
  it('is lost, and nothing is written, if the pointer already names another run', async () => {
    const store = new ScriptedStore(THEIRS, []);
    expect(await swapPointer(store.port, OURS, { etag: 'v0' })).toEqual(LOST);
    expect(await swapPointer(store.port, OURS, 'absent')).toEqual(LOST);
    expect(store.swaps).toBe(0);
  });

  it('is lost, without a retry, if the pointer is missing', async () => {
    const store = new ScriptedStore(BEFORE, [{ answer: 'conflict', becomes: 'gone' }]);
    expect((await swapPointer(store.port, OURS, store.expected)).outcome).toBe('lost');
    expect(store.swaps).toBe(1);
  });

  it('succeeds, and nothing is written, if an earlier attempt succeeded', async () => {
    const store = new ScriptedStore(OURS, []);
    expect(await swapPointer(store.port, OURS, { etag: 'v0' })).toEqual(PUBLISHED);
    expect(store.swaps).toBe(0);
  });

  it('lets one of many concurrent runs win in a real store, and reports the winner to the others', async () => {
    const runs = Array.from({ length: 8 }, (_, at) =>
      pointerOf(`20261121T020000Z-1000000${at}` as RunId, 'raced'),
    );
    const results = await Promise.all(runs.map((pointer) => swapPointer(lake.store, pointer, 'absent')));
    const winners = runs.filter((_, at) => results[at]!.outcome === 'published');
    expect(winners).toHaveLength(1);
    for (const result of results) if (result.outcome === 'lost') expect(result.to).toBe(winners[0]!.runId);
    const there = (await lake.store.readIfExists(pointerKey('raced')))!;
    expect(decodePointer(there.body)).toEqual(winners[0]);
    const next = pointerOf(NEW_RUN, 'raced');
    expect(await swapPointer(lake.store, next, { etag: there.etag })).toEqual(PUBLISHED);
    expect(await swapPointer(lake.store, next, { etag: there.etag })).toEqual(PUBLISHED);
    expect(await swapPointer(lake.store, winners[0]!, { etag: there.etag })).toEqual({
      outcome: 'lost',
      to: NEW_RUN,
    });
  });
});

describe('An object in the store', () => {
  it('is checked for its existence, size and checksum', async () => {
    const key = 'checked/part.csv' as ObjectKey;
    const body = Buffer.from('id\n1\n');
    const good = { key, bytes: body.length, crc32: crc32ToHex(crc32(body)) };
    expect(await checkObject(lake.store, good)).toBe(`${key} is missing`);
    await lake.store.write(key, body);
    expect(await checkObject(lake.store, good)).toBeNull();
    expect(await checkObject(lake.store, { ...good, bytes: 6 })).toBe(`${key} has 5 bytes instead of 6`);
    expect(await checkObject(lake.store, { ...good, crc32: '00000000' })).toContain('CRC32');
  });
});
