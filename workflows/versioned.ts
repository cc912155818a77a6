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
import { setWorkflowOptions, type Workflow } from '@temporalio/workflow';
import * as workflows from './index.js';

export * from './index.js';

const PINNED: readonly Workflow[] = [
  // These send requests to mirrors and collect the reports. A switch to a new build midway would gain nothing.
  workflows.exportWorkflow,
  workflows.backfillWorkflow,
  workflows.rollbackWorkflow,
  workflows.purgeWorkflow,
  // Ends within two hours.
  workflows.watchWorkflow,
];
const AUTO_UPGRADE: readonly Workflow[] = [
  // A large batch may take days and wait for other batches. It continues as new, so it must be able to change builds.
  workflows.writeBackWorkflow,
  workflows.writeBackLockWorkflow,
  // Looks for the rows of a batch for a day.
  workflows.confirmWriteBackWorkflow,
  // Notices arrive as long as the service is in use. The workflow continues as new, so it must be able to change builds.
  workflows.changeNoticeWorkflow,
  // Runs forever. If a pinned export starts it, it starts on the export's build and upgrades with its next task.
  workflows.resourceMirrorWorkflow,
  // Runs as long as a connection has targets for alerts.
  workflows.alertsWorkflow,
  // Ends with its worker, or within a day.
  workflows.workerConfigurationWorkflow,
  // Repeats for up to a day while a receiver is down.
  workflows.announceWorkflow,
];
for (const workflow of PINNED) setWorkflowOptions({ versioningBehavior: 'PINNED' }, workflow);
for (const workflow of AUTO_UPGRADE) setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, workflow);
