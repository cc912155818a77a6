import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { afterEach, describe, expect, it } from 'vitest';
import type { OnPublishedTarget, RunReport } from '../../../src/core/contract/index.js';
import { onPublishedWorkflowId } from '../../../src/core/contract/index.js';
import type { Settings } from '../../../src/core/settings.js';
import { mirrorOf, mirrorStatus, placeOf, reconcile, resetMirror } from '../../support/mirror-requests.js';
import { startWorkerProcess } from '../../support/processes.js';
import { longOnly } from '../../support/seeds.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const ACTIVITY = 'worktrack.followOnPublished';
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

  /** The stack's settings with another `onPublished`. */
  function configured(onPublished: OnPublishedTarget): Settings {
    const [connection] = stack.settings.connections;
    return { ...stack.settings, connections: [{ ...connection!, onPublished }] };
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

  /** Rejects the starts for the given number of runs. */
  function rejecting(runs: number): ActivityInterceptorsFactory {
    let left = runs;
    return ({ info }) => ({
      inbound: {
        execute: (input, next) => {
          if (info.activityType !== ACTIVITY || left === 0) return next(input);
          left--;
          throw ApplicationFailure.nonRetryable('the namespace is full');
        },
      },
    });
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

  it('starts once if the answer to its start is lost, even if it has ended before the next attempt', async () => {
    await started('[projects]');
    const ended: string[] = [];
    const failAndEnd: ActivityInterceptorsFactory = ({ info }) => ({
      inbound: {
        async execute(input, next) {
          const result = await next(input);
          if (info.activityType !== ACTIVITY || info.attempt > 2) return result;
          const { resource, runId } = input.args[0] as Pick<RunReport, 'resource' | 'runId'>;
          if (info.attempt === 2) {
            const id = onPublishedWorkflowId(stack.connection, resource, runId!);
            await handle(id).terminate('ended');
            ended.push(id);
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

  // The test above: the start is repeated after the workflow was started.
  longOnly('starts once if the worker is killed while it is being started', async () => {
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

  it('the workflow of onPublished that cannot be started in three runs does not undo the runs, which warn; the next run starts all, each once', async () => {
    await started('[projects]');
    await startWith(rejecting(3));
    const nights: RunReport[] = [];
    for (let night = 0; night < 3; night++) {
      const { outcome, runs } = await stack.export();
      expect(outcome).toBe('published');
      expect(runs[0]!.warnings).toEqual([
        expect.stringMatching(
          /^onPublished: workflow loadWarehouse on task queue .* could not be started; the next/,
        ),
      ]);
      nights.push(runs[0]!);
    }
    for (let night = 3; night < 5; night++) {
      const { runs } = await stack.export();
      expect(runs[0]!.warnings).toEqual([]);
      nights.push(runs[0]!);
    }
    for (const run of nights) {
      const { events } = await stack.history(idOf(run));
      const input = events![0]!.workflowExecutionStartedEventAttributes!.input!.payloads![0]!.data!;
      const { report } = JSON.parse(Buffer.from(input).toString()) as { report: RunReport };
      const { runId, rows, counts, snapshot } = run;
      expect(report).toMatchObject({ runId, rows, counts, snapshot });
    }
    await executions(5);
  });

  it('starts for a run whose result was lost, once the next run is published', async () => {
    await started('[projects]');
    await startWith(({ info }) => ({
      inbound: {
        execute: (input, next) => {
          const [{ after }] = input.args as [{ after?: string }];
          if (info.activityType === ACTIVITY && info.attempt === 1 && after === lostAfter)
            throw ApplicationFailure.nonRetryable('the mirror is reset before it starts the workflow');
          return next(input);
        },
      },
    }));
    let lostAfter: string | undefined = 'none';
    const first = (await stack.export()).runs[0]!;
    const place = await placeOf(stack, 'projects');
    lostAfter = first.runId!;
    const lost = (await stack.export()).runs[0]!;
    lostAfter = undefined;
    await resetMirror(stack, 'projects', place);
    expect((await mirrorStatus(stack, 'projects')).published?.runId).toBe(first.runId);
    const last = (await stack.export()).runs[0]!;
    expect(last.warnings).toEqual([]);
    for (const run of [first, lost, last]) await handle(idOf(run)).describe();
    await executions(3);
  });

  it('the workflow of onPublished that the server can never start is skipped, with a warning that names the run', async () => {
    await started('[projects]');
    await stack.startWorker(configured({ workflow: 'x'.repeat(2000), taskQueue: 'warehouse' }));
    for (let night = 0; night < 2; night++) {
      const { runs } = await stack.export();
      expect(runs[0]!.warnings).toEqual([
        expect.stringContaining(`the workflow for run ${runs[0]!.runId} can never be started`),
      ]);
    }
  });

  it('begins with the next run if it is newly configured', async () => {
    await started('[projects]', '');
    const plain = await stack.startWorker();
    await stack.export();
    await stack.export();
    await plain.stop();
    await stack.startWorker(
      configured({ workflow: 'loadWarehouse', taskQueue: 'warehouse-without-workers' }),
    );
    const { runs } = await stack.export();
    await handle(idOf(runs[0]!)).describe();
    await executions(1);
  });

  it('starts after a run without an export and a rollback, and neither after a failed run nor after a purge', async () => {
    await started('[projects]');
    await startWith(losingAnswer());
    const first = (await stack.export()).runs[0]!;
    const second = await reconcile(stack, 'projects');
    const rule = stack.simulator.admin.faults.add({
      match: { resource: 'projects' },
      fault: { kind: 'status', status: 403 },
    });
    expect((await stack.export()).outcome).toBe('refused');
    stack.simulator.admin.faults.remove(rule);
    const [project] = stack.simulator.admin
      .records('projects')
      .map((text) => JSON.parse(text) as { id: string });
    const to = first.runId!;
    const mirror = mirrorOf(stack, 'projects');
    await mirror.signal('requestRun', { kind: 'rollback', requestId: 'back', replyTo: null, to });
    await mirror.signal('requestRun', {
      kind: 'purge',
      requestId: 'gone',
      replyTo: null,
      key: [project!.id],
    });
    const answerOf = (id: string) => mirror.query<RunReport | null, [string]>('answer', id);
    await until(async () => (await answerOf('gone')) !== null, 'it is rolled back and purged');
    const back = (await answerOf('back'))!;
    expect(back.warnings).toEqual([]);
    for (const run of [first, second, back]) await handle(idOf(run)).describe();
    const last = (await stack.export()).runs[0]!;
    await handle(idOf(last)).describe();
    await executions(4);
    const { events } = await stack.history(idOf(back));
    const input = events![0]!.workflowExecutionStartedEventAttributes!.input!.payloads![0]!.data!;
    expect(JSON.parse(Buffer.from(input).toString())).toMatchObject({ report: { rolledBackTo: to } });
  });

  it('does not start without configuration', async () => {
    await started('[projects]', '');
    await stack.startWorker();
    await stack.export();
    const { events } = await stack.history(stack.mirrorId('projects'));
    expect(JSON.stringify(events)).not.toContain(ACTIVITY);
  });
});
