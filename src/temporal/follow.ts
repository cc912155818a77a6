import type { ExportProgress, ExportResult } from '../core/contract.js';
import type { TemporalClient } from './connect.js';
import { exportResultOf } from './export-result.js';
import { type ExportView, type ResourceView, reportedView, waitingView } from './export-view.js';
import { ask, askProgress, type FollowWorkflowOptions, followWorkflow, resultOf } from './follow-workflow.js';
import { viewMirror } from './mirror-view.js';

export interface FollowOptions extends FollowWorkflowOptions<ExportView> {
  /** The resources that are expected, for the time before a worker has said so. */
  readonly resources?: readonly string[] | undefined;
}

/**
 * Waits for the end of an export and tells where it stands meanwhile. The export does not depend on being followed:
 * aborting `signal` leaves it running.
 *
 * @returns the result, of a failed or cancelled export too
 * @throws OutOfReachError when Temporal does not answer for `timeoutMs`; the reason of `signal`; WorkflowNotFoundError
 */
export function followExport(
  temporal: TemporalClient,
  workflowId: string,
  options: FollowOptions = {},
): Promise<ExportResult> {
  const resources = (options.resources ?? []).map(waitingView);
  const first: ExportView = { workflowId, resources, worker: 'unknown', taskQueue: null };
  return followWorkflow(
    temporal,
    first,
    {
      look: (before) => look(temporal, before),
      async end(last) {
        const result = await resultOf(temporal, workflowId, (error) => exportResultOf(error, last.resources));
        options.onView?.({ ...last, resources: reported(result, last.resources) });
        return result;
      },
    },
    options,
  );
}

function reported({ runs }: ExportResult, before: readonly ResourceView[]): ResourceView[] {
  return runs.map((run) =>
    reportedView(
      run,
      before.find((one) => one.resource === run.resource),
    ),
  );
}

async function look(temporal: TemporalClient, before: ExportView): Promise<ExportView | null> {
  const progress = await askProgress<ExportProgress>(temporal, before.workflowId);
  if (progress === null || progress.runs.length === 0) return progress && before;
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
}
