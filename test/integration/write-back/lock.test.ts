import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type WriteBackProgress, writeBackLockId } from '../../../src/core/contract/write-back.js';
import { startWriteBack } from '../../../src/temporal/client/start.js';
import { followWriteBack } from '../../../src/temporal/follow/follow-write-back.js';
import { signalsNamed } from '../../support/histories.js';
import { holdAnswer } from '../../support/hold.js';
import { type Stack, until } from '../../support/stack.js';
import {
  fileIn,
  recordsOf,
  stage,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
} from '../../support/write-back.js';

describe('batches of one resource', () => {
  let stack: Stack;
  beforeEach(async () => {
    stack = await startWriteBackStack();
    await stack.startWorker();
  });
  afterEach(() => stopWriteBackStack(stack));

  async function start(from: number, rows: number): Promise<string> {
    const input = await stage(stack, {
      resource: 'time-entries',
      file: await fileIn(stack, timeEntriesCsv(rows, from)),
    });
    const wish = { ...input, readBack: false };
    return (await startWriteBack(stack.temporal, wish, { taskQueue: stack.taskQueue })).workflowId;
  }
  const stageOf = async (workflowId: string) =>
    (await stack.temporal.client.workflow.getHandle(workflowId).query<WriteBackProgress>('progress')).stage;
  const requestsOfLock = async (): Promise<number> => {
    const lock = writeBackLockId(stack.connection, 'time-entries');
    const history = await stack.history(lock).catch(() => ({}));
    return signalsNamed('acquireLock', history).length;
  };
  const numbersWritten = (): number[] =>
    recordsOf(stack, 'time-entries')
      .sort((a, b) => String(a.id).localeCompare(String(b.id)))
      .map(({ description }) => Number(/\d+/.exec(String(description))![0]));

  it('are written one at a time, in the order of their arrival', async () => {
    const held = holdAnswer(stack.simulator, { method: 'POST' });
    const batches: string[] = [];
    for (const from of [2000, 1000, 0]) {
      batches.push(await start(from, 150));
      await until(async () => (await requestsOfLock()) === batches.length, 'it has requested the lock');
    }
    held.release();
    for (const workflowId of batches) {
      expect(await followWriteBack(stack.temporal, workflowId, { everyMs: 50 })).toMatchObject({
        counts: { created: 150 },
      });
    }
    const thousands = numbersWritten().map((n) => Math.floor(n / 1000));
    expect(thousands).toEqual([...thousands].sort((a, b) => b - a));
    expect(thousands.length).toBe(450);
  });

  it('continue after the previous one was terminated or cancelled', async () => {
    const held = holdAnswer(stack.simulator, { method: 'POST' });
    const first = await start(0, 300);
    await until(held.isThere, 'the first one sends');
    const second = await start(2000, 20);
    await until(async () => (await stageOf(second)) === 'wait', 'the second one waits');
    const third = await start(3000, 20);
    await until(async () => (await stageOf(third)) === 'wait', 'the third one waits');
    await stack.temporal.client.workflow.getHandle(second).cancel();
    // The lock is not notified. It checks the holder when another batch requests it, and after a minute.
    await stack.temporal.client.workflow.getHandle(first).terminate();
    const fourth = await start(4000, 20);
    const result = await followWriteBack(stack.temporal, third, { everyMs: 100 });
    expect(result).toMatchObject({ outcome: 'written', counts: { created: 20 } });
    expect(await followWriteBack(stack.temporal, fourth, { everyMs: 100 })).toMatchObject({
      outcome: 'written',
    });
    expect(numbersWritten().filter((n) => n >= 2000 && n < 3000)).toEqual([]);
    held.release();
  });
});
