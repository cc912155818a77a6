import { beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import type { StepRef } from '../../../src/core/contract/index.js';
import type { RunFile } from '../../../src/lake/documents/run-file.js';
import { type ObjectStore, StoreUnclearError } from '../../../src/lake/store/index.js';
import { fixRun, LakeStaging, readJournal } from '../../../src/run/lake-staging.js';
import { BATCH } from '../../../src/run/merge-result.js';
import { once, type RunAt } from '../../../src/run/staging.js';
import { temporaryLake } from '../lake/data-plane.js';
import { RUN } from './run.js';

const lake = temporaryLake();
let runs = 0;
let ref: StepRef;
const settled = (key: string) => ({ phase: 'settle', keys: { absent: [key as never] } }) as const;

/** An attempt of the phase that begins with a version of the journal. */
function attempt(step: number, store: ObjectStore = lake.store, number = 1): LakeStaging {
  return new LakeStaging(store, { ...ref, step }, number);
}

/** The lake, with other swaps. */
function withSwap(swap: ObjectStore['swap']): ObjectStore {
  return { ...lake.store, swap };
}

const key = (): ObjectKey => attempt(0).key('run.json');
const journal = async () => (await readJournal(lake.store, ref))!;
const unclear = (): Error =>
  new StoreUnclearError({ operation: 'swap', key: key(), bucket: '', problem: 'no answer' });

beforeEach(async () => {
  const runId = `20261121T020000Z-${String(runs++).padStart(8, '0')}` as RunId;
  ref = { connection: 'acme', resource: 'tasks', runId, step: 0 };
  await fixRun(lake.store, { ...RUN, runId } as RunFile);
});

describe('the journal of a run', () => {
  it('has a version for each phase that has ended, with what it decided and answered', async () => {
    expect(await journal()).toMatchObject({ sequence: 0, phase: 'read', stage: null, keys: {}, plan: null });
    expect(await attempt(0).decide({ count: 1 }, settled('a'))).toEqual({ count: 1 });
    await attempt(1).decide({ count: 2 }, settled('b'));
    expect(await journal()).toMatchObject({
      ...{ sequence: 2, phase: 'settle', keys: { absent: ['b'] }, run: { runId: ref.runId } },
      answers: [{ count: 1 }, { count: 2 }],
    });
  });

  it('begins once', async () => {
    const other = { ...RUN, runId: ref.runId, startedAt: 7 } as RunFile;
    expect(await fixRun(lake.store, other)).toBe(false);
    // The answer to the first request was lost.
    expect(await fixRun(lake.store, { ...RUN, runId: ref.runId } as RunFile)).toBe(true);
  });

  it('is that of the first attempt that ends a phase, whose answer the others return', async () => {
    const [first, second, third] = [attempt(0), attempt(0, lake.store, 2), attempt(0, lake.store, 3)];
    await Promise.all([first, second, third].map((one) => one.journal()));
    await second.decide('second', settled('b'));
    expect(await first.decide('first', settled('a'))).toBe('second');
    await attempt(1).decide('next', settled('c'));
    expect(await third.decide('third', settled('d'))).toBe('second');
    expect(await journal()).toMatchObject({
      sequence: 2,
      keys: { absent: ['c'] },
      answers: ['second', 'next'],
    });
  });

  it('is not replaced by a late request', async () => {
    let late: (() => ReturnType<ObjectStore['swap']>) | null = null;
    const lost = withSwap(async (...given) => {
      late = () => lake.store.swap(...given);
      throw new Error('the network is lost');
    });
    await expect(attempt(0, lost).decide('lost', settled('a'))).rejects.toThrow('the network is lost');
    await attempt(0, lake.store, 2).decide('second', settled('b'));
    expect(await late!()).toEqual({ outcome: 'conflict' });
    expect(await journal()).toMatchObject({ sequence: 1, answers: ['second'] });
  });

  it.each([
    ['although the request arrived', true],
    ['and the request did not arrive', false],
  ])('is written once if the store gives no answer, %s', async (_, arrives) => {
    let requests = 0;
    const store = withSwap(async (...given) => {
      if (requests++ > 0) return lake.store.swap(...given);
      if (arrives) await lake.store.swap(...given);
      throw unclear();
    });
    expect(await attempt(0, store).decide('done', settled('a'))).toBe('done');
    expect(requests).toBe(arrives ? 1 : 2);
    expect(await journal()).toMatchObject({ sequence: 1, answers: ['done'] });
  });

  it('stops an attempt that finds another one than it has read', async () => {
    const before = await lake.store.read(key());
    await attempt(0).decide('done', settled('a'));
    await lake.store.write(key(), before);
    const message = expect.stringContaining('is not what run');
    await expect(attempt(1).journal()).rejects.toMatchObject({ type: 'Lake', nonRetryable: true, message });
    const other = attempt(0);
    await other.journal();
    await lake.store.write(key(), Buffer.from(before.toString().replace('"answers":[]', '"answers":[ ]')));
    await expect(other.decide('done', settled('a'))).rejects.toMatchObject({ type: 'Lake', message });
    await lake.store.remove([key()]);
    await expect(other.decide('done', settled('a'))).rejects.toThrow('is missing from the lake');
  });

  it('carries out a phase once', async () => {
    const phase = once(async ({ staging }: RunAt, { step }: StepRef) =>
      staging.decide(`answer ${step}`, settled(String(step))),
    );
    const call = (step: number) => phase({ staging: attempt(step) } as unknown as RunAt, { ...ref, step });
    expect([await call(0), await call(1), await call(0), await call(1)]).toEqual([
      ...['answer 0', 'answer 1', 'answer 0', 'answer 1'],
    ]);
    expect((await journal()).sequence).toBe(2);
  });
});

describe('what a run stages', () => {
  it('has names of its phase, its attempt and a token, which sort in this order', async () => {
    const names = [attempt(0), attempt(2, lake.store, 2), attempt(2, lake.store, 11), attempt(11)].flatMap(
      (one) => [one.own('stage', 9), one.own('stage', 10)],
    );
    expect(names[3]).toMatch(/^stage-000002-000002-000010-[0-9a-f]{8}\.json$/);
    expect(names).toEqual([...names].sort());
    expect(attempt(0).own('chunk', 0, '.csv')).not.toBe(attempt(0).own('chunk', 0, '.csv'));
  });

  it('is, for the result of a batch, the one that was first', async () => {
    const result = (found: number) => ({ tasks: [], repeated: 0, found });
    const [first, second] = [attempt(1), attempt(1, lake.store, 2)];
    expect(await first.writeFirst(BATCH, 'merged-1-0.json', result(1))).toEqual(result(1));
    expect(await second.writeFirst(BATCH, 'merged-1-0.json', result(2))).toEqual(result(1));
    expect(await first.writeFirst(BATCH, 'merged-1-0.json', result(1))).toEqual(result(1));
  });
});
