import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEMO_KEY } from '../../../src/simulator/index.js';
import { startExport } from '../../../src/temporal/client/start.js';
import { holdAnswer } from '../../support/hold.js';
import { mirrorOf, mirrorStatus, requestRun } from '../../support/mirror-requests.js';
import { runRequest } from '../../support/run-request.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const TOKEN = 'Bearer hook-token-4711';

interface Notification {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly type: string | undefined;
  readonly body: Record<string, unknown>;
}

describe('notifications of runs', () => {
  let stack: Stack;
  let hook: Server;
  let url: string;
  const sent: Notification[] = [];
  /** Statuses of the first answers in order; later ones are 204. */
  const answers: number[] = [];

  beforeEach(async () => {
    sent.length = 0;
    answers.length = 0;
    process.env.HOOK_TOKEN = TOKEN;
    hook = createServer(async (request, response) => {
      const { url: path = '', headers } = request;
      const body = JSON.parse(await textOf(request)) as Record<string, unknown>;
      sent.push({ path, authorization: headers.authorization, type: headers['content-type'], body });
      response.writeHead(answers.shift() ?? 204).end();
    });
    await new Promise<void>((done) => hook.listen(0, '127.0.0.1', done));
    url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hooks/T0`;
  });
  afterEach(async () => {
    await stack?.stop();
    hook.close();
  });

  async function started(notify: string, resources = '[projects]'): Promise<void> {
    stack = await startStack({
      simulator: { awkward: false, counts: { projects: 3, tasks: 3, members: 2 } },
      resources,
      yaml: notify === '' ? '' : `    notify: ${notify}\n`,
    });
    await stack.startWorker();
  }

  const refuse = () =>
    stack.simulator.admin.faults.add({
      match: { resource: 'projects' },
      fault: { kind: 'status', status: 402, body: `{"message":"no plan for ${DEMO_KEY}"}` },
    });

  /** The events of all workflows: exports notify of their runs, and mirrors of other runs. */
  const allEvents = async () => {
    const events = [];
    for await (const { workflowId, runId } of stack.workflows()) {
      const history = await stack.temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
      events.push(...(history.events ?? []));
    }
    return events;
  };

  const notifications = async (): Promise<number> =>
    (await allEvents()).filter(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'worktrack.notify',
    ).length;

  it('report each failure and the first published run after it, once each and without secrets', async () => {
    await started(`{ url: "${url}", headers: { Authorization: { env: HOOK_TOKEN } } }`);
    await stack.export();
    const rule = refuse();
    const failed = [await stack.export(), await stack.export()];
    stack.simulator.admin.faults.remove(rule);
    const good = [await stack.export(), await stack.export()];
    await until(() => sent.length >= 3, 'all notifications are sent');
    expect(good.map(({ outcome }) => outcome)).toEqual(['published', 'published']);
    expect(sent.map(({ body }) => [body.event, body.runId])).toEqual([
      ['failure', failed[0]!.runs[0]!.runId],
      ['failure', failed[1]!.runs[0]!.runId],
      ['recovery', good[0]!.runs[0]!.runId],
    ]);
    const [first, , last] = sent;
    expect(first).toMatchObject({ path: '/hooks/T0', authorization: TOKEN, type: 'application/json' });
    expect(first!.body).toMatchObject({
      connection: stack.connection,
      resource: 'projects',
      outcome: 'refused',
      error: { type: 'Refused', message: expect.stringContaining('no plan for [redacted]') },
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect(last!.body).toMatchObject({ outcome: 'published', error: null });
    expect(JSON.stringify(sent.map(({ body }) => body))).not.toContain(DEMO_KEY);
    const history = JSON.stringify(await stack.history(stack.mirrorId('projects')));
    expect(history).not.toContain(Buffer.from(TOKEN).toString('base64'));
    expect(await notifications()).toBe(3);
  });

  it('of an export list all resources that failed or recovered, in one notification', async () => {
    await started(`{ url: "${url}" }`, '[projects, tasks, members]');
    const rules = ['projects', 'tasks'].map((resource) =>
      stack.simulator.admin.faults.add({ match: { resource }, fault: { kind: 'status', status: 402 } }),
    );
    const failed = await stack.export();
    expect(failed.outcome).toBe('refused');
    stack.simulator.admin.faults.remove(rules[0]!);
    await stack.export();
    stack.simulator.admin.faults.remove(rules[1]!);
    await stack.export();
    const events = sent.map(({ body }) => [
      body.event,
      body.resource,
      (body.resources as { resource: string; event: string }[]).map((one) => [one.resource, one.event]),
    ]);
    expect(events).toEqual([
      [
        'failure',
        null,
        [
          ['projects', 'failure'],
          ['tasks', 'failure'],
        ],
      ],
      [
        'failure',
        null,
        [
          ['projects', 'recovery'],
          ['tasks', 'failure'],
        ],
      ],
      ['recovery', 'tasks', [['tasks', 'recovery']]],
    ]);
    expect(failed.runs.map((run) => Object.keys(run))).not.toContainEqual(expect.arrayContaining(['event']));
  });

  it('are retried after an error, and sent only for the configured events', async () => {
    answers.push(503, 429);
    await started(`{ url: "${url}", on: [failure] }`);
    const rule = refuse();
    await stack.export();
    stack.simulator.admin.faults.remove(rule);
    await stack.export();
    await until(() => sent.length >= 3, 'the third attempt');
    expect(sent.map(({ body }) => body.event)).toEqual(['failure', 'failure', 'failure']);
    expect(new Set(sent.map(({ body }) => body.runId)).size).toBe(1);
    expect(await notifications()).toBe(1);
  });

  it('also report runs without an export, such as one by the update sync', async () => {
    await started(`{ url: { env: HOOK_URL } }`);
    process.env.HOOK_URL = url;
    await stack.export();
    refuse();
    expect((await requestRun(stack, 'projects')).outcome).toBe('refused');
    await until(() => sent.length === 1, 'the notification is sent');
  });

  it('are sent by the mirror if the export that shared a failed run was cancelled', async () => {
    await started(`{ url: "${url}" }`);
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
    await until(() => sent.length === 1, 'the notification is sent');
    expect(sent[0]!.body).toMatchObject({ event: 'failure', resource: 'projects' });
  });

  it('that cannot be sent do not fail a run, and leave no address in histories', async () => {
    answers.push(404);
    await started(`{ url: "${url}" }`);
    const rule = refuse();
    expect((await stack.export()).outcome).toBe('refused');
    await until(() => sent.length === 1, 'the first attempt was made');
    stack.simulator.admin.faults.remove(rule);
    expect((await stack.export()).outcome).toBe('published');
    await until(() => sent.length === 2, 'the recovery notification is sent');
    const events = await allEvents();
    const failure = events.find((event) =>
      event.activityTaskFailedEventAttributes?.failure?.message?.includes('404'),
    );
    expect(failure?.activityTaskFailedEventAttributes?.failure?.message).toMatch(
      /notify\.url returned status 404/,
    );
    expect(JSON.stringify(events)).not.toContain('/hooks/T0');
  });

  it('are not sent without configuration', async () => {
    await started('');
    const rule = refuse();
    await stack.export();
    stack.simulator.admin.faults.remove(rule);
    await stack.export();
    expect(await notifications()).toBe(0);
  });
});

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
