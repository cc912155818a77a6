import type { Activities, RunRef } from '../src/core/contract/index.js';
import { createReportAlerts } from './alerts/report-alerts.js';
import { createSendAlert } from './alerts/send-alert.js';
import { createWatch } from './alerts/watch.js';
import { createConfirmDeletes } from './deletes/confirm-deletes.js';
import { createFindAbsent } from './deletes/detect-deletes.js';
import { createPlanExport } from './export/plan-export.js';
import { createExtractPages } from './extract/extract-pages.js';
import { createMergeParts } from './merge/parts.js';
import { createPlanMerge } from './merge/plan.js';
import { createPrepareRun } from './prepare-run/prepare-run.js';
import { createFollowTable } from './publish/follow-table.js';
import { withPublishMetrics } from './publish/metrics.js';
import { createPublish } from './publish/publish.js';
import { createStartOnPublished } from './publish/start-on-published.js';
import { createPurgeRecord } from './purge/purge-record.js';
import type { ActivityDeps } from './shared/deps.js';
import { reportDisplacement } from './shared/displacement.js';
import { withFailures } from './shared/failures.js';
import { createShortRun } from './short-run/short-run.js';
import { createDiscardRun } from './sweep/discard-run.js';
import { createSweep } from './sweep/sweep.js';
import { createClaimRows } from './write-back/claim-rows.js';
import { createPlanWriteBack } from './write-back/plan-write-back.js';
import { createSendRows } from './write-back/send-rows.js';
import { createWriteResults } from './write-back/write-results.js';

export type { ActivityDeps, OpenConnection } from './shared/deps.js';

/** All activities, by the names under which workflows schedule them. */
export function createActivities(deps: ActivityDeps): Activities {
  const ofRun = <Input extends RunRef, Output>(activity: (input: Input) => Promise<Output>) =>
    reportDisplacement(deps, withFailures(activity));
  return {
    'worktrack.planExport': withFailures(createPlanExport(deps)),
    'worktrack.shortRun': ofRun(createShortRun(deps)),
    'worktrack.prepareRun': withFailures(createPrepareRun(deps)),
    'worktrack.extractPages': ofRun(createExtractPages(deps)),
    'worktrack.findAbsent': ofRun(createFindAbsent(deps)),
    'worktrack.confirmDeletes': ofRun(createConfirmDeletes(deps)),
    'worktrack.planMerge': ofRun(createPlanMerge(deps)),
    'worktrack.mergeParts': ofRun(createMergeParts(deps)),
    'worktrack.publish': ofRun(withPublishMetrics(deps, createPublish(deps))),
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
