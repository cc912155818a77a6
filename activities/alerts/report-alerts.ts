import { activityInfo, getClient } from '@temporalio/activity';
import { HAS_STARTED, observeRun, observeWriteBack, withinBudget } from '../../src/core/alerts/index.js';
import { newAlerts } from '../../src/core/alerts/message-rules.js';
import {
  type Activities,
  ALERTS_SIGNAL,
  ALERTS_WORKFLOW,
  type AlertReport,
  alertsWorkflowId,
  type ReportAlertsInput,
} from '../../src/core/contract/index.js';
import { parseRunDate } from '../../src/core/run-id.js';
import type { ConnectionSettings } from '../../src/core/settings.js';
import { isSchemaChange } from '../../src/lake/rows/data-columns.js';
import { temporalClock } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { maxAgesOf, scheduleFacts } from './schedule-facts.js';

/** Reports ended runs and write-backs to the workflow that sends alerts. Does nothing for a connection without targets. */
export function createReportAlerts(deps: ActivityDeps): Activities['worktrack.reportAlerts'] {
  return async ({ connection, runs, writeBack, together }) => {
    const { settings } = deps.connection(connection);
    if (settings.notify.length === 0) return;
    const observations = [
      ...runs.flatMap((run) => observeRun(run, isSchemaChange)),
      ...(runs.some(({ outcome }) => outcome === 'published') ? [HAS_STARTED] : []),
      ...(writeBack === undefined ? [] : [observeWriteBack(writeBack)]),
    ];
    await signalAlerts(settings, {
      observations,
      ...(await nextCheck(settings, runs, temporalClock()())),
      ...(together === undefined ? {} : { together }),
    });
  };
}

/** When the data can have become stale. After a run of all resources, an earlier check is not needed any more. */
async function nextCheck(
  settings: ConnectionSettings,
  runs: ReportAlertsInput['runs'],
  now: number,
): Promise<Pick<AlertReport, 'checkAt' | 'checkBy'>> {
  const published = runs.filter(({ outcome }) => outcome === 'published');
  if (published.length === 0) return {};
  const maxAges = maxAgesOf(settings, await scheduleFacts(settings, now));
  // The data is as old as the start of its run, or a little older, so it is too old at the time of the check.
  const starts = published.map(({ runId }) => (runId === null ? now : parseRunDate(runId)));
  const at = maxAges.size === 0 ? null : Math.min(...starts) + Math.min(...maxAges.values()) + 1;
  const names = published.map(({ resource }) => resource);
  if (settings.resources.every(({ name }) => names.includes(name))) return { checkAt: at };
  return at === null ? {} : { checkBy: at };
}

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
