import { Context } from '@temporalio/activity';
import type { Activities, RunRef } from '../src/core/contract/index.js';
import { createReportAlerts } from './alerts/report-alerts.js';
import { createSendAlert } from './alerts/send-alert.js';
import { createWatch } from './alerts/watch.js';
import { confirmDeletes } from './deletes/confirm-deletes.js';
import { findAbsentRecords } from './deletes/detect-deletes.js';
import { createPlanExport } from './export/plan-export.js';
import { extractPages } from './extract/extract-pages.js';
import { mergeParts } from './merge/parts.js';
import { planMerge } from './merge/plan.js';
import { createFollowTable } from './publish/follow-table.js';
import { recordPublished } from './publish/metrics.js';
import { publishRun } from './publish/publish.js';
import { createStartOnPublished } from './publish/start-on-published.js';
import { createPurgeRecord } from './purge/purge-record.js';
import { wholeRun } from './run/whole-run.js';
import { temporalClock, withHeartbeat } from './shared/activity-context.js';
import type { ActivityDeps } from './shared/deps.js';
import { reportDisplacement } from './shared/displacement.js';
import { withFailures } from './shared/failures.js';
import { LakeStaging } from './shared/lake-staging.js';
import type { RunAt } from './shared/staging.js';
import { createDiscardRun } from './sweep/discard-run.js';
import { createSweep } from './sweep/sweep.js';
import { createClaimRows } from './write-back/claim-rows.js';
import { createPlanWriteBack } from './write-back/plan-write-back.js';
import { createSendRows } from './write-back/send-rows.js';
import { createWriteResults } from './write-back/write-results.js';

export type { ActivityDeps, OpenConnection } from './shared/deps.js';

/** All activities, by the names that workflows schedule them under. */
export function createActivities(deps: ActivityDeps): Activities {
  const ofRun = <Input extends RunRef, Output>(activity: (input: Input) => Promise<Output>) =>
    reportDisplacement(deps, withFailures(activity));
  /** A phase of a run that is in the lake. */
  const inLake = <Input extends RunRef, Output>(phase: (at: RunAt, input: Input) => Promise<Output>) =>
    ofRun((input: Input) => {
      const connection = deps.connection(input.connection);
      const staging = new LakeStaging(connection.store, input, Context.current().info.attempt);
      return phase({ deps, connection, staging, clock: temporalClock() }, input);
    });
  /** One that saves no position. */
  const withBeat =
    <Input, Output>(phase: (at: RunAt, input: Input) => Promise<Output>) =>
    (at: RunAt, input: Input) =>
      withHeartbeat(() => phase(at, input));
  return {
    'worktrack.planExport': withFailures(createPlanExport(deps)),
    'worktrack.run': ofRun((input) => wholeRun(deps, input)),
    'worktrack.extractPages': inLake(extractPages),
    'worktrack.findAbsent': inLake(withBeat(findAbsentRecords)),
    'worktrack.confirmDeletes': inLake(withBeat(confirmDeletes)),
    'worktrack.planMerge': inLake(withBeat(planMerge)),
    'worktrack.mergeParts': inLake(withBeat(mergeParts)),
    'worktrack.publish': inLake(
      withBeat(async (at, input) => {
        const { run } = await publishRun(at, input);
        recordPublished(deps, input, run);
        return run;
      }),
    ),
    'worktrack.followTable': withFailures(createFollowTable(deps)),
    'worktrack.sweep': withFailures(createSweep(deps)),
    'worktrack.discardRun': withFailures(createDiscardRun(deps)),
    'worktrack.purgeRecord': withFailures(createPurgeRecord(deps)),
    'worktrack.planWriteBack': withFailures(createPlanWriteBack(deps)),
    'worktrack.claimRows': withFailures(createClaimRows(deps)),
    'worktrack.sendRows': withFailures(createSendRows(deps)),
    'worktrack.writeResults': withFailures(createWriteResults(deps)),
    'worktrack.startOnPublished': withFailures(createStartOnPublished(deps)),
    'worktrack.reportAlerts': withFailures(createReportAlerts(deps)),
    'worktrack.watch': withFailures(createWatch(deps)),
    'worktrack.notify': withFailures(createSendAlert(deps)),
  };
}
