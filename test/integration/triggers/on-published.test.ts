import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { afterEach, describe, expect, it } from 'vitest';
import type { MirrorState, RunReport } from '../../../src/core/contract/index.js';
import { onPublishedWorkflowId, toPublishedReport } from '../../../src/core/contract/index.js';
import { mirrorOf, mirrorStatus, reconcile } from '../../support/mirror-requests.js';
import { startWorkerProcess } from '../../support/processes.js';
import { runRequest } from '../../support/run-request.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const ACTIVITY = 'worktrack.startOnPublished';
/** No worker polls this queue: the workflows start, and wait for one. */
const TARGET = 'onPublished: { workflow: loadWarehouse, taskQueue: warehouse-without-workers }';

describe('the workflow of onPublished', () => {
  let stack: Stack;
  afterEach(async () => {
    for (const { workflowId } of await hooks())
      await handle(workflowId)
        .terminate('end of the test')
        .catch(() => {});
    await stack?.stop();
  });

  async function started(resources = '[projects, tasks]', target = TARGET): Promise<void> {
    stack = await startStack({
      simulator: { awkward: false, counts: { projects: 3, tasks: 4 } },
      resources,
      yaml: target === '' ? '' : `    ${target}\n`,
    });
  }

  const handle = (workflowId: string) => stack.temporal.client.workflow.getHandle(workflowId);
  const idOf = ({ resource, runId }: RunReport): string =>
    onPublishedWorkflowId(stack.connection, resource, runId!);

  async function hooks(): Promise<{ readonly workflowId: string; readonly runId: string }[]> {
    const found: { workflowId: string; runId: string }[] = [];
    const query = `WorkflowId STARTS_WITH 'worktrack/${stack.connection}/on-published/'`;
    for await (const { workflowId, runId } of stack.temporal.client.workflow.list({ query }))
      found.push({ workflowId, runId });
    return found;
  }

  /** Waits until the server's list, which is updated later, has as many executions. */
  const executions = (count: number) =>
    until(async () => (await hooks()).length === count, `${count} workflows are listed`);

  /** Loses the answer of the first start. */
  function losingAnswer(): ActivityInterceptorsFactory {
    return ({ info }) => ({
      inbound: {
        async execute(input, next) {
          const result = await next(input);
          if (info.activityType === ACTIVITY && info.attempt === 1) throw new Error('the answer was lost');
          return result;
        },
      },
    });
  }

  /** Runs a mirror in whose state the workflows of earlier runs wait for a start. */
  async function runAfterUnstarted(earlier: readonly string[]): Promise<RunReport> {
    const { runs } = await stack.export();
    await until(async () => (await mirrorStatus(stack, 'projects')).active === null, 'the mirror rests');
    await handle(stack.mirrorId('projects')).terminate('to start it with a state');
    const report = toPublishedReport(runs[0]!)!;
    const state: Partial<MirrorState> = {
      ...{ connection: stack.connection, resource: 'projects' },
      waiting: [runRequest()],
      unstarted: earlier.map((runId) => ({ ...report, runId })),
    };
    await stack.temporal.client.workflow.start('resourceMirrorWorkflow', {
      workflowId: stack.mirrorId('projects'),
      taskQueue: stack.taskQueue,
      args: [state],
    });
    let last: RunReport | null = null;
    await until(async () => {
      ({ lastRun: last } = await mirrorStatus(stack, 'projects'));
      return last !== null;
    }, 'the run has ended');
    return last!;
  }

  const startWith = (interceptor: ActivityInterceptorsFactory) =>
    stack.startWorker(undefined, { worker: { interceptors: { activity: [interceptor] } } });

  it('starts once for each published run, with its report, on the given task queue', async () => {
    await started();
    await stack.startWorker();
    const { runs } = await stack.export();
    for (const run of runs) {
      const { type, taskQueue, status, memo } = await handle(idOf(run)).describe();
      expect({ type, taskQueue, status: status.name }).toEqual({
        type: 'loadWarehouse',
        taskQueue: 'warehouse-without-workers',
        status: 'RUNNING',
      });
      expect(memo).toMatchObject({ resource: run.resource, runId: run.runId });
      const { events } = await stack.history(idOf(run));
      const input = events![0]!.workflowExecutionStartedEventAttributes!.input!.payloads![0]!.data!;
      const { error: _, ...report } = run;
      expect(JSON.parse(Buffer.from(input).toString())).toEqual({ connection: stack.connection, report });
    }
    expect((await stack.export()).outcome).toBe('published');
    await executions(4);
  });

  it('starts once if the answer to its start is lost, also if it has ended before the next attempt', async () => {
    await started('[projects]');
    const ended: string[] = [];
    const failAndEnd: ActivityInterceptorsFactory = ({ info }) => ({
      inbound: {
        async execute(input, next) {
          const result = await next(input);
          if (info.activityType !== ACTIVITY || info.attempt > 2) return result;
          const { reports } = input.args[0] as { readonly reports: readonly RunReport[] };
          if (info.attempt === 2) {
            await handle(idOf(reports[0]!)).terminate('ended');
            ended.push(idOf(reports[0]!));
          }
          throw new Error('the answer was lost');
        },
      },
    });
    await startWith(failAndEnd);
    const { runs } = await stack.export();
    expect(runs[0]!.warnings).toEqual([]);
    expect(ended).toEqual([idOf(runs[0]!)]);
    expect((await handle(idOf(runs[0]!)).describe()).status.name).toBe('TERMINATED');
    await executions(1);
  });

  it('starts once if the worker is killed while it is being started', async () => {
    await started('[projects]');
    const worker = await startWorkerProcess(stack);
    const going = stack.export();
    await until(async () => {
      const { events } = await stack.history(stack.mirrorId('projects')).catch(() => ({ events: [] }));
      return (events ?? []).some(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === ACTIVITY,
      );
    }, 'the start is scheduled');
    worker.signal('SIGKILL');
    await stack.startWorker();
    const { outcome, runs } = await going;
    expect(outcome).toBe('published');
    await handle(idOf(runs[0]!)).describe();
    await executions(1);
  });

  it('that cannot be started does not undo the run, which warns; the next published run starts both', async () => {
    await started('[projects]');
    const rejected: ActivityInterceptorsFactory = ({ info }) => ({
      inbound: {
        execute: (input, next) => {
          if (info.activityType !== ACTIVITY) return next(input);
          const { reports } = input.args[0] as { readonly reports: readonly RunReport[] };
          if (reports.length > 1) return next(input);
          throw ApplicationFailure.nonRetryable('the namespace is full');
        },
      },
    });
    await startWith(rejected);
    const first = await stack.export();
    expect(first.outcome).toBe('published');
    expect(first.runs[0]!.warnings).toEqual([
      expect.stringMatching(
        /^onPublished: workflow loadWarehouse on task queue .* could not be started; the next/,
      ),
    ]);
    const second = await stack.export();
    expect(second.runs[0]!.warnings).toEqual([]);
    for (const { runs } of [first, second]) await handle(idOf(runs[0]!)).describe();
    await executions(2);
  });

  it('that could not be started is carried into the next history of the mirror', async () => {
    await started('[projects]');
    await stack.startWorker();
    const old = '20260101T000000Z-0000000a';
    await runAfterUnstarted([old]);
    await handle(onPublishedWorkflowId(stack.connection, 'projects', old)).describe();
    await executions(3);
  });

  it('that can never be started does not stop those of later runs, and each of these starts once', async () => {
    await started('[projects]');
    await stack.startWorker();
    const possible = '20260101T000000Z-0000000a';
    // The server rejects so long an id.
    const last = await runAfterUnstarted(['x'.repeat(2_000), possible]);
    expect(last.warnings).toEqual([expect.stringContaining('could not be started')]);
    for (const runId of [possible, last.runId!])
      await handle(onPublishedWorkflowId(stack.connection, 'projects', runId)).describe();
    await stack.export();
    const { events } = await stack.history(stack.mirrorId('projects'));
    const starts = events!.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.activityType?.name === ACTIVITY ? [scheduled.input!.payloads![0]!.data!] : [],
    );
    const reports = starts.map((data) => JSON.parse(Buffer.from(data).toString()).reports.length);
    expect(reports).toEqual([3, 2]);
  });

  it('also starts after a run without an export, and neither after a failed run nor after a rollback', async () => {
    await started('[projects]');
    await startWith(losingAnswer());
    const first = await stack.export();
    const second = await reconcile(stack, 'projects');
    const rule = stack.simulator.admin.faults.add({
      match: { resource: 'projects' },
      fault: { kind: 'status', status: 403 },
    });
    expect((await stack.export()).outcome).toBe('refused');
    stack.simulator.admin.faults.remove(rule);
    const to = first.runs[0]!.runId!;
    await mirrorOf(stack, 'projects').signal('requestRun', {
      kind: 'rollback',
      requestId: 'back',
      replyTo: null,
      to,
    });
    await until(
      async () => (await mirrorStatus(stack, 'projects')).published?.runId === to,
      'it is rolled back',
    );
    await handle(idOf(second)).describe();
    await executions(2);
  });

  it('does not start without configuration', async () => {
    await started('[projects]', '');
    await stack.startWorker();
    await stack.export();
    const { events } = await stack.history(stack.mirrorId('projects'));
    expect(JSON.stringify(events)).not.toContain(ACTIVITY);
  });
});
