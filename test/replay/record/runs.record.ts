import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'vitest';
import {
  ALERTS_WORKFLOW,
  ANNOUNCE_WORKFLOW,
  alertsWorkflowId,
  announceWorkflowId,
  type MirrorStatus,
  WATCH_WORKFLOW,
} from '../../../src/core/contract/index.js';
import { DEMO_ORGANIZATION } from '../../../src/simulator/index.js';
import { requestRun } from '../../support/mirror-requests.js';
import { until } from '../../support/stack.js';
import { exported, mirror, mirrorStatus, ran, record, stack, started } from './recorder.js';

it('records exports and increments', async () => {
  await started({ resources: '[projects, members]' });
  await exported('published');
  await exported('increment');
  await exported('full', { full: true });
  await mirror('runs');
});

it('records runs in memory, one that continues in the lake, and one after a failed run', async () => {
  await started({ resources: '[projects]', yaml: '    sync: { pageSize: 15 }\n' });
  await stack.export();
  stack.simulator.admin.advance(60 * 60_000);
  await stack.export();
  stack.simulator.admin.touch('projects', { count: 2, pick: 'spread' });
  await exported('short');
  stack.simulator.admin.touch('projects', { count: 20, pick: 'spread' });
  stack.simulator.admin.faults.add({
    match: { resource: 'projects', page: 1 },
    remaining: 1,
    fault: { kind: 'status', status: 429, retryAfter: 6 },
  });
  await stack.export();
  stack.simulator.admin.faults.add({
    match: { resource: 'projects' },
    fault: { kind: 'status', status: 403 },
  });
  await stack.export();
  stack.simulator.admin.faults.clear();
  await stack.export();
  await mirror('spilled');
});

it('records a dry run and an audit, which leave no trace in the mirror', async () => {
  await started({ resources: '[projects]' });
  await stack.export();
  await exported('dry-run', { dryRun: { cells: 5 } });
  await exported('audited', { dryRun: { audit: {} } });
  await stack.export();
  await mirror('previewed');
});

it('records runs that wait for the next second', async () => {
  await started({ simulator: { awkward: false, counts: { projects: 1 } } });
  for (let run = 0; run < 3; run++) await stack.export();
  await mirror('at-once');
});

it('records a refusal and a failed resource', async () => {
  await started({ resources: '[projects, { name: nothing, path: nothing }]' });
  await exported('one-resource-fails');
  await stack.stop();
  await started({ apiKey: 'wrong' });
  await exported('refused');
  await mirror('refused');
});

it('records a retried activity', async () => {
  await started({});
  stack.simulator.admin.faults.add({
    match: { resource: 'projects' },
    remaining: 12,
    fault: { kind: 'status', status: 503 },
  });
  await exported('retried');
  await mirror('retried');
});

it('records a cancellation during a run', async () => {
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
  await until(async () => (await mirrorStatus()).active === null, 'the run has stopped');
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

it('records a run that resumes from the pages of a refused run', async () => {
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

it('records the alerts of a failure and of its end, a mirror that reports to them, and the watcher', async () => {
  const sent: unknown[] = [];
  const hook = createServer((request, response) => {
    // The first notification needs a retry.
    request.resume().on('end', () => response.writeHead(sent.push(1) === 1 ? 503 : 204).end());
  }).listen(0, '127.0.0.1');
  await once(hook, 'listening');
  const { port } = hook.address() as AddressInfo;
  await started({ yaml: `    notify: { url: "http://127.0.0.1:${port}/" }\n` });
  await stack.export();
  const rule = stack.simulator.admin.faults.add({
    match: { resource: 'projects' },
    fault: { kind: 'status', status: 402 },
  });
  // The mirror reports only runs without an export.
  await requestRun(stack, 'projects');
  await until(() => sent.length === 2, 'the failure is sent, again after the error');
  stack.simulator.admin.faults.remove(rule);
  await requestRun(stack, 'projects');
  await until(() => sent.length === 3, 'its end is sent');
  await record(ALERTS_WORKFLOW, 'sent', alertsWorkflowId(stack.taskQueue));
  await ran(WATCH_WORKFLOW, 'without-a-schedule', {});
  await mirror('notified-without-export');
  hook.close();
});

it('records an export that sends one notification of its failed resources', async () => {
  const hook = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(204).end());
  }).listen(0, '127.0.0.1');
  await once(hook, 'listening');
  const { port } = hook.address() as AddressInfo;
  await started({
    resources: '[projects, tasks, members]',
    yaml: `    notify: { url: "http://127.0.0.1:${port}/" }\n`,
  });
  for (const resource of ['projects', 'tasks'])
    stack.simulator.admin.faults.add({ match: { resource }, fault: { kind: 'status', status: 402 } });
  await exported('notified');
  await mirror('notified-by-export');
  hook.close();
});

it('records the announcement of a published run, which is refused at first', async () => {
  let asked = 0;
  const hook = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(asked++ === 0 ? 503 : 204).end());
  }).listen(0, '127.0.0.1');
  await once(hook, 'listening');
  const { port } = hook.address() as AddressInfo;
  await started({ yaml: `    notify: { url: "http://127.0.0.1:${port}/", on: [published] }\n` });
  const { runs } = await stack.export();
  const { resource, runId } = runs[0]!;
  const workflowId = announceWorkflowId(stack.connection, resource, runId!);
  await stack.temporal.client.workflow.getHandle(workflowId).result();
  await record(ANNOUNCE_WORKFLOW, 'sent', workflowId);
  hook.close();
});

it('records a mirror that starts the workflow of onPublished', async () => {
  await started({ yaml: '    onPublished: { workflow: loadWarehouse, taskQueue: warehouse-of-nobody }\n' });
  await stack.export();
  await stack.export();
  await mirror('on-published');
  const query = `WorkflowId STARTS_WITH 'worktrack/${stack.connection}/on-published/'`;
  for await (const { workflowId } of stack.temporal.client.workflow.list({ query }))
    await stack.temporal.client.workflow.getHandle(workflowId).terminate();
});
