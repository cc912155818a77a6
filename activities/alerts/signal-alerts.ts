import { activityInfo, getClient } from '@temporalio/activity';
import { withinBudget } from '../../src/core/alerts/index.js';
import { newAlerts } from '../../src/core/alerts/message-rules.js';
import type { AlertReport } from '../../src/core/contract/alerts.js';
import { ALERTS_SIGNAL, ALERTS_WORKFLOW, alertsWorkflowId } from '../../src/core/contract/index.js';
import type { ConnectionSettings } from '../../src/core/settings.js';

type Observed = Omit<AlertReport, 'connection' | 'targets' | 'resources'>;

/** Reports to the workflow that sends the alerts of this task queue, and starts it if it is not running. */
export async function signalAlerts(
  { name, notify, resources }: ConnectionSettings,
  observed: Observed,
): Promise<void> {
  const report: AlertReport = {
    connection: name,
    targets: notify.map(({ id, on, format }) => ({ id, on, incidents: format === 'pagerduty' })),
    resources: resources.map((resource) => resource.name),
    ...observed,
    observations: withinBudget(observed.observations),
  };
  const { taskQueue } = activityInfo();
  await getClient().workflow.signalWithStart(ALERTS_WORKFLOW, {
    workflowId: alertsWorkflowId(taskQueue),
    taskQueue,
    args: [newAlerts()],
    signal: ALERTS_SIGNAL,
    signalArgs: [report],
    staticSummary: 'Alerts of all connections',
  });
}
