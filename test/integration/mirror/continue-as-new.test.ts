import { afterEach, describe, expect, it } from 'vitest';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { holdAnswer } from '../../support/hold.js';
import { mirrorOf, mirrorStatus } from '../../support/mirror-requests.js';
import { runRequest } from '../../support/run-request.js';
import { runsIn } from '../../support/snapshot.js';
import { type Stack, startStack, until } from '../../support/stack.js';

/** More events than a mirror collects before it continues as new. */
const SIGNALS = 1_100;

describe('a mirror whose history is full', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('finishes its current run, even over a worker restart, and carries all waiting requests into the next history', async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { tasks: 60 } },
      resources: '[tasks]',
      yaml: '    sync: { pageSize: 20 }\n',
    });
    const first = await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    const mirror = mirrorOf(stack, 'tasks');
    const answered = runRequest();
    const before = (await mirrorStatus(stack, 'tasks')).lastRun!.runId;
    await mirror.signal('requestRun', answered);
    await until(async () => (await mirrorStatus(stack, 'tasks')).lastRun!.runId !== before, 'it is answered');

    const { admin } = stack.simulator;
    const held = holdAnswer(stack.simulator, { resource: 'tasks', page: 1 });
    const going = stack.export({ full: true });
    await until(held.isThere, 'a run is going on');
    const { runId: history } = await mirror.describe();
    const waiting = [stack.export(), stack.export({ allowDeletes: true })];
    const nobodyWaits = runRequest({ mode: 'full', reconcile: true });
    await mirror.signal('requestRun', nobodyWaits);
    await until(async () => (await mirrorStatus(stack, 'tasks')).waiting === 3, 'three requests wait');
    const running = (await mirrorStatus(stack, 'tasks')).active!.runId;
    const stopping = first.stop();
    held.release();
    await stopping;
    // The next worker reads the next page.
    expect(admin.stats().recent.at(-1)!.page).toBe(1);
    // A repeated request counts once, but each signal adds an event to the history.
    for (let sent = 0; sent < SIGNALS; sent += 100) {
      await Promise.all(Array.from({ length: 100 }, () => mirror.signal('requestRun', nobodyWaits)));
    }
    expect((await mirror.describe()).runId).toBe(history);
    await stack.startWorker();

    const results = [await going, ...(await Promise.all(waiting))];
    const reports = results.map(({ runs }) => runs[0]!);
    expect(reports.map(({ outcome }) => outcome)).toEqual(['published', 'published', 'published']);
    expect(reports[0]!.runId).toBe(running);
    await until(async () => {
      const { active, waiting: left } = await mirrorStatus(stack, 'tasks');
      return active === null && left === 0;
    }, 'the mirror rests');
    expect((await mirror.describe()).runId).not.toBe(history);
    // One run each: the first export, the request after it, the current run, and the three waiting requests.
    expect(await runsIn(stack.store, 'tasks')).toHaveLength(6);
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);
    // The answers are carried into the next history.
    await mirror.signal('requestRun', answered);
    expect(await mirrorStatus(stack, 'tasks')).toMatchObject({ active: null, waiting: 0 });
  });
});
