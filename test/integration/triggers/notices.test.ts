import { afterEach, describe, expect, it } from 'vitest';
import { CHANGE_NOTICE_SIGNAL } from '../../../src/core/contract/index.js';
import { NOTICE_EVENTS, QUIET_MS } from '../../../src/mirror/notice-rules.js';
import { startTemporalDevServer } from '../../../src/servers/index.js';
import { DEMO_KEY } from '../../../src/simulator/index.js';
import { connectTemporal } from '../../../src/temporal/client/connect.js';
import { createNoticeSender, pingTemporal } from '../../../src/temporal/client/notice-sender.js';
import { signalsNamed } from '../../support/histories.js';
import { holdAnswer } from '../../support/hold.js';
import { signalUntilNew } from '../../support/long-history.js';
import { type NoticeStack, SHORT_QUIET_MS, startNoticeStack, WEBHOOK_SECRET } from '../../support/notices.js';
import { freePort } from '../../support/ports.js';
import { longOnly } from '../../support/seeds.js';
import { readSnapshot } from '../../support/snapshot.js';
import { OWN_THREAD, until } from '../../support/stack.js';

type HistoryEvent = NonNullable<Awaited<ReturnType<NoticeStack['history']>>['events']>[number];

const TASKS = '{"resource":"tasks"}';

describe('change notices', () => {
  let stack: NoticeStack;
  afterEach(() => stack?.stop());

  const notices = (resource: string) => stack.temporal.client.workflow.getHandle(stack.noticesId(resource));
  const ended = (resource: string) =>
    until(
      async () => (await notices(resource).describe()).status.name === 'COMPLETED',
      'the workflow has completed',
    );
  const events = async (workflowId: string) => (await stack.history(workflowId)).events!;
  const signals = async (resource: string) =>
    signalsNamed('changeNotice', await stack.history(stack.noticesId(resource))).length;

  // test/unit/webhook/receiver.test.ts counts the signals of notices that overlap; a test below the runs of several notices.
  longOnly(
    'arriving in a burst of 2,000 lead to few signals, one or two runs and short histories',
    async () => {
      stack = await startNoticeStack({ quietMs: QUIET_MS });
      await stack.startWorker(undefined, OWN_THREAD);
      await stack.export();
      const before = await stack.runs('tasks');
      const { post } = await stack.startReceiver();
      stack.simulator.admin.touch('tasks', { count: 5, pick: 'newest' });
      let left = 2_000;
      const statuses = new Map<number, number>();
      const begun = Date.now();
      await Promise.all(
        Array.from({ length: 400 }, async () => {
          while (left-- > 0) {
            const { status } = await post(TASKS);
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
          }
        }),
      );
      expect([...statuses]).toEqual([[202, 2_000]]);
      const lasted = Date.now() - begun;
      await ended('tasks');
      const runs = (await stack.runs('tasks')).length - before.length;
      expect(runs).toBeGreaterThanOrEqual(1);
      // On a machine that stalls, a pause between notices may be the quiet time that starts a run.
      expect(runs).toBeLessThanOrEqual(1 + Math.ceil(lasted / QUIET_MS));
      const sent = await signals('tasks');
      const history = (await events(stack.noticesId('tasks'))).length;
      console.log(`2,000 notices: ${sent} signals, ${runs} runs, ${history} events`);
      expect(sent).toBeLessThan(60);
      expect(history).toBeLessThan(400);
      const changed = stack.simulator.admin.records('tasks').length;
      expect((await readSnapshot(stack.store, 'tasks')).rows.length).toBe(changed);
      // The other resource was not named.
      expect(await stack.runs('projects')).toHaveLength(1);
    },
  );

  it('change notices without a resource start runs of all resources, also of one that was never read', async () => {
    stack = await startNoticeStack();
    await stack.startWorker();
    const { post } = await stack.startReceiver();
    expect((await post('something happened')).status).toBe(202);
    await Promise.all([ended('tasks'), ended('projects')]);
    expect(await stack.runs('tasks')).toHaveLength(1);
    expect(await stack.runs('projects')).toHaveLength(1);
    expect((await stack.mirror('tasks')).lastRun).toMatchObject({ outcome: 'published', rows: 30 });
  });

  it('during a run lead to one further run', async () => {
    stack = await startNoticeStack({ sync: '{ minInterval: 0s, pageSize: 1 }' });
    await stack.startWorker();
    const { post } = await stack.startReceiver();
    const held = holdAnswer(stack.simulator, { resource: 'tasks', page: 1 });
    expect((await post(TASKS)).status).toBe(202);
    await until(held.isThere, 'pages are read');
    stack.simulator.admin.update('tasks', idOf(stack, 0), { name: 'changed meanwhile' });
    for (let i = 0; i < 5; i++) expect((await post(TASKS)).status).toBe(202);
    expect((await stack.mirror('tasks')).waiting).toBe(0);
    held.release();
    await ended('tasks');
    expect(await stack.runs('tasks')).toHaveLength(2);
    const { rows } = await readSnapshot(stack.store, 'tasks');
    expect(rows.map((row) => row.name)).toContain('changed meanwhile');
  });

  // test/unit/mirror/notice-rules.test.ts: "… before the run starts lead to no further run, however late it starts".
  longOnly(
    'lead to no further run if they arrive while the mirror is still busy with another request',
    async () => {
      stack = await startNoticeStack({ sync: '{ minInterval: 0s, pageSize: 1 }' });
      await stack.startWorker();
      const { post } = await stack.startReceiver();
      const held = holdAnswer(stack.simulator, { resource: 'tasks', page: 1 });
      const exporting = stack.export({ resources: ['tasks'] });
      await until(held.isThere, 'pages are read');
      expect((await post(TASKS)).status).toBe(202);
      await until(async () => (await stack.mirror('tasks')).waiting === 1, 'the mirror is asked');
      expect((await post(TASKS)).status).toBe(202);
      await until(async () => isSeen(await events(stack.noticesId('tasks'))), 'the notice is seen');
      // The requested run counts as later only if it starts two seconds after the notice.
      const later = Date.now() + 3_000;
      await until(() => Date.now() > later, 'more than two seconds have passed');
      held.release();
      expect((await exporting).outcome).toBe('published');
      await ended('tasks');
      expect(await stack.runs('tasks')).toHaveLength(2);
    },
  );

  it('keep `sync.minInterval` between runs', async () => {
    stack = await startNoticeStack({ sync: '{ minInterval: 3s }' });
    await stack.startWorker();
    const { post } = await stack.startReceiver();
    const published: number[] = [];
    for (let round = 1; round <= 2; round++) {
      expect((await post(TASKS)).status).toBe(202);
      await until(async () => (await stack.runs('tasks')).length === round, 'it is published');
      await until(async () => (await stack.mirror('tasks')).active === null, 'the run has ended');
      published.push((await stack.mirror('tasks')).published!.publishedAt);
    }
    expect(published[1]! - published[0]!).toBeGreaterThanOrEqual(3_000);
  });

  it('are not retried if their run fails, and the next scheduled run reads the changes', async () => {
    stack = await startNoticeStack({ apiKey: 'wrong' });
    const worker = await stack.startWorker();
    const { post } = await stack.startReceiver();
    expect((await post(TASKS)).status).toBe(202);
    await ended('tasks');
    expect((await stack.mirror('tasks')).lastRun!.outcome).toBe('refused');
    await worker.stop();
    process.env.WORKTRACK_API_KEY = DEMO_KEY;
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
  });

  it('fail with a clear message for an unknown resource, and work once it is configured', async () => {
    stack = await startNoticeStack();
    const [connection] = stack.settings.connections;
    const less = { ...connection!, resources: connection!.resources.filter(({ name }) => name !== 'tasks') };
    const worker = await stack.startWorker({ ...stack.settings, connections: [less] });
    const { post } = await stack.startReceiver();
    expect((await post(TASKS)).status).toBe(202);
    const why = await notices('tasks')
      .result()
      .catch((error: Error) => (error.cause as Error).cause);
    expect(String(why)).toContain('has no resource "tasks"');
    await worker.stop();
    await stack.startWorker();
    expect((await post(TASKS)).status).toBe(202);
    await ended('tasks');
    expect(await stack.runs('tasks')).toHaveLength(1);
  });

  it('withdraw their request when the workflow is cancelled', async () => {
    stack = await startNoticeStack({ sync: '{ pageSize: 1 }' });
    await stack.startWorker();
    const { post } = await stack.startReceiver();
    const held = holdAnswer(stack.simulator, { resource: 'tasks', page: 1 });
    expect((await post(TASKS)).status).toBe(202);
    await until(held.isThere, 'pages are read');
    await notices('tasks').cancel();
    await until(async () => (await stack.mirror('tasks')).active === null, 'the run has stopped');
    expect((await stack.mirror('tasks')).lastRun!.outcome).toBe('cancelled');
    await until(
      async () => (await notices('tasks').describe()).status.name === 'CANCELLED',
      'the workflow is cancelled',
    );
    held.release();
  });

  it('continue as new in a long history and keep the requested run', async () => {
    stack = await startNoticeStack({ sync: '{ minInterval: 0s, pageSize: 1 }' });
    await stack.startWorker(undefined, OWN_THREAD);
    const { post } = await stack.startReceiver();
    const held = holdAnswer(stack.simulator, { resource: 'tasks', page: 0 });
    expect((await post(TASKS)).status).toBe(202);
    await until(held.isThere, 'the run is in progress');
    const notice = [CHANGE_NOTICE_SIGNAL, { notices: 1 }] as const;
    await signalUntilNew(stack.temporal.client, stack.noticesId('tasks'), notice);
    expect(signalsNamed('requestRun', await stack.history(stack.mirrorId('tasks')))).toHaveLength(1);
    held.release();
    await ended('tasks');
    expect(await stack.runs('tasks')).toHaveLength(2);
    let histories = 0;
    for await (const { workflowId, runId } of stack.workflows()) {
      if (workflowId !== stack.noticesId('tasks')) continue;
      const { historyLength } = await stack.temporal.client.workflow.getHandle(workflowId, runId).describe();
      expect(historyLength).toBeLessThan(2_000);
      histories++;
    }
    expect(histories).toBeGreaterThan(0);
  });

  it('take the report of a run that arrives with the notices that make a history long', async () => {
    stack = await startNoticeStack({ sync: '{ minInterval: 0s, pageSize: 1 }' });
    const worker = await stack.startWorker(undefined, OWN_THREAD);
    const { post } = await stack.startReceiver();
    const { admin } = stack.simulator;
    const away = admin.faults.add({ match: { resource: 'tasks' }, fault: { kind: 'status', status: 503 } });
    expect((await post(TASKS)).status).toBe(202);
    await until(() => admin.stats().requests > 0, 'the run is in progress');
    const length = async (): Promise<number> => (await notices('tasks').describe()).historyLength;
    const { raw } = await notices('tasks').describe();
    await worker.stop();
    const missing = NOTICE_EVENTS + 50 - (await length());
    await signal(Math.ceil(missing / 100) * 100);
    const report = {
      ...{ resource: 'tasks', outcome: 'failed', runId: null, rows: null, counts: null, snapshot: null },
      ...{ warnings: [], error: { type: 'Failed', message: 'no answer' } },
    };
    const requestId = `${raw.workflowExecutionInfo?.firstRunId}/notices-1`;
    await notices('tasks').signal('runAnswered', { requestId, report });
    expect(await length()).toBeGreaterThan(NOTICE_EVENTS);
    await stack.startWorker(undefined, OWN_THREAD);
    const requests = async () => signalsNamed('requestRun', await stack.history(stack.mirrorId('tasks')));
    await until(async () => (await requests()).length > 1, 'the notices since then lead to another run');
    admin.faults.remove(away);
    await ended('tasks');
  });

  it('do not fill a history while no worker runs, and are not lost', async () => {
    stack = await startNoticeStack();
    const { post } = await stack.startReceiver();
    expect((await post(TASKS)).status).toBe(202);
    await signal(1_400);
    await flood(async () => (await notices('tasks').describe()).historyLength >= 1_500);
    const { historyLength } = await notices('tasks').describe();
    expect((await post(TASKS)).status).toBe(202);
    expect((await post(TASKS)).status).toBe(202);
    expect((await notices('tasks').describe()).historyLength).toBe(historyLength);
    await stack.startWorker(undefined, OWN_THREAD);
    await ended('tasks');
    expect(await stack.runs('tasks')).toHaveLength(1);
    expect((await readSnapshot(stack.store, 'tasks')).rows).toHaveLength(30);
  });

  /** Sends signals to the workflow that runs. */
  async function signal(count: number): Promise<void> {
    for (let sent = 0; sent < count; sent += 100)
      await Promise.all(
        Array.from({ length: 100 }, () => notices('tasks').signal(CHANGE_NOTICE_SIGNAL, { notices: 1 })),
      );
  }

  /** Sends notices as many receivers would do. */
  async function flood(isEnough: () => Promise<boolean>): Promise<void> {
    const { connection, taskQueue } = stack;
    const send = createNoticeSender(stack.temporal, {
      taskQueue,
      timeoutMs: 60_000,
      quietMs: SHORT_QUIET_MS,
    });
    do {
      await Promise.all(Array.from({ length: 100 }, () => send(connection, 'tasks', 1)));
    } while (!(await isEnough()));
  }

  it('get a 503 while Temporal is unreachable, and a 202 afterwards', async () => {
    const port = await freePort();
    const start = () =>
      startTemporalDevServer({
        executable: stack.servers.temporalCli,
        headless: true,
        dbFile: `${stack.folder}/state.db`,
        port,
      });
    stack = await startNoticeStack();
    let own = await start();
    const temporal = await connectTemporal({ address: own.address });
    try {
      const { url, post } = await stack.startReceiver({
        send: createNoticeSender(temporal, { taskQueue: stack.taskQueue }),
        ready: () => pingTemporal(temporal),
      });
      const isHealthy = (status: number) =>
        until(async () => (await fetch(`${url}/healthz`)).status === status, `/healthz answers ${status}`);
      expect((await post(TASKS)).status).toBe(202);
      await isHealthy(200);
      await own.kill();
      const refused = await post(TASKS);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
      await isHealthy(503);
      own = await start();
      await until(async () => (await post(TASKS)).status === 202, 'notices are accepted again');
      await isHealthy(200);
      // A notice that got a 202 before Temporal was killed is not lost.
      const handle = temporal.client.workflow.getHandle(stack.noticesId('tasks'));
      expect(signalsNamed('changeNotice', await handle.fetchHistory()).length).toBeGreaterThanOrEqual(2);
    } finally {
      await temporal.close();
      await own.stop();
    }
  });

  it('change notices that are lost, duplicated or reordered leave a mirror that the next scheduled run corrects', async () => {
    stack = await startNoticeStack();
    await stack.startWorker();
    await stack.export();
    const { admin } = stack.simulator;
    let receiver = await stack.startReceiver();
    const held: string[] = [];
    let isUp = true;
    let sent = 0;
    // Of the notices for the changes, some are never sent, some are sent twice, and some late.
    const change = async (at: number): Promise<void> => {
      admin.update('tasks', idOf(stack, at), { name: `change ${at}` });
      const body = JSON.stringify({ resource: 'tasks', number: at });
      if (at % 5 === 0) return;
      held.unshift(body);
      if (at % 3 === 0) held.push(body);
      if (held.length < 3) return;
      for (const notice of held.splice(0)) {
        const status = await receiver.post(notice).then(
          (response) => response.status,
          () => 'no answer',
        );
        expect(status).toBe(isUp ? 202 : 'no answer');
        sent++;
      }
    };
    for (let at = 0; at < 12; at++) await change(at);
    await ended('tasks');
    await receiver.close();
    isUp = false;
    for (let at = 12; at < 20; at++) await change(at);
    admin.create('tasks', { name: 'created without a receiver' });
    receiver = await stack.startReceiver();
    isUp = true;
    for (let at = 20; at < 24; at++) await change(at);
    await ended('tasks');
    expect(sent).toBeGreaterThan(15);
    expect((await stack.export()).outcome).toBe('published');
    const names = (await readSnapshot(stack.store, 'tasks')).rows.map((row) => row.name).sort();
    const truth = admin.records('tasks').map((text) => (JSON.parse(text) as { name?: string }).name ?? null);
    expect(names).toEqual(truth.sort());
  });

  it('leave no secrets in histories', async () => {
    stack = await startNoticeStack();
    await stack.startWorker();
    const { post } = await stack.startReceiver();
    expect((await post(`{"resource":"tasks","secret":"${WEBHOOK_SECRET}"}`)).status).toBe(202);
    await ended('tasks');
    for (const id of [stack.noticesId('tasks'), stack.mirrorId('tasks')]) {
      const bytes: Buffer[] = [];
      const visit = (value: unknown): void => {
        if (value instanceof Uint8Array) bytes.push(Buffer.from(value));
        else if (typeof value === 'string') bytes.push(Buffer.from(value));
        else if (typeof value === 'object' && value !== null) Object.values(value).forEach(visit);
      };
      visit(await events(id));
      const text = Buffer.concat(bytes).toString('latin1');
      expect(text).toContain('tasks');
      expect(text).not.toContain(WEBHOOK_SECRET);
    }
  });
});

/** Whether the workflow has processed the last signal. */
function isSeen(events: readonly HistoryEvent[]): boolean {
  const last = (has: (event: HistoryEvent) => unknown) =>
    events.map((event) => Boolean(has(event))).lastIndexOf(true);
  return (
    last((event) => event.workflowTaskCompletedEventAttributes) >
    last((event) => event.workflowExecutionSignaledEventAttributes)
  );
}

function idOf(stack: NoticeStack, at: number): string {
  return (JSON.parse(stack.simulator.admin.records('tasks')[at]!) as { id: string }).id;
}
