import { setTimeout as delay } from 'node:timers/promises';
import type { ExportProgress, ExportResult } from '../core/contract.js';
import type { TemporalClient } from './connect.js';
import { exportResultOf } from './export-result.js';
import { type ExportView, type ResourceView, reportedView, waitingView } from './export-view.js';
import { grpcMessage, isUnreachable } from './grpc.js';
import { viewMirror } from './mirror-view.js';
import { Patience, type ReachOptions } from './reach.js';
import { hasWorker } from './task-queue.js';

export interface FollowOptions extends ReachOptions {
  /** Between two looks, in milliseconds. Default: 500. */
  readonly everyMs?: number | undefined;
  /** Hears where the export stands, at every look. */
  readonly onView?: ((view: ExportView) => void) | undefined;
  /** The resources that are expected, for the time before a worker has said so. */
  readonly resources?: readonly string[] | undefined;
}

const ASK_MS = 3_000;
/** A worker that has not answered a query for so long does not work. */
const SILENT_MS = 10_000;

/**
 * Waits for the end of an export and tells where it stands meanwhile. The export does not depend on being followed:
 * aborting `signal` leaves it running.
 *
 * @returns the result, of a failed or cancelled export too
 * @throws OutOfReachError when Temporal does not answer for `timeoutMs`; the reason of `signal`; WorkflowNotFoundError
 */
export async function followExport(
  temporal: TemporalClient,
  workflowId: string,
  options: FollowOptions = {},
): Promise<ExportResult> {
  const handle = temporal.client.workflow.getHandle(workflowId);
  const patience = new Patience(`Temporal at ${temporal.address}`, options);
  const resources = (options.resources ?? []).map(waitingView);
  let view: ExportView = { workflowId, resources, worker: 'unknown', taskQueue: null };
  let answeredAt = performance.now();
  for (;;) {
    options.signal?.throwIfAborted();
    try {
      const { status, taskQueue } = await ask(temporal, () => handle.describe());
      patience.answered();
      view = { ...view, taskQueue };
      if (status.name !== 'RUNNING') {
        const result = await resultOf(temporal, workflowId, view.resources);
        options.onView?.({ ...view, resources: reported(result, view.resources) });
        return result;
      }
      const looked = await look(temporal, view);
      if (looked !== null) {
        view = { ...looked, worker: 'present' };
        answeredAt = performance.now();
      } else {
        const silent = performance.now() - answeredAt > SILENT_MS;
        const absent = silent || !(await ask(temporal, () => hasWorker(temporal, taskQueue)));
        view = { ...view, worker: absent ? 'absent' : view.worker };
      }
      options.onView?.(view);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      patience.failed(grpcMessage(error));
    }
    await delay(options.everyMs ?? 500, undefined, { signal: options.signal });
  }
}

async function resultOf(
  temporal: TemporalClient,
  workflowId: string,
  views: readonly ResourceView[],
): Promise<ExportResult> {
  try {
    return (await ask(temporal, () =>
      temporal.client.workflow.getHandle(workflowId).result(),
    )) as ExportResult;
  } catch (error) {
    if (isUnreachable(error)) throw error;
    return exportResultOf(error, views);
  }
}

function reported({ runs }: ExportResult, before: readonly ResourceView[]): ResourceView[] {
  return runs.map((run) =>
    reportedView(
      run,
      before.find((one) => one.resource === run.resource),
    ),
  );
}

/** Where everything stands now; `null` when no worker answers. */
async function look(temporal: TemporalClient, before: ExportView): Promise<ExportView | null> {
  const handle = temporal.client.workflow.getHandle(before.workflowId);
  try {
    const progress = await ask(temporal, () => handle.query<ExportProgress>('progress'));
    if (progress.runs.length === 0) return before;
    const resources = await Promise.all(
      progress.runs.map(async ({ resource, report }) => {
        const last = before.resources.find((one) => one.resource === resource);
        if (report !== null) return reportedView(report, last);
        return ask(temporal, () => viewMirror(temporal, progress.connection, resource)).catch(
          () => last ?? waitingView(resource),
        );
      }),
    );
    return { ...before, resources };
  } catch {
    // Whether it is the worker or the server that is silent shows at the next question to the server.
    return null;
  }
}

/** Bounds a call to the server: a query waits for a worker otherwise. */
function ask<T>(temporal: TemporalClient, call: () => Promise<T>): Promise<T> {
  return temporal.client.connection.withDeadline(Date.now() + ASK_MS, call);
}
