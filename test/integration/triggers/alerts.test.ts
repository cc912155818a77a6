import { Client } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { StoredAlerts } from '../../../src/core/alerts/stored-state.js';
import {
  ALERTS_SIGNAL,
  type AlertReport,
  alertsWorkflowId,
  watcherId,
} from '../../../src/core/contract/index.js';
import { DAY_MS, HOUR_MS } from '../../../src/core/duration.js';
import { pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { DEMO_KEY } from '../../../src/simulator/index.js';
import { startAudit, startExport } from '../../../src/temporal/client/start.js';
import { applySchedule, deleteSchedule } from '../../../src/temporal/schedule/schedule.js';
import { readStatus } from '../../../src/temporal/status/status.js';
import { type AlertTargets, startAlertTargets, type Vendor } from '../../support/alert-targets.js';
import { holdAnswer } from '../../support/hold.js';
import { mirrorOf, mirrorStatus, requestRun } from '../../support/mirror-requests.js';
import { idOf } from '../../support/mirrored.js';
import { RowService } from '../../support/row-service.js';
import { runRequest } from '../../support/run-request.js';
import { quickRetries } from '../../support/short-waits.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { startTimeSkipping } from '../../support/time-skipping-server.js';
import { fileIn, startWriteBackStack, timeEntriesCsv, writeBack } from '../../support/write-back.js';

const KEY = 'R0123456789abcdefghijklmnopqrstu';
const ALL =
  '[failure, recovery, stale, check, warning, schema-change, rows-not-written, deletes-held, behind]';

let stack: Stack;
let targets: AlertTargets;

beforeEach(async () => {
  targets = await startAlertTargets();
  process.env.ALERT_KEY = KEY;
});
afterEach(async () => {
  await stack?.stop();
  targets.close();
});

/** Targets of all vendors, with all events. */
const notifyOf = (...vendors: Vendor[]): string => {
  const lines = vendors.map((vendor) => {
    const format = vendor === 'teams' || vendor === 'pagerduty' ? vendor : 'slack';
    const key = format === 'pagerduty' ? ', key: { env: ALERT_KEY }' : '';
    return `      - { url: "${targets.url(vendor)}", format: ${format}${key}, on: ${ALL} }\n`;
  });
  return `    notify:\n${lines.join('')}`;
};

const shown = (vendor: Vendor = 'slack'): string[] =>
  targets.delivered.filter((one) => one.vendor === vendor).map((one) => one.shown);
const titles = (vendor: Vendor = 'slack'): string[] =>
  shown(vendor).map((text) => text.split('\n')[0]!.replaceAll('*', ''));

async function started(yaml: string, resources = '[projects]'): Promise<void> {
  stack = await startStack({
    simulator: { awkward: false, counts: { projects: 3, tasks: 3, members: 2 } },
    resources,
    yaml,
  });
  await stack.startWorker(stack.settings, quickRetries);
}

const refuse = (resource = 'projects') =>
  stack.simulator.admin.faults.add({
    match: { resource },
    fault: { kind: 'status', status: 402, body: `{"message":"no plan for ${DEMO_KEY}"}` },
  });

/** The events of all workflows of the stack. */
const allEvents = async () => {
  const events = [];
  for await (const { workflowId, runId } of stack.workflows()) {
    const history = await stack.temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
    events.push(...(history.events ?? []));
  }
  return events;
};

const activities = async (type: string): Promise<number> =>
  (await allEvents()).filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === type,
  ).length;

/** What was reported to the alerts so far. */
const reports = async (): Promise<AlertReport[]> => {
  const { events } = await stack.history(alertsWorkflowId(stack.taskQueue));
  return (events ?? []).flatMap((event) => {
    const [payload] = event.workflowExecutionSignaledEventAttributes?.input?.payloads ?? [];
    return payload?.data ? [JSON.parse(Buffer.from(payload.data).toString()) as AlertReport] : [];
  });
};

describe('alerts of runs', () => {
  it('reach every vendor once for a failure and once for its end, without secrets', async () => {
    await started(notifyOf('slack', 'discord', 'mattermost', 'teams', 'pagerduty'));
    await stack.export();
    const rule = refuse();
    const [first] = [await stack.export(), await stack.export()];
    expect(first.outcome).toBe('refused');
    await until(() => targets.delivered.length === 5, 'every target has the failure');
    stack.simulator.admin.faults.remove(rule);
    expect((await stack.export()).outcome).toBe('published');
    await stack.export();
    const chats = ['slack', 'discord', 'mattermost', 'teams'] as const;
    const failures = () => titles('pagerduty').filter((one) => one.includes('/failure/'));
    await until(
      () => failures().length === 2 && chats.every((vendor) => titles(vendor).length === 2),
      'every target has the recovery',
    );
    const { connection } = stack;
    for (const vendor of chats)
      expect(titles(vendor)).toEqual([
        `${connection}: the run of projects failed`,
        `${connection}: all is well again`,
      ]);
    // The run after a failure has a separate warning.
    expect(failures()).toEqual([
      `trigger worktrack/failure/${connection}`,
      `resolve worktrack/failure/${connection}`,
    ]);
    expect(shown()[0]).toContain('no plan for [redacted]');
    expect(targets.refused).toEqual([]);
    const bodies = JSON.stringify(targets.delivered.map(({ body }) => body));
    expect(bodies).not.toContain(DEMO_KEY);
    const events = JSON.stringify(await allEvents());
    for (const secret of [KEY, 'hook-slack-secret', DEMO_KEY])
      expect(events).not.toContain(Buffer.from(secret).toString('base64'));
    expect(events).not.toContain('hook-slack-secret');
  });

  it('report the differences that an audit finds, and nothing of an audit without', async () => {
    const notify = `    notify: { url: "${targets.url('slack')}", format: slack, on: [failure, audit] }\n`;
    await started(notify);
    await stack.export();
    const audit = async () => {
      const workflowId = await startAudit(
        stack.temporal,
        { connection: stack.connection },
        { taskQueue: stack.taskQueue },
      );
      return stack.temporal.client.workflow.getHandle(workflowId).result();
    };
    expect((await audit()).outcome).toBe('equal');
    const { admin } = stack.simulator;
    const [project] = admin.records('projects').map(idOf);
    admin.update('projects', project!, { name: 'silent', updatedAt: '2020-01-01T00:00:00.000Z' });
    expect((await audit()).outcome).toBe('different');
    await until(() => targets.delivered.length > 0, 'the message');
    expect(titles()).toEqual([`${stack.connection}: an audit found differences in projects`]);
    expect(shown()[0]).toContain('1 different rows in the snapshot');
  });

  it('name all resources of an export in one message', async () => {
    await started(notifyOf('slack'), '[projects, tasks, members]');
    const rules = ['projects', 'tasks'].map(refuse);
    await stack.export();
    await until(() => targets.delivered.length === 1, 'the message');
    expect(titles()).toEqual([`${stack.connection}: the run of 2 resources failed`]);
    expect(shown()[0]).toMatch(/• projects: GET .*• tasks: GET /s);
    for (const rule of rules) stack.simulator.admin.faults.remove(rule);
    await stack.export();
    await until(() => targets.delivered.length === 2, 'the recovery');
    expect(shown()[1]).toContain(`${stack.connection}: all is well again`);
    // One for each export. The server lists an export a moment later.
    await until(async () => (await activities('worktrack.reportAlerts')) >= 2, 'both exports are listed');
    expect(await activities('worktrack.reportAlerts')).toBe(2);
  });

  it('are sent again after an error, when the target asks for it', async () => {
    targets.next.slack.push(
      { status: 429, body: 'rate_limited', headers: { 'retry-after': '1' } },
      { status: 503, body: '' },
    );
    await started(notifyOf('slack'));
    refuse();
    await stack.export();
    await until(() => targets.delivered.length === 1, 'the third attempt');
    expect(targets.refused.map(({ answer }) => answer.status)).toEqual([429, 503]);
  });

  it('alerts that cannot be sent fail no run, and the log of Temporal has the answer but no address', async () => {
    targets.next.slack.push({ status: 404, body: 'no_service' });
    await started(notifyOf('slack'));
    const rule = refuse();
    expect((await stack.export()).outcome).toBe('refused');
    await until(() => targets.refused.length === 1, 'the attempt');
    stack.simulator.admin.faults.remove(rule);
    expect((await stack.export()).outcome).toBe('published');
    const failures = async () =>
      (await allEvents()).flatMap((event) => event.activityTaskFailedEventAttributes?.failure?.message ?? []);
    await until(async () => (await failures()).some((one) => one.includes('404')), 'it is recorded');
    expect(await failures()).toContainEqual(
      expect.stringMatching(/notify answered with status 404: no_service/),
    );
    expect(JSON.stringify(await allEvents())).not.toContain('hook-slack-secret');
  });

  it('cover runs without an export, such as one by the update sync', async () => {
    await started(notifyOf('slack'));
    await stack.export();
    refuse();
    expect((await requestRun(stack, 'projects')).outcome).toBe('refused');
    await until(() => targets.delivered.length === 1, 'the message');
  });

  it('are sent for a shared run although its export was cancelled', async () => {
    await started(notifyOf('slack'));
    await stack.export();
    const first = holdAnswer(stack.simulator, { resource: 'projects' });
    const sendRequest = () => mirrorOf(stack, 'projects').signal('requestRun', runRequest());
    await sendRequest();
    await until(() => first.isThere(), 'a run is in progress');
    const { client } = stack.temporal;
    const shared = client.workflow.getHandle(
      await startExport(stack.temporal, { connection: stack.connection }, { taskQueue: stack.taskQueue }),
    );
    await sendRequest();
    const waiting = async () => (await mirrorStatus(stack, 'projects')).waiting;
    await until(async () => (await waiting()) === 2, 'both requests wait');
    const second = holdAnswer(stack.simulator, { resource: 'projects' });
    // The first answer is made already.
    refuse();
    first.release();
    await until(() => second.isThere(), 'their run is in progress');
    await shared.cancel();
    await shared.result().catch(() => {});
    second.release();
    await until(() => targets.delivered.length === 1, 'the message');
    expect(titles()).toEqual([`${stack.connection}: the run of projects failed`]);
  });

  it('have their end in the history after the one that told them', async () => {
    await started(notifyOf('slack'));
    const rule = refuse();
    await stack.export();
    await until(() => targets.delivered.length === 1, 'the message');
    const workflowId = alertsWorkflowId(stack.taskQueue);
    const alerts = stack.temporal.client.workflow.getHandle(workflowId);
    const { runId } = await alerts.describe();
    const nothing: AlertReport = { connection: 'none', targets: [], resources: [], observations: [] };
    for (let sent = 0; sent < 1000; sent += 100)
      await Promise.all(Array.from({ length: 100 }, () => alerts.signal(ALERTS_SIGNAL, nothing)));
    await until(async () => (await alerts.describe()).runId !== runId, 'the history is long enough');
    const { events } = await alerts.fetchHistory();
    const [input] = events![0]!.workflowExecutionStartedEventAttributes!.input!.payloads!;
    const state = JSON.parse(Buffer.from(input!.data!).toString()) as StoredAlerts;
    expect(Object.keys(state.stored)).toEqual([stack.connection]);
    stack.simulator.admin.faults.remove(rule);
    await stack.export();
    await until(() => targets.delivered.length === 2, 'the end');
    expect(titles()[1]).toBe(`${stack.connection}: all is well again`);
  });

  it('do not exist without configuration', async () => {
    await started('');
    refuse();
    await stack.export();
    expect(await activities('worktrack.reportAlerts')).toBe(0);
    await expect(stack.history(alertsWorkflowId(stack.taskQueue))).rejects.toThrow();
  });
});

describe('alerts of other events', () => {
  it('report new columns, of warnings, and of a run that the delete limit stopped', async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { projects: 60 } },
      resources: '[projects]',
      yaml: notifyOf('pagerduty'),
    });
    await stack.startWorker();
    await stack.export();
    const { admin } = stack.simulator;
    admin.create('projects', { billable: true });
    await stack.export();
    await until(() => shown('pagerduty').length === 1, 'the change of the schema');
    const ids = admin.records('projects', 'listed').map((one) => (JSON.parse(one) as { id: string }).id);
    admin.remove('projects', ids.slice(30));
    const reconcile = await stack.temporal.client.workflow
      .execute('backfillWorkflow', {
        workflowId: `${stack.connection}-reconcile`,
        taskQueue: stack.taskQueue,
        args: [{ connection: stack.connection, reconcile: true }],
      })
      .then(
        () => 'published',
        () => 'failed',
      );
    expect(reconcile).toBe('failed');
    await until(() => titles('pagerduty').some((one) => one.includes('deletes-held')), 'the delete limit');
    expect(shown('pagerduty').join('\n')).toContain('new column "billable" (boolean)');
  });

  it('report data that are too old although their run was published, as `status` shows them', async () => {
    // The checkpoint is the start of the run without five minutes of overlap.
    await started(
      `    notify: { url: "${targets.url('slack')}", format: slack, maxAge: 2m }\n`,
      '[projects, tasks]',
    );
    const { connection, store } = stack;
    await stack.export();
    await until(() => titles().length === 1, 'the message');
    expect(titles()).toEqual([`${connection}: the data of 2 resources are too old`]);
    const settings = stack.settings.connections[0]!;
    const status = await readStatus(null, settings, store, { maxAgeMs: 120_000 });
    expect(status.map(({ state }) => state)).toEqual(['stale', 'stale']);

    // A resource whose pointer is damaged does not keep the others from being watched.
    await store.write(pointerKey('tasks'), Buffer.from('damaged'));
    await stack.temporal.client.workflow.execute('watchWorkflow', {
      workflowId: `${connection}-watch`,
      taskQueue: stack.taskQueue,
      args: [{ connection }],
    });
    const observed = (await reports()).map(({ observations }) =>
      observations.flatMap(({ resource, problems }) => (problems.length > 0 ? [resource] : [])),
    );
    expect(observed).toEqual([['projects', 'tasks'], ['projects']]);
  });

  it('end an alert about old data if a run is published when any age is allowed', async () => {
    stack = await startStack({
      simulator: { counts: { projects: 3 } },
      resources: '[projects]',
      yaml: `    notify: { url: "${targets.url('slack')}", format: slack, maxAge: 2m }\n`,
    });
    const strict = await stack.startWorker();
    await stack.export();
    await until(() => titles().length === 1, 'the message');
    await strict.stop();
    const [connection] = stack.settings.connections;
    const notify = connection!.notify.map((target) => ({ ...target, maxAgeMs: null }));
    await stack.startWorker({ ...stack.settings, connections: [{ ...connection!, notify }] });
    await stack.export();
    await until(() => titles().at(-1) === `${stack.connection}: all is well again`, 'the end');
  });

  it('report rows that a write-back did not write, once for each batch', async () => {
    const service = await RowService.start();
    try {
      stack = await startWriteBackStack({ baseUrl: service.url, yaml: notifyOf('slack') });
      await stack.startWorker();
      service.respond = () => ({ status: 422, body: '{"message":"no"}' });
      const batch = { resource: 'time-entries', file: await fileIn(stack, timeEntriesCsv(2, 0)) };
      expect((await writeBack(stack, batch)).outcome).toBe('incomplete');
      await until(() => targets.delivered.length === 1, 'the message');
      expect(titles()).toEqual([
        `${stack.connection}: rows were not written to time-entries as they were sent`,
      ]);
      expect(shown()[0]).toContain('2 rejected');
    } finally {
      await service.stop();
    }
  });
});

describe('the watcher', () => {
  it('exists only for targets that need it, and goes with the Schedule', async () => {
    await started(notifyOf('slack'));
    const { schedule } = stack.temporal.client;
    const connection = stack.settings.connections[0]!;
    expect(await applySchedule(stack.temporal, connection, stack.taskQueue)).toMatchObject({
      watcher: 'created',
    });
    expect(await applySchedule(stack.temporal, connection, stack.taskQueue)).toMatchObject({
      watcher: 'unchanged',
    });
    await schedule.getHandle(watcherId(stack.connection)).describe();
    await deleteSchedule(stack.temporal, stack.connection);
    await expect(schedule.getHandle(watcherId(stack.connection)).describe()).rejects.toThrow();
    const [target] = connection.notify;
    const without = { ...connection, notify: [{ ...target!, on: ['failure', 'stale'] as const }] };
    expect(await applySchedule(stack.temporal, without, stack.taskQueue)).toMatchObject({ watcher: 'none' });
    await deleteSchedule(stack.temporal, stack.connection);
  });

  it('asks Temporal for the longest time between two runs, also over a weekend', async () => {
    await started(
      `${notifyOf('slack')}    schedule: { cron: "0 2 * * 1-5", jitter: 0s }\n    retries: { giveUpAfter: 2h }\n`,
    );
    const connection = stack.settings.connections[0]!;
    await applySchedule(stack.temporal, connection, stack.taskQueue);
    try {
      await stack.export();
      await until(async () => (await reports()).length === 1, 'the report');
      const [report] = await reports();
      const { checkAt } = report as { checkAt: number };
      // The first millisecond when the checkpoint, which is what `status` judges, is too old.
      const pointer = await readPointer(stack.store, 'projects');
      const age = checkAt - Date.parse(pointer!.checkpoint.updatedSince);
      expect(age).toBe(3 * DAY_MS + 2 * HOUR_MS + 1);
      await stack.temporal.client.workflow.execute('watchWorkflow', {
        workflowId: `${stack.connection}-watch`,
        taskQueue: stack.taskQueue,
        args: [{ connection: stack.connection }],
      });
      // Nothing is wrong, so nothing is reported.
      expect(await reports()).toHaveLength(1);
    } finally {
      await deleteSchedule(stack.temporal, stack.connection);
    }
  });
});

describe('alerts over days, in the time-skipping server', () => {
  let env: TestWorkflowEnvironment;
  afterEach(async () => {
    await stack?.stop();
    await env?.teardown();
  });

  it('send one message for old data, a reminder each day, and one when all is well', async () => {
    env = await startTimeSkipping(inject('servers').testServer);
    stack = await startStack({
      simulator: { now: await env.currentTimeMs(), counts: { projects: 5 } },
      resources: '[projects]',
      yaml: `    notify: { url: "${targets.url('slack')}", format: slack, maxAge: 30h }\n`,
      temporalAddress: env.address,
    });
    await stack.startWorker();
    const client = new Client({ connection: env.connection });
    const night = async (name: string): Promise<void> => {
      stack.simulator.admin.setNow(await env.currentTimeMs());
      await client.workflow.execute('exportWorkflow', {
        workflowId: `${stack.connection}-${name}`,
        taskQueue: stack.taskQueue,
        args: [{ connection: stack.connection }],
      });
    };
    await night('first');
    await env.sleep('1 day');
    await night('second');
    await env.sleep('29 hours');
    expect(titles()).toEqual([]);
    // Later attempts are in the time that the server skips.
    targets.next.slack.push({ status: 404, body: 'no_service' });
    await env.sleep('3 days');
    await until(() => targets.delivered.length >= 3, 'old data and two reminders');
    expect(targets.refused).toHaveLength(1);
    expect(titles()[0]).toBe(`${stack.connection}: the data of projects are too old`);
    for (const one of titles().slice(1)) expect(one).toMatch(/^Reminder: /);
    expect(targets.delivered.length).toBeLessThan(5);
    await night('third');
    await until(() => titles().at(-1) === `${stack.connection}: all is well again`, 'the recovery');
  });
});
