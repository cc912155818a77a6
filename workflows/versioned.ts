/**
 * The workflows for workers with worker deployment versioning: the same ones, each with what becomes of its runs under
 * way when a new build takes over. Only for such workers: the server refuses the tasks of a worker without versioning
 * that name a behaviour, and its workflows would not move.
 *
 * - PINNED: a run ends on the build that it began on, so its code may change freely; workers of the old build stay
 *   until the server calls their version drained. For workflows that end by themselves within hours.
 * - AUTO_UPGRADE: the next workflow task goes to the build that is current. For workflows that live for ever, which
 *   would hold their first build for ever. Their code must replay what older builds recorded: a change of what they do
 *   goes behind `patched`, and `worktrack replay` proves it before the upgrade.
 */
import { setWorkflowOptions } from '@temporalio/workflow';
import { purgeWorkflow, rollbackWorkflow } from './amend.js';
import { backfillWorkflow } from './backfill.js';
import { changeNoticeWorkflow } from './change-notice.js';
import { exportWorkflow } from './export.js';
import { resourceMirrorWorkflow } from './resource-mirror.js';
import { writeBackWorkflow } from './write-back.js';
import { writeBackLaneWorkflow } from './write-back-lane.js';

export * from './index.js';

// They ask mirrors and gather the answers: nothing that a new build brings is worth a switch in its middle.
setWorkflowOptions({ versioningBehavior: 'PINNED' }, exportWorkflow);
setWorkflowOptions({ versioningBehavior: 'PINNED' }, backfillWorkflow);
setWorkflowOptions({ versioningBehavior: 'PINNED' }, rollbackWorkflow);
setWorkflowOptions({ versioningBehavior: 'PINNED' }, purgeWorkflow);

// A large batch may take days and waits for others; it continues as new, and so must be able to move on.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, writeBackWorkflow);
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, writeBackLaneWorkflow);

// Notices may go on for as long as the service is busy; it continues as new, and so must be able to move on.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, changeNoticeWorkflow);

// Lives for ever. Where a pinned export starts it, it begins on the export's build and moves on by itself.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, resourceMirrorWorkflow);
