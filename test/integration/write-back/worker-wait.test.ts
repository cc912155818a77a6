import { expect, it } from 'vitest';
import { startWriteBack } from '../../../src/temporal/client/start.js';
import { followWriteBack } from '../../../src/temporal/follow/follow-write-back.js';
import { batchKeys, parseLogKey } from '../../../src/write-back/batch-layout.js';
import type { ChunkLog } from '../../../src/write-back/plan-file.js';
import { decodeSealed } from '../../../src/write-back/sealed.js';
import { until } from '../../support/stack.js';
import {
  fileIn,
  stage,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
} from '../../support/write-back.js';

/** Longer than a request, and shorter than the test. */
const WAIT_MS = 20_000;

it("logs Temporal's clock when the attempt starts, however long it has waited for a worker", async () => {
  const stack = await startWriteBackStack({ s3: true });
  try {
    const source = { resource: 'time-entries', file: await fileIn(stack, timeEntriesCsv(3)) };
    const input = { ...(await stage(stack, source)), readBack: false };
    const { workflowId } = await startWriteBack(stack.temporal, input, { taskQueue: stack.taskQueue });
    const first = await stack.startWorker();
    stack.simulator.admin.faults.add({
      match: { method: 'POST', resource: 'time-entries' },
      fault: { kind: 'reset' },
    });
    await until(() => stack.simulator.admin.stats().requests > 3, 'rows are being sent');
    await first.stop();
    const stopped = Date.now();
    await until(() => Date.now() > stopped + WAIT_MS, 'the next attempt waits for a worker');
    stack.simulator.admin.faults.clear();
    const started = Date.now();
    await stack.startWorker();
    expect(await followWriteBack(stack.temporal, workflowId)).toMatchObject({ outcome: 'written' });
    const clocks: ChunkLog['at'][] = [];
    for await (const { key } of stack.store.list(batchKeys(input.batchId).plans))
      if (parseLogKey(key) !== null) clocks.push(decodeSealed<ChunkLog>(key, await stack.store.read(key)).at);
    const last = clocks.sort((a, b) => a.worker - b.worker).at(-1)!;
    expect(last.worker).toBeGreaterThan(started);
    // The server of this test has the clock of this machine.
    expect(Math.abs(last.temporal - last.worker)).toBeLessThan(WAIT_MS / 2);
    expect(Math.abs(last.store! - last.worker)).toBeLessThan(WAIT_MS / 2);
  } finally {
    await stopWriteBackStack(stack);
  }
});
