import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  log,
  proxyActivities,
} from '@temporalio/workflow';
import type {
  Activities,
  MirrorState,
  OnPublishedTarget,
  PublishedReport,
  UnstartedRuns,
} from '../../src/core/contract/index.js';
import { toRunError } from '../shared/failures.js';
import { priorityOf } from '../shared/priority.js';

/** Attempts are limited, and not the time: with many connections, it can take long until a worker is free. */
const START = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '1 day',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds', maximumAttempts: 20 },
  summary: 'start the workflow of onPublished',
} as const;

/** Runs whose workflow waits for a start; older ones are dropped with a warning in the log. */
const MAX_UNSTARTED = 20;

/** Reads and changes the state of the mirror. */
interface StateAccess {
  readonly state: () => MirrorState;
  readonly onState: (changes: Partial<MirrorState>) => void;
}

/**
 * Starts the user's workflow of `onPublished` for a published run. An activity starts it, because a child workflow would
 * put its result into the mirror's history. The start never fails the run: a run whose workflow could not be started
 * stays in the state, and the next published run starts it. The workflow id contains the run, and the server rejects a
 * second start, so each run has one workflow.
 *
 * @param target `null`: the configuration names no workflow
 * @returns warnings for the report
 */
export async function startOnPublished(
  target: OnPublishedTarget | null,
  report: PublishedReport,
  { state, onState }: StateAccess,
): Promise<readonly string[]> {
  const { connection, resource, unstarted } = state();
  if (target === null) {
    if (unstarted.length > 0) onState({ unstarted: [] });
    return [];
  }
  const reports = [...unstarted, report];
  const kept = reports.slice(-MAX_UNSTARTED);
  if (kept.length < reports.length)
    log.warn('too many runs wait for the workflow of onPublished; the oldest one was dropped', {
      runId: reports[0]?.runId,
    });
  onState({ unstarted: kept });
  const { 'worktrack.startOnPublished': start } = proxyActivities<Activities>({
    ...START,
    priority: priorityOf(connection, 'background'),
  });
  try {
    await CancellationScope.nonCancellable(() => start({ connection, resource, ...target, reports: kept }));
    onState({ unstarted: [] });
    return [];
  } catch (error) {
    const { message } = toRunError(error);
    const failed = unstartedRuns(error);
    if (failed !== null) onState({ unstarted: kept.filter(({ runId }) => failed.includes(runId)) });
    log.warn('the run is published, but a workflow of onPublished was not started; the next run repeats it', {
      workflow: target.workflow,
      error: message,
    });
    const what = `workflow ${target.workflow} on task queue ${target.taskQueue} could not be started`;
    return [`onPublished: ${what}; the next published run starts it. ${message}`];
  }
}

/** The runs without a workflow; `null`: the failure does not say, so it can be any of them. */
function unstartedRuns(error: unknown): readonly string[] | null {
  const failure = error instanceof ActivityFailure ? error.cause : undefined;
  const [detail] = (failure instanceof ApplicationFailure ? (failure.details ?? []) : []) as UnstartedRuns[];
  return detail?.unstarted ?? null;
}
