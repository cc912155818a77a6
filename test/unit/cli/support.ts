import type { RunReport } from '../../../src/core/contract/index.js';
import {
  type ExportView,
  type ResourceView,
  waitingView,
} from '../../../src/temporal/follow/follow-export.js';
import type { ResourceStatus } from '../../../src/temporal/status/status.js';

export function report(changes: Partial<RunReport> = {}): RunReport {
  return {
    resource: 'tasks',
    outcome: 'published',
    runId: '20261121T020000Z-1a2b3c4d' as RunReport['runId'],
    rows: 10,
    counts: null,
    snapshot:
      'tasks/snapshots/dt=2026-11-21/run=20261121T020000Z-1a2b3c4d/_datapackage.json' as RunReport['snapshot'],
    warnings: [],
    error: null,
    ...changes,
  };
}

export function failed(type: NonNullable<RunReport['error']>['type'], message = 'it broke'): RunReport {
  const outcome = type === 'Refused' ? 'refused' : 'failed';
  return report({ outcome, rows: null, snapshot: null, error: { type, message } });
}

export function resource(changes: Partial<ResourceView> = {}): ResourceView {
  return { ...waitingView('tasks'), ...changes };
}

/** The status of a resource that was published. */
export function resourceStatus(changes: Partial<ResourceStatus> = {}): ResourceStatus {
  return {
    ...{ name: 'tasks', state: 'published', fresh: true, isProblem: false, cause: null, since: null },
    ...{ checkpoint: null, dataAsOf: null, snapshotAt: null, rows: 10, pageSize: null },
    ...{ lastRun: { runId: null, outcome: 'published', publishedAt: null }, error: null, active: null },
    ...{ warnings: [], deletes: null, organization: null, checks: null, rolledBack: null },
    ...{ missedByIncrements: null, behindSince: null, nights: null, silence: null },
    source: 'mirror',
    ...changes,
  };
}

export function view(resources: readonly ResourceView[], changes: Partial<ExportView> = {}): ExportView {
  return {
    workflowId: 'worktrack/acme/export',
    resources,
    worker: 'present',
    ...changes,
  };
}
