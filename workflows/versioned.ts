/**
 * The workflows for workers with worker deployment versioning. They are the same workflows, each with a versioning
 * behaviour: what happens to its open executions when a new build becomes current. Use this file only with versioning:
 * the server rejects a task completion that names a behaviour from an unversioned worker.
 *
 * - PINNED: an execution stays on the build that started it, so its code may change freely. Workers of the old build must
 *   run until the server reports their version as drained. For workflows that complete within hours.
 * - AUTO_UPGRADE: the next workflow task goes to the current build. For workflows that run forever, which would otherwise
 *   keep their first build in use forever. Their code must replay the histories of older builds. A change of behaviour
 *   goes behind `patched`, and `worktrack replay` checks it before the upgrade.
 */
import { setWorkflowOptions } from '@temporalio/workflow';
import { alertsWorkflow, watchWorkflow } from './alerts/alerts-workflows.js';
import {
  backfillWorkflow,
  exportWorkflow,
  purgeWorkflow,
  rollbackWorkflow,
} from './export/export-workflows.js';
import { resourceMirrorWorkflow } from './mirror/resource-mirror.js';
import { changeNoticeWorkflow } from './notices/change-notice.js';
import { workerConfigurationWorkflow } from './worker-configuration.js';
import { writeBackLockWorkflow } from './write-back/lock.js';
import { writeBackWorkflow } from './write-back/write-back-workflow.js';

export * from './index.js';

// These send requests to mirrors and collect the reports. A switch to a new build midway would gain nothing.
setWorkflowOptions({ versioningBehavior: 'PINNED' }, exportWorkflow);
setWorkflowOptions({ versioningBehavior: 'PINNED' }, backfillWorkflow);
setWorkflowOptions({ versioningBehavior: 'PINNED' }, rollbackWorkflow);
setWorkflowOptions({ versioningBehavior: 'PINNED' }, purgeWorkflow);

// A large batch may take days and wait for other batches. It continues as new, so it must be able to change builds.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, writeBackWorkflow);
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, writeBackLockWorkflow);

// Notices arrive as long as the service is in use. The workflow continues as new, so it must be able to change builds.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, changeNoticeWorkflow);

// Runs forever. If a pinned export starts it, it starts on the export's build and upgrades with its next task.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, resourceMirrorWorkflow);

// Runs as long as a connection has targets for alerts.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, alertsWorkflow);
// Ends within two hours.
setWorkflowOptions({ versioningBehavior: 'PINNED' }, watchWorkflow);
// Ends with its worker, or within a day.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, workerConfigurationWorkflow);
