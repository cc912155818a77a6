import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterEach, it } from 'vitest';
import { type MirrorStatus, noticesWorkflowId } from '../../src/core/contract.js';
import { writeBackLaneId } from '../../src/core/write-back-contract.js';
import { DEMO_ORGANIZATION } from '../../src/simulator/index.js';
import { followWriteBack } from '../../src/temporal/follow-write-back.js';
import { createNoticeSender } from '../../src/temporal/notices.js';
import { requestSync } from '../../src/temporal/start.js';
import { startWriteBack } from '../../src/temporal/start-write-back.js';
import { type Stack, type StackOptions, startStack, until } from '../support/stack.js';
import { endLanes, fileIn, stage, timeEntriesCsv } from '../support/write-back.js';

/**
 * Not a test: brings each workflow through each path that matters on a real server and writes its history to
 * `histories/<workflow>.<path>.json`. Run it when a workflow's behaviour was changed on purpose.
 */
const FOLDER = join(import.meta.dirname, 'histories');

let stack: Stack;
afterEach(() => stack?.stop());

async function started(options: StackOptions): Promise<void> {
  stack = await startStack({
    simulator: { awkward: false, counts: { projects: 20 } },
    resources: '[projects]',
    ...options,
  });
  await stack.startWorker();
}

async function record(workflow: string, path: string, workflowId: string, runId?: string): Promise<void> {
  const history = await stack.temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
  await mkdir(FOLDER, { recursive: true });
  const name = `${workflow}.${path}.json`;
  await writeFile(join(FOLDER, name), `${JSON.stringify(JSON.parse(historyToJSON(history)), scrub, 1)}\n`);
}

/** Leaves out what tells of the machine that recorded and means nothing to a replay. */
function scrub(key: string, value: unknown): unknown {
  if (key === 'stackTrace') return '';
  return key === 'identity' ? 'worker' : value;
}

async function exported(path: string, args: object = {}): Promise<void> {
  const workflowId = `${stack.connection}-${path}`;
  const handle = await stack.temporal.client.workflow.start('exportWorkflow', {
    workflowId,
    taskQueue: stack.taskQueue,
    args: [{ connection: stack.connection, ...args }],
  });
  await handle.result().catch(() => {});
  await record('exportWorkflow', path, workflowId);
}

const mirror = (path: string, runId?: string) =>
  record('resourceMirrorWorkflow', path, stack.mirrorId('projects'), runId);

it('records exports and increments', async () => {
  await started({ resources: '[projects, members]' });
  await exported('published');
  await exported('increment');
  await exported('full', { full: true });
  await mirror('runs');
});

it('records a refusal and a resource that fails', async () => {
  await started({ resources: '[projects, { name: nothing, path: nothing }]' });
  await exported('one-resource-fails');
  await stop();
  await started({ apiKey: 'wrong' });
  await exported('refused');
  await mirror('refused');
});

it('records an activity that is retried', async () => {
  await started({});
  stack.simulator.admin.faults.add({
    match: { resource: 'projects' },
    remaining: 12,
    fault: { kind: 'status', status: 503 },
  });
  await exported('retried');
  await mirror('retried');
});

it('records a cancellation in the middle of a run', async () => {
  await started({ yaml: '    sync: { pageSize: 1 }\n' });
  stack.simulator.admin.faults.add({ match: { resource: 'projects' }, fault: { kind: 'latency', ms: 150 } });
  const workflowId = `${stack.connection}-cancelled`;
  const handle = await stack.temporal.client.workflow.start('exportWorkflow', {
    workflowId,
    taskQueue: stack.taskQueue,
    args: [{ connection: stack.connection }],
  });
  await until(() => (stack.simulator.admin.stats().byRoute['GET projects'] ?? 0) > 2, 'pages are read');
  await handle.cancel();
  await handle.result().catch(() => {});
  const status = () =>
    stack.temporal.client.workflow.getHandle(stack.mirrorId('projects')).query<MirrorStatus>('status');
  await until(async () => (await status()).active === null, 'the run has stopped');
  await record('exportWorkflow', 'cancelled', workflowId);
  await mirror('cancelled');
});

it('records a reconciliation with a second pass', async () => {
  await started({ resources: '[tasks]', simulator: { awkward: false, counts: { tasks: 40 } } });
  await stack.export();
  const [gone] = stack.simulator.admin
    .records('tasks')
    .map((text) => (JSON.parse(text) as { id: string }).id);
  stack.simulator.admin.remove('tasks', [gone!]);
  const handle = stack.temporal.client.workflow.getHandle(stack.mirrorId('tasks'));
  const request = {
    requestId: 'reconcile',
    replyTo: null,
    mode: 'full',
    reconcile: true,
    adopt: false,
    allowDeletes: false,
  };
  await handle.signal('requestRun', { ...request, kind: 'run', since: null, nominalStart: Date.now() });
  await until(
    async () => (await handle.query<MirrorStatus>('status')).lastRun?.counts?.deleted === 1,
    'it is marked',
  );
  await until(async () => (await handle.query<MirrorStatus>('status')).active === null, 'the mirror rests');
  await record('resourceMirrorWorkflow', 'reconciled', stack.mirrorId('tasks'));
});

it('records a continue-as-new', async () => {
  await started({});
  const handle = stack.temporal.client.workflow.getHandle(stack.mirrorId('projects'));
  await stack.export();
  const first = (await handle.describe()).runId;
  while ((await handle.describe()).runId === first) {
    await Promise.all([stack.export(), stack.export({ full: true })]);
  }
  await mirror('continued-as-new', first);
  await stack.export();
  await mirror('after-continue-as-new');
});

async function ran(workflow: string, path: string, args: object): Promise<void> {
  const workflowId = `${stack.connection}-${path}`;
  const handle = await stack.temporal.client.workflow.start(workflow, {
    workflowId,
    taskQueue: stack.taskQueue,
    args: [{ connection: stack.connection, ...args }],
  });
  await handle.result().catch(() => {});
  await record(workflow, path, workflowId);
}

it('records a rollback and the run after it, and a purge', async () => {
  await started({
    resources: '[time-entries]',
    simulator: { awkward: false, counts: { 'time-entries': 20 } },
  });
  const first = (await stack.export()).runs[0]!.runId!;
  const created = stack.simulator.admin.create('time-entries', { startedAt: new Date().toISOString() });
  await stack.export();
  await ran('rollbackWorkflow', 'to-an-earlier-run', { resource: 'time-entries', to: first });
  await ran('rollbackWorkflow', 'to-no-run', { resource: 'time-entries', to: '20200101T000000Z-00000000' });
  await stack.export();
  await ran('purgeWorkflow', 'of-a-record', { resource: 'time-entries', key: [created] });
  await record('resourceMirrorWorkflow', 'rolled-back-and-purged', stack.mirrorId('time-entries'));
});

it('records a backfill during a nightly run, one that fails, and the update sync', async () => {
  await started({
    simulator: { awkward: false, counts: { projects: 200 } },
    yaml: '    sync: { pageSize: 20 }\n',
  });
  await stack.export();
  const rule = stack.simulator.admin.faults.add({
    match: { resource: 'projects' },
    fault: { kind: 'latency', ms: 100 },
  });
  stack.simulator.admin.touch('projects', { count: 100, pick: 'spread' });
  const nightly = stack.export();
  await ran('backfillWorkflow', 'during-a-nightly-run', {});
  await nightly;
  stack.simulator.admin.faults.remove(rule);
  await ran('backfillWorkflow', 'of-no-resource', { resources: ['nothing'] });
  const { connection, taskQueue } = stack;
  await requestSync(stack.temporal, { connection, resource: 'projects' }, { taskQueue });
  const status = () =>
    stack.temporal.client.workflow.getHandle(stack.mirrorId('projects')).query<MirrorStatus>('status');
  await until(async () => (await status()).active === null, 'the mirror rests');
  await mirror('backfilled');
});

it('records a run that goes on from the pages of one that was refused', async () => {
  const key = { key: 'wt_recorded', name: 'recorded', organization: DEMO_ORGANIZATION, grants: ['*'] };
  await started({
    apiKey: key.key,
    simulator: { awkward: false, counts: { projects: 400 }, keys: [key] },
    yaml: '    sync: { pageSize: 5 }\n',
  });
  const { admin } = stack.simulator;
  const rule = admin.faults.add({ match: { resource: 'projects' }, fault: { kind: 'latency', ms: 150 } });
  const refused = stack.export();
  await until(async () => {
    for await (const { key } of stack.store.list('_staging/projects/'))
      if (key.includes('/stage-')) return true;
    return false;
  }, 'pages are staged');
  admin.keys.revoke(key.name);
  await refused;
  admin.faults.remove(rule);
  admin.keys.add(key);
  await stack.export();
  await mirror('resumed');
});

it('records change notices', async () => {
  await started({ yaml: '    sync: { minInterval: 2s }\n' });
  const id = noticesWorkflowId(stack.connection, 'projects');
  const handle = stack.temporal.client.workflow.getHandle(id);
  const send = () => createNoticeSender(stack.temporal, stack)(stack.connection, 'projects', 1);
  const notices = (path: string, runId?: string) => record('changeNoticeWorkflow', path, id, runId);
  await send();
  await handle.result();
  await notices('one');

  // More of them before, during and after the first run: that makes two, kept apart.
  stack.simulator.admin.faults.add({
    match: { resource: 'projects' },
    fault: { kind: 'latency', ms: 2_000 },
  });
  for (let i = 0; i < 3; i++) await send();
  const status = () =>
    stack.temporal.client.workflow.getHandle(stack.mirrorId('projects')).query<MirrorStatus>('status');
  await until(async () => (await status()).active?.phase === 'extract', 'the run goes on');
  await send();
  stack.simulator.admin.faults.clear();
  await until(async () => (await status()).active === null, 'the first run has ended');
  await send();
  await handle.result();
  await notices('while-running');

  stack.simulator.admin.faults.add({
    match: { resource: 'projects' },
    fault: { kind: 'status', status: 403 },
  });
  await send();
  await handle.result();
  await notices('run-failed');
  stack.simulator.admin.faults.clear();

  stack.simulator.admin.faults.add({
    match: { resource: 'projects' },
    fault: { kind: 'latency', ms: 20_000 },
  });
  await send();
  await until(async () => (await status()).active !== null, 'the run goes on');
  const { runId } = await handle.describe();
  while ((await handle.describe()).runId === runId) await Promise.all(Array.from({ length: 10 }, send));
  await notices('continued-as-new', runId);
  await handle.cancel();
  await until(async () => (await handle.describe()).status.name === 'CANCELLED', 'it is cancelled');
  await notices('cancelled');
});

async function wroteBack(path: string, csv: string, batchId: string): Promise<void> {
  const file = await fileIn(stack, csv);
  const input = await stage(stack, { resource: 'time-entries', file, batchId });
  const { workflowId } = await startWriteBack(stack.temporal, input, { taskQueue: stack.taskQueue });
  await followWriteBack(stack.temporal, workflowId, { everyMs: 50 });
  await record('writeBackWorkflow', path, workflowId);
}

it('records batches that are written, reported, rejected, refused and cancelled', async () => {
  await started({
    simulator: { awkward: false, counts: { 'time-entries': 0 } },
    resources: '[time-entries]',
  });
  await wroteBack('written', timeEntriesCsv(20), 'one');
  await wroteBack('reported', timeEntriesCsv(20), 'one');
  await wroteBack('rejected', `${timeEntriesCsv(3)}x,-1,y,true\n`, 'two');
  stack.simulator.admin.faults.add({ match: { method: 'POST' }, fault: { kind: 'latency', ms: 100 } });
  const input = await stage(stack, {
    resource: 'time-entries',
    file: await fileIn(stack, timeEntriesCsv(2000)),
    batchId: 'four',
  });
  const made = (): number => stack.simulator.admin.stats().byRoute['POST time-entries'] ?? 0;
  const before = made();
  const { workflowId } = await startWriteBack(stack.temporal, input, { taskQueue: stack.taskQueue });
  const waits = { ...input, batchId: 'five' };
  await until(() => made() > before + 5, 'rows are sent');
  const waiting = await startWriteBack(stack.temporal, waits, { taskQueue: stack.taskQueue });
  const stageOf = async (): Promise<string> =>
    (await stack.temporal.client.workflow.getHandle(waiting.workflowId).query<{ stage: string }>('progress'))
      .stage;
  await until(async () => (await stageOf()) === 'wait', 'another batch waits');
  for (const one of [waiting.workflowId, workflowId]) {
    await stack.temporal.client.workflow.getHandle(one).cancel();
    await followWriteBack(stack.temporal, one, { everyMs: 50 });
  }
  await record('writeBackWorkflow', 'cancelled', workflowId);
  await record('writeBackWorkflow', 'cancelled-while-waiting', waiting.workflowId);
  await record('writeBackLaneWorkflow', 'batches', writeBackLaneId(stack.connection, 'time-entries'));
  stack.simulator.admin.faults.clear();
  stack.simulator.admin.keys.revoke('demo');
  await wroteBack('refused', timeEntriesCsv(9), 'six');
  await endLanes(stack);
});

async function stop(): Promise<void> {
  await stack.stop();
}

it('records a mirror that tells of a failure and of the recovery', async () => {
  const told: unknown[] = [];
  const hook = createServer((request, response) => {
    // The first one has to be sent again.
    request.resume().on('end', () => response.writeHead(told.push(1) === 1 ? 503 : 204).end());
  }).listen(0, '127.0.0.1');
  await once(hook, 'listening');
  const { port } = hook.address() as AddressInfo;
  await started({ yaml: `    notify: { url: "http://127.0.0.1:${port}/" }\n` });
  const rule = stack.simulator.admin.faults.add({
    match: { resource: 'projects' },
    fault: { kind: 'status', status: 402 },
  });
  await stack.export();
  stack.simulator.admin.faults.remove(rule);
  await stack.export();
  await until(() => told.length === 3, 'both are told');
  await until(async () => {
    const { events } = await stack.history(stack.mirrorId('projects'));
    return events!.filter((event) => event.activityTaskCompletedEventAttributes).length > 7;
  }, 'the mirror knows it');
  await mirror('notified');
  hook.close();
});
