import type { Activities, RunRef } from '../src/core/contract.js';
import { createBeginRun } from './begin/index.js';
import { createCleanUp } from './clean-up.js';
import { createConfirmGone, createFindAbsent } from './deletes.js';
import type { ActivityDeps } from './deps.js';
import { createDiscardRun } from './discard.js';
import { noticingWinner } from './displaced.js';
import { createExtractPages } from './extract/index.js';
import { withFailures } from './failures.js';
import { createMergeParts } from './merge/parts.js';
import { createPlanMerge } from './merge/plan.js';
import { createNotify } from './notify.js';
import { createPlanExport } from './plan-export.js';
import { createPublish } from './publish/index.js';
import { measured } from './publish/measured.js';
import { createPurgeRecord } from './purge/index.js';
import { createRollBack } from './rollback/index.js';
import { createReapply } from './rollback/reapply.js';
import { createPlanWriteBack } from './write-back/plan.js';
import { createWriteResults } from './write-back/results.js';
import { createSendRows } from './write-back/send.js';

export type { ActivityDeps, OpenConnection } from './deps.js';

/** All activities, by the names under which workflows ask for them. */
export function createActivities(deps: ActivityDeps): Activities {
  const ofRun = <Input extends RunRef, Output>(activity: (input: Input) => Promise<Output>) =>
    noticingWinner(deps, withFailures(activity));
  return {
    'worktrack.planExport': withFailures(createPlanExport(deps)),
    'worktrack.beginRun': withFailures(createBeginRun(deps)),
    'worktrack.extractPages': ofRun(createExtractPages(deps)),
    'worktrack.findAbsent': ofRun(createFindAbsent(deps)),
    'worktrack.confirmGone': ofRun(createConfirmGone(deps)),
    'worktrack.planMerge': ofRun(createPlanMerge(deps)),
    'worktrack.mergeParts': ofRun(createMergeParts(deps)),
    'worktrack.publish': ofRun(measured(deps, createPublish(deps))),
    'worktrack.cleanUp': withFailures(createCleanUp(deps)),
    'worktrack.discardRun': withFailures(createDiscardRun(deps)),
    'worktrack.reapply': withFailures(createReapply(deps)),
    'worktrack.rollBack': withFailures(createRollBack(deps)),
    'worktrack.purgeRecord': withFailures(createPurgeRecord(deps)),
    'worktrack.planWriteBack': withFailures(createPlanWriteBack(deps)),
    'worktrack.sendRows': withFailures(createSendRows(deps)),
    'worktrack.writeResults': withFailures(createWriteResults(deps)),
    'worktrack.notify': withFailures(createNotify(deps)),
  };
}
