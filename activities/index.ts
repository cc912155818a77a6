import type { Activities } from '../src/core/contract.js';
import { createBeginRun } from './begin-run.js';
import { createCleanUp } from './clean-up.js';
import { createConfirmGone, createFindAbsent } from './deletes.js';
import type { ActivityDeps } from './deps.js';
import { createExtractPages } from './extract/index.js';
import { withFailures } from './failures.js';
import { createMergeParts } from './merge/parts.js';
import { createPlanMerge } from './merge/plan.js';
import { createPlanExport } from './plan-export.js';
import { createPublish } from './publish/index.js';
import { createPlanWriteBack } from './write-back/plan.js';
import { createWriteResults } from './write-back/results.js';
import { createSendRows } from './write-back/send.js';

export type { ActivityDeps, OpenConnection } from './deps.js';

/** All activities, by the names under which workflows ask for them. */
export function createActivities(deps: ActivityDeps): Activities {
  return {
    'worktrack.planExport': withFailures(createPlanExport(deps)),
    'worktrack.beginRun': withFailures(createBeginRun(deps)),
    'worktrack.extractPages': withFailures(createExtractPages(deps)),
    'worktrack.findAbsent': withFailures(createFindAbsent(deps)),
    'worktrack.confirmGone': withFailures(createConfirmGone(deps)),
    'worktrack.planMerge': withFailures(createPlanMerge(deps)),
    'worktrack.mergeParts': withFailures(createMergeParts(deps)),
    'worktrack.publish': withFailures(createPublish(deps)),
    'worktrack.cleanUp': withFailures(createCleanUp(deps)),
    'worktrack.planWriteBack': withFailures(createPlanWriteBack(deps)),
    'worktrack.sendRows': withFailures(createSendRows(deps)),
    'worktrack.writeResults': withFailures(createWriteResults(deps)),
  };
}
