import { CancellationScope, log } from '@temporalio/workflow';
import type { RunId } from '../../src/core/brands.js';
import {
  ANNOUNCE_WORKFLOW,
  type MirrorState,
  type PreparedRun,
  type PublishedHook,
} from '../../src/core/contract/index.js';
import { activity } from '../shared/activity.js';
import { failureDetail, toRunError } from '../shared/run-errors.js';
import type { Mirror } from './mirror-handle.js';

/**
 * Where the workflows of `onPublished` begin. A new mirror, or a newly configured workflow, begins after the run that the
 * current run is based. This is in the state before the run is published, so that the run gets its workflow even if its
 * result is lost.
 */
export function hookedToOf(
  { hookedTo }: Pick<MirrorState, 'hookedTo'>,
  { onPublished, base }: Pick<PreparedRun, 'onPublished' | 'base'>,
): MirrorState['hookedTo'] {
  return onPublished === null ? null : (hookedTo ?? base ?? 'beginning');
}

/**
 * Starts the user's workflow of `onPublished` for each run of the chain after the last one that it was started for. An
 * activity starts it, because a child workflow would put its result into the mirror's history. The start never fails the
 * run: the next published run starts the workflows that could not be started. The workflow id contains the run, and the
 * server rejects a second start, so each run has one workflow.
 *
 * @param hook `null`: the configuration names no workflow, and no target of `notify` is announced to
 * @param runId the run that was published
 * @returns warnings for the report
 */
export async function startOnPublished(
  hook: PublishedHook | null,
  runId: RunId,
  mirror: Mirror,
): Promise<readonly string[]> {
  const { connection, resource, hookedTo: after } = mirror.state;
  if (hook === null) {
    if (after !== null) mirror.change({ hookedTo: null });
    return [];
  }
  const start = activity('worktrack.followOnPublished', connection, 'background', {
    summary: 'start the workflow of onPublished',
  });
  const input = { connection, resource, runId, hook, after };
  try {
    const { hookedTo, warnings } = await CancellationScope.nonCancellable(() => start(input));
    mirror.change({ hookedTo });
    return warnings;
  } catch (error) {
    const { message } = toRunError(error);
    const { hookedTo } = failureDetail(error);
    if (hookedTo !== undefined) mirror.change({ hookedTo });
    log.warn('the run is published, but a workflow of onPublished was not started; the next run repeats it', {
      workflow: hook === 'announce' ? ANNOUNCE_WORKFLOW : hook.workflow,
      error: message,
    });
    const what = `${hookText(hook)} could not be started`;
    return [`onPublished: ${what}; the next published run starts it. ${message}`];
  }
}

function hookText(hook: PublishedHook): string {
  return hook === 'announce'
    ? 'the announcement'
    : `workflow ${hook.workflow} on task queue ${hook.taskQueue}`;
}
