import { Context } from '@temporalio/activity';
import type { Activities, RunRef } from '../src/core/contract/index.js';
import { createReportAlerts, createWatch } from './alerts/report-alerts.js';
import { createSendAlert } from './alerts/send-alert.js';
import { createPlanExport } from './export/plan-export.js';
import { createFollowTable } from './follow/follow-table.js';
import { createStartOnPublished } from './follow/start-on-published.js';
import { mergeParts } from './merge/merge-parts.js';
import { planMerge } from './merge/plan-merge.js';
import { publishRun } from './publish/publish-run.js';
import { createPurgeRecord } from './purge/purge-record.js';
import { readPages } from './read/read-pages.js';
import { wholeRun } from './run/whole-run.js';
import { confirmDeletes } from './settle/confirm-deletes.js';
import { findAbsentRecords } from './settle/find-absent.js';
import { temporalClock, withHeartbeat } from './shared/activity-context.js';
import type { ActivityDeps } from './shared/deps.js';
import { toFailure, withFailures } from './shared/failures.js';
import { LakeStaging } from './shared/lake-staging.js';
import { failureInLake } from './shared/run-failures.js';
import type { RunAt } from './shared/staging.js';
import { createDiscardRun } from './sweep/discard-run.js';
import { createSweep } from './sweep/sweep-resource.js';
import { createClaimRows } from './write-back/claim-rows.js';
import { createPlanWriteBack } from './write-back/plan-write-back.js';
import { createSendRows } from './write-back/send-rows.js';
import { createWriteResults } from './write-back/write-results.js';

export { logSubjectOf } from './shared/activity-context.js';
export type { ActivityDeps, OpenConnection } from './shared/deps.js';

/** Whether a phase sends its own heartbeats, with its position. */
type Beats = 'own heartbeats' | 'heartbeats';

/** All activities, by the names that workflows schedule them under. */
export function createActivities(deps: ActivityDeps): Activities {
  /** A phase of a run that is in the lake. */
  const inLake =
    <Input extends RunRef, Output>(
      name: keyof Activities,
      phase: (at: RunAt, input: Input) => Promise<Output>,
      beats: Beats,
    ) =>
    async (input: Input): Promise<Output> => {
      const clock = temporalClock();
      try {
        const connection = deps.connection(input.connection);
        const staging = new LakeStaging(connection.store, input, Context.current().info.attempt);
        const progress = { mergedRows: 0 };
        const at = { deps, connection, staging, clock, progress };
        if (beats === 'own heartbeats') return await phase(at, input);
        return await withHeartbeat(() => phase(at, input), progress);
      } catch (error) {
        throw await failureInLake({ deps, name, ref: input, clock }, toFailure(error));
      }
    };
  return {
    'worktrack.planExport': withFailures(createPlanExport(deps)),
    'worktrack.run': (input) => wholeRun(deps, input),
    'worktrack.read': inLake('worktrack.read', readPages, 'own heartbeats'),
    'worktrack.settle': inLake('worktrack.settle', findAbsentRecords, 'heartbeats'),
    'worktrack.settleById': inLake('worktrack.settleById', confirmDeletes, 'heartbeats'),
    'worktrack.mergePlan': inLake('worktrack.mergePlan', planMerge, 'heartbeats'),
    'worktrack.merge': inLake('worktrack.merge', mergeParts, 'heartbeats'),
    'worktrack.publish': inLake(
      'worktrack.publish',
      async (at, input) => (await publishRun(at, input)).run,
      'heartbeats',
    ),
    'worktrack.followTable': withFailures(createFollowTable(deps)),
    'worktrack.followOnPublished': withFailures(createStartOnPublished(deps)),
    'worktrack.sweep': withFailures(createSweep(deps)),
    'worktrack.sweepFailedRun': withFailures(createDiscardRun(deps)),
    'worktrack.purgeRecord': withFailures(createPurgeRecord(deps)),
    'worktrack.planWriteBack': withFailures(createPlanWriteBack(deps)),
    'worktrack.claimRows': withFailures(createClaimRows(deps)),
    'worktrack.sendRows': withFailures(createSendRows(deps)),
    'worktrack.writeResults': withFailures(createWriteResults(deps)),
    'worktrack.reportAlerts': withFailures(createReportAlerts(deps)),
    'worktrack.watch': withFailures(createWatch(deps)),
    'worktrack.notify': withFailures(createSendAlert(deps)),
  };
}
