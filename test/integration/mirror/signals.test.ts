import { randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { afterEach, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { newMirror } from '../../../src/core/mirror-requests.js';
import { parseRunDate } from '../../../src/core/run-id.js';
import { newNotices } from '../../../src/mirror/notice-rules.js';
import { signalsNamed } from '../../support/histories.js';
import { holdAnswer } from '../../support/hold.js';
import { mirrorOf, mirrorStatus } from '../../support/mirror-requests.js';
import { runRequest } from '../../support/run-request.js';
import { runsIn } from '../../support/snapshot.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const SMALL = { simulator: { awkward: false, counts: { tasks: 30 } }, resources: '[tasks]' } as const;

/** Arguments that no workflow of this package sends. */
const MALFORMED: readonly unknown[][] = [
  [],
  [null],
  [{}],
  ['text'],
  [5],
  [[]],
  [{ kind: 'dance', requestId: 'a', replyTo: null }],
  [{ ...runRequest(), replyTo: undefined }],
  [{ ...runRequest(), replyTo: 'x'.repeat(2_000) }],
  [{ ...runRequest(), nominalStart: 'tomorrow' }],
  [{ kind: 'rollback', requestId: 'b', replyTo: null, to: '20260230T020000Z-1a2b3c4d' }],
  [{ kind: 'rollback', requestId: 'c', replyTo: null, to: '../../other' as RunId }],
  [{ kind: 'purge', requestId: 'd', replyTo: null, key: { id: 1 } }],
];

describe('malformed signals', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());
  const handleOf = (workflowId: string) => stack.temporal.client.workflow.getHandle(workflowId);

  it('are dropped and logged by a mirror, which answers the next valid request', async () => {
    stack = await startStack(SMALL);
    const dropped: string[] = [];
    const ignored = { fn: () => {} };
    const warn = {
      fn: (_: unknown, message: string, { signal }: { signal?: string } = {}) => {
        if (message === 'dropped a malformed signal') dropped.push(String(signal));
      },
    };
    const logger = { trace: ignored, debug: ignored, info: ignored, warn, error: ignored };
    await stack.startWorker(stack.settings, { worker: { sinks: { defaultWorkerLogger: logger } } });
    expect((await stack.export()).outcome).toBe('published');
    const mirror = mirrorOf(stack, 'tasks');
    const before = (await mirrorStatus(stack, 'tasks')).lastRun!.runId;
    for (const signal of ['requestRun', 'withdrawRequest'])
      for (const args of MALFORMED) await mirror.signal(signal, ...args);
    const result = await stack.export();
    expect(result).toMatchObject({
      outcome: 'published',
      runs: [{ resource: 'tasks', outcome: 'published' }],
    });
    expect(result.runs[0]!.runId).not.toBe(before);
    // None of them started a run.
    expect(await mirrorStatus(stack, 'tasks')).toMatchObject({
      waiting: 0,
      lastRun: { runId: result.runs[0]!.runId },
    });
    expect(await runsIn(stack.store, 'tasks')).toHaveLength(2);
    const logged = (name: string): number => dropped.filter((signal) => signal === name).length;
    // A workflow task that is repeated logs again. A text can be the id of a request.
    expect(logged('requestRun')).toBeGreaterThanOrEqual(MALFORMED.length);
    expect(logged('withdrawRequest')).toBeGreaterThanOrEqual(MALFORMED.length - 1);
  });

  it('are dropped from the state that a mirror carries over a continue-as-new', async () => {
    stack = await startStack(SMALL);
    await stack.startWorker();
    const good = runRequest();
    const waiting = [null, {}, 'text', { kind: 'dance' }, { ...runRequest(), replyTo: undefined }, good];
    await stack.temporal.client.workflow.start('resourceMirrorWorkflow', {
      workflowId: stack.mirrorId('tasks'),
      taskQueue: stack.taskQueue,
      args: [{ ...newMirror(stack.connection, 'tasks'), waiting }],
    });
    await until(async () => {
      const { lastRun, waiting: left } = await mirrorStatus(stack, 'tasks');
      return left === 0 && lastRun?.outcome === 'published';
    }, 'the valid request is answered');
  });

  it('are dropped by an export, which still receives its answer', async () => {
    stack = await startStack(SMALL);
    await stack.startWorker();
    const held = holdAnswer(stack.simulator, { resource: 'tasks' });
    const handle = await stack.temporal.client.workflow.start('exportWorkflow', {
      workflowId: `${stack.connection}-export`,
      taskQueue: stack.taskQueue,
      args: [{ connection: stack.connection }],
    });
    await until(held.isThere, 'the run reads');
    for (const args of [...MALFORMED, [{ requestId: 'a', report: null }]])
      await handle.signal('runAnswered', ...args);
    held.release();
    expect(await handle.result()).toMatchObject({ outcome: 'published' });
  });

  it('are not sent: an export whose request would be malformed fails immediately', async () => {
    stack = await startStack(SMALL);
    await stack.startWorker();
    const to = '20260230T020000Z-1a2b3c4d';
    const rolledBack = stack.temporal.client.workflow.execute('rollbackWorkflow', {
      workflowId: `${stack.connection}-rollback`,
      taskQueue: stack.taskQueue,
      args: [{ connection: stack.connection, resource: 'tasks', to }],
    });
    await expect(rolledBack).rejects.toMatchObject({
      cause: { message: 'tasks: to must be a run id like 20261121T020000Z-1a2b3c4d' },
    });
  });

  it('are dropped by the collection of change notices, which requests a run for a valid one', async () => {
    stack = await startStack(SMALL);
    await stack.startWorker();
    const handle = await stack.temporal.client.workflow.start('changeNoticeWorkflow', {
      workflowId: `${stack.connection}-notices`,
      taskQueue: stack.taskQueue,
      args: [{ ...newNotices(stack.connection, 'tasks'), restUntil: Date.now() + 120_000 }],
    });
    for (const args of MALFORMED) {
      await handle.signal('changeNotice', ...args);
      await handle.signal('runAnswered', ...args);
    }
    await handle.terminate();
    const again = await stack.temporal.client.workflow.signalWithStart('changeNoticeWorkflow', {
      workflowId: `${stack.connection}-notices-2`,
      taskQueue: stack.taskQueue,
      args: [newNotices(stack.connection, 'tasks')],
      signal: 'changeNotice',
      signalArgs: [{ notices: 1 }],
    });
    for (const args of MALFORMED) await again.signal('runAnswered', ...args);
    await until(
      async () => (await mirrorStatus(stack, 'tasks').catch(() => null))?.lastRun?.outcome === 'published',
      'the notice led to a run',
    );
    await again.terminate();
  });

  it('are dropped by a write-back lock, which grants itself to the next batch', async () => {
    stack = await startStack(SMALL);
    await stack.startWorker();
    const { client } = stack.temporal;
    const lock = await client.workflow.start('writeBackLockWorkflow', {
      workflowId: `${stack.connection}-lock`,
      taskQueue: stack.taskQueue,
      args: [
        {
          connection: stack.connection,
          resource: 'time-entries',
          holder: {},
          waiting: [null, {}, { token: 5 }],
        },
      ],
    });
    for (const args of MALFORMED) {
      await lock.signal('acquireLock', ...args);
      await lock.signal('releaseLock', ...args);
    }
    // Any workflow can receive the grant. The history of this one shows it.
    const batch = await client.workflow.start('changeNoticeWorkflow', {
      workflowId: `${stack.connection}-batch`,
      taskQueue: stack.taskQueue,
      args: [{ ...newNotices(stack.connection, 'tasks'), restUntil: Date.now() + 120_000 }],
    });
    await lock.signal('acquireLock', { workflowId: batch.workflowId, token: 'mine' });
    await until(async () => {
      const history = await handleOf(batch.workflowId).fetchHistory();
      return signalsNamed('lockGranted', history).length > 0;
    }, 'the lock is granted to the batch');
    await Promise.all([lock.terminate(), batch.terminate()]);
  });
});

describe('a mirror that completes between the check and the signal', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('is started and signalled again', async () => {
    // The codec runs after the workflow has found the mirror running, and before the server receives the signal.
    let onRequest: (() => Promise<void>) | null = null;
    const codec: PayloadCodec = {
      async encode(payloads: Payload[]) {
        const text = payloads.map(({ data }) => Buffer.from(data ?? []).toString()).join();
        if (/^\{.*"kind":"run".*"replyTo":"/.test(text) && onRequest !== null) {
          const act = onRequest;
          onRequest = null;
          await act();
        }
        return payloads;
      },
      decode: async (payloads) => payloads,
    };
    stack = await startStack({ ...SMALL, dataConverter: { payloadCodecs: [codec] } });
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    const mirror = mirrorOf(stack, 'tasks');
    const { runId } = await mirror.describe();
    onRequest = () => mirror.terminate('closes now').then(() => {});
    const result = await stack.export();
    expect(onRequest).toBeNull();
    expect(result).toMatchObject({
      outcome: 'published',
      runs: [{ resource: 'tasks', outcome: 'published' }],
    });
    expect((await mirror.describe()).runId).not.toBe(runId);
  });
});

describe('requests that wait during a run', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('share one run with the latest nominal start, so that a nightly request gets its dt', async () => {
    stack = await startStack(SMALL);
    await stack.startWorker();
    const held = holdAnswer(stack.simulator, { resource: 'tasks' });
    const first = stack.export();
    await until(held.isThere, 'a run is going on');
    const mirror = mirrorOf(stack, 'tasks');
    const nights = ['2030-01-01', '2030-01-02', '2030-01-01'];
    for (const night of nights) {
      const requestId = randomBytes(4).toString('hex');
      await mirror.signal(
        'requestRun',
        runRequest({ requestId, nominalStart: Date.parse(`${night}T02:00:00Z`) }),
      );
    }
    await until(async () => (await mirrorStatus(stack, 'tasks')).waiting === 3, 'they wait');
    held.release();
    const [run] = (await first).runs;
    await until(async () => {
      const { active, waiting } = await mirrorStatus(stack, 'tasks');
      return active === null && waiting === 0;
    }, 'they are met');
    const dates = await stack.store.listFolders('tasks/snapshots/');
    const firstDate = new Date(parseRunDate(run!.runId!)).toISOString().slice(0, 10);
    expect([...dates].sort()).toEqual([`dt=${firstDate}`, 'dt=2030-01-02']);
  });
});
