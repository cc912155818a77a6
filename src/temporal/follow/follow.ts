import type { ExportProgress, ExportResult } from '../../core/contract/index.js';
import type { TemporalClient } from '../client/connect.js';
import { awaitResult, withCallTimeout } from './await-result.js';
import { exportResultOf } from './export-result.js';
import { type ExportView, type ResourceView, reportedView, waitingView } from './export-view.js';
import { type FollowWorkflowOptions, followWorkflow, queryProgress } from './follow-workflow.js';
import { viewMirror } from './mirror-view.js';

export interface FollowOptions extends FollowWorkflowOptions<ExportView> {
  /** The expected resources, shown until a worker has answered, and reported if none answers. */
  readonly resources?: readonly string[] | undefined;
}

/**
 * Waits for the end of an export and reports its progress. Aborting `signal` stops only the following; the export
 * continues.
 *
 * @returns the result, also of a failed or cancelled export
 * @throws OutOfReachError if Temporal does not answer for `timeoutMs`; the reason of `signal`; WorkflowNotFoundError
 * @example
 * const onView = ({ resources }: ExportView) => console.error(resources.map(({ rows }) => rows));
 * const { outcome, runs } = await followExport(temporal, workflowId, { onView });
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
      refresh: (before) => refresh(temporal, before),
      async end(last) {
        const result = await awaitResult(temporal, workflowId, options, async (failure) => {
          const ended = options.onView === undefined ? await refresh(temporal, last) : last;
          return exportResultOf(failure, (ended ?? last).resources);
        });
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

async function refresh(temporal: TemporalClient, before: ExportView): Promise<ExportView | null> {
  const progress = await queryProgress<ExportProgress>(temporal, before.workflowId);
  if (progress === null || progress.runs.length === 0) return progress && before;
  const resources = await Promise.all(
    progress.runs.map(async ({ resource, report }) => {
      const last = before.resources.find((one) => one.resource === resource);
      if (report !== null) return reportedView(report, last);
      const view = await withCallTimeout(temporal, () =>
        viewMirror(temporal, progress.connection, resource),
      ).catch(() => last ?? waitingView(resource));
      // A run that was in progress has ended, and its report is on its way.
      return view.stage === 'waiting' ? (last ?? view) : view;
    }),
  );
  return { ...before, resources };
}
