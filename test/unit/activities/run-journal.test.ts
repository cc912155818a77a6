import { beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import type { PhaseRef } from '../../../src/core/contract/index.js';
import type { RunFile } from '../../../src/lake/documents/run-file.js';
import { type ObjectStore, StoreUnclearError } from '../../../src/lake/store/index.js';
import { BATCH } from '../../../src/run/merge-result.js';
import { performPhase } from '../../../src/run/perform-phase.js';
import type { RunAt } from '../../../src/run/staging.js';
import { fixRun, readJournal, Staging } from '../../../src/run/staging.js';
import { temporaryLake } from '../lake/data-plane.js';
import { RUN } from './run.js';

const lake = temporaryLake();
let runs = 0;
let ref: PhaseRef;
const settled = (key: string) => ({ absent: [key as never] });

/** An attempt of the phase that begins with a version of the journal. */
function attempt(step: number, store: ObjectStore = lake.store, number = 1): Staging {
  return new Staging(store, { ...ref, step }, number);
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
  ref = { connection: 'acme', resource: 'tasks', runId, step: 0, batch: 0 };
  await fixRun(lake.store, { ...RUN, runId } as RunFile);
});

describe('the journal of a run', () => {
  it('has a version for each phase that has ended, with what it decided', async () => {
    expect(await journal()).toMatchObject({ sequence: 0, stage: null, absent: [], plan: null });
    expect(await attempt(0).decide(settled('a'))).toMatchObject({ sequence: 1, absent: ['a'] });
    await attempt(1).decide(settled('b'));
    expect(await journal()).toMatchObject({ sequence: 2, absent: ['b'], run: { runId: ref.runId } });
  });

  it('begins once', async () => {
    const other = { ...RUN, runId: ref.runId, startedAt: 7 } as RunFile;
    expect(await fixRun(lake.store, other)).toBe(false);
    // The answer to the first request was lost.
    expect(await fixRun(lake.store, { ...RUN, runId: ref.runId } as RunFile)).toBe(true);
  });

  it('is that of the first attempt that ends a phase, and the others continue from it', async () => {
    const [first, second, third] = [attempt(0), attempt(0, lake.store, 2), attempt(0, lake.store, 3)];
    await Promise.all([first, second, third].map((one) => one.journal()));
    await second.decide(settled('b'));
    expect(await first.decide(settled('a'))).toMatchObject({ sequence: 1, absent: ['b'] });
    await attempt(1).decide(settled('c'));
    expect(await third.decide(settled('d'))).toMatchObject({ sequence: 2, absent: ['c'] });
    expect(await journal()).toMatchObject({ sequence: 2, absent: ['c'] });
  });

  it('is not replaced by a late request', async () => {
    let late: (() => ReturnType<ObjectStore['swap']>) | null = null;
    const lost = withSwap(async (...given) => {
      late = () => lake.store.swap(...given);
      throw new Error('the network is lost');
    });
    await expect(attempt(0, lost).decide(settled('a'))).rejects.toThrow('the network is lost');
    await attempt(0, lake.store, 2).decide(settled('b'));
    expect(await late!()).toEqual({ outcome: 'conflict' });
    expect(await journal()).toMatchObject({ sequence: 1, absent: ['b'] });
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
    expect(await attempt(0, store).decide(settled('a'))).toMatchObject({ sequence: 1 });
    expect(requests).toBe(arrives ? 1 : 2);
    expect(await journal()).toMatchObject({ sequence: 1, absent: ['a'] });
  });

  it('stops an attempt that finds another one than it has read', async () => {
    const before = await lake.store.read(key());
    await attempt(0).decide(settled('a'));
    await lake.store.write(key(), before);
    const message = expect.stringContaining('is not what run');
    await expect(attempt(1).journal()).rejects.toMatchObject({ type: 'Lake', nonRetryable: true, message });
    const other = attempt(0);
    await other.journal();
    await lake.store.write(key(), Buffer.from(before.toString().replace('"gone":[]', '"gone":[ ]')));
    await expect(other.decide(settled('a'))).rejects.toMatchObject({ type: 'Lake', message });
    await lake.store.remove([key()]);
    await expect(other.decide(settled('a'))).rejects.toThrow('is missing from the lake');
  });

  it('lets a phase that has ended before only say what is next', async () => {
    await attempt(0).decide({ ...settled('a'), rows: 7, ahead: [{ do: 'mergePlan' }, { do: 'publish' }] });
    const again = performPhase({ staging: attempt(0) } as unknown as RunAt, 'settle', ref);
    expect(await again).toEqual({
      ...{ kind: 'next', phase: 'mergePlan', step: 1, batches: 1, pages: 0, rows: 7 },
      summary: 'plan, 7 rows',
    });
    expect((await journal()).sequence).toBe(1);
  });

  it('lets a late merge write nothing once the swap may be sent', async () => {
    await attempt(0).decide({ isSwapSent: true, ahead: [{ do: 'publish' }] });
    const late = performPhase({ staging: attempt(0) } as unknown as RunAt, 'merge', ref);
    expect(await late).toMatchObject({ kind: 'next', phase: 'publish', step: 1 });
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
