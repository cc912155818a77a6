import { randomBytes } from 'node:crypto';
import type { MirrorStatus, RunReport } from '../../src/core/contract.js';
import { type Stack, until } from './stack.js';

/** Asks a mirror that is there already for a run, as exports and backfills do, and waits for its end. */
export async function requestRun(stack: Stack, resource: string, more: object = {}): Promise<RunReport> {
  const mirror = stack.temporal.client.workflow.getHandle(stack.mirrorId(resource));
  const before = (await mirror.query<MirrorStatus>('status')).lastRun?.runId;
  await mirror.signal('requestRun', {
    kind: 'run',
    requestId: randomBytes(4).toString('hex'),
    replyTo: null,
    mode: 'increment',
    reconcile: false,
    adopt: false,
    allowDeletes: false,
    since: null,
    nominalStart: Date.now(),
    ...more,
  });
  let last: RunReport | null = null;
  await until(async () => {
    ({ lastRun: last } = await mirror.query<MirrorStatus>('status'));
    return last !== null && last.runId !== before;
  }, `the run of ${resource} has ended`);
  return last!;
}
