import {
  ActivityCancellationType,
  CancellationScope,
  log,
  proxySinks,
  workflowInfo,
} from '@temporalio/workflow';
import type { RunId } from '../../src/core/brands.js';
import type {
  ActiveRun,
  Activities,
  Audited,
  MirrorRequest,
  MirrorState,
  PreparedRun,
  Previewed,
  PurgeRequest,
  RollbackRequest,
  RunDone,
  RunInput,
  RunPublished,
  RunRef,
  RunReport,
  RunRequest,
} from '../../src/core/contract/index.js';
import { isSameDetection } from '../../src/core/delete-detection.js';
import type { MetricSinks } from '../../src/core/metrics.js';
import { runSpec } from '../../src/core/mirror-requests.js';
import { ALL_REMOVED, removalWarnings } from '../../src/core/removal.js';
import { limitWarnings } from '../../src/core/text-budget.js';
import { runPhases, type Steps } from '../../src/run/phases.js';
import { activity, untilGivenUp, type Work, workOf } from '../shared/activity.js';
import { toRunError } from '../shared/run-errors.js';
import { afterPublished, afterPurged } from './mirror-checkpoint.js';
import { fenced, type Mirror } from './mirror-handle.js';
import { afterPurge, afterSweep, endedRuns, sweep, sweepOfRun } from './mirror-sweep.js';
import { hookedToOf, startOnPublished } from './on-published.js';

/** Runs one request to its end. Throws the error that ended it. */
export function executeRequest(
  request: MirrorRequest,
  active: ActiveRun,
  mirror: Mirror,
): Promise<RunReport> {
  return request.kind === 'purge' ? purge(request, active, mirror) : run(request, active, mirror);
}

/** A run that publishes: what it reads from the service, or, for a rollback, the rows of an earlier run. */
async function run(
  request: RunRequest | RollbackRequest,
  active: ActiveRun,
  mirror: Mirror,
): Promise<RunReport> {
  const result = await runOnce(mirror, request, active);
  if (result.kind === 'previewed')
    return 'audit' in result.run
      ? auditedReport(mirror.state.resource, result.run)
      : previewReport(mirror.state, result.run);
  const { published: before } = mirror.state;
  mirror.change(afterPublished(mirror.state, result));
  const { runId, run: published } = result;
  const { snapshot, counts, warnings, deletes, checks, rolledBackFrom } = published;
  // Before the sweep, which may remove snapshots that the table has missed.
  const work = workOf(request);
  const tableWarnings = await followTable(result, { ...active, runId }, mirror, work);
  const hookWarnings = await startOnPublished(result.onPublished, runId, mirror);
  const { known, found } = await sweepAfter(result, active.runId, work, mirror);
  // The sweep has tried again what an earlier one could not remove.
  const left = limitWarnings([...warnings, ...tableWarnings]).filter((one) => !known.includes(one));
  const { resource } = mirror.state;
  return {
    ...{ resource, outcome: 'published', runId, rows: counts.rows, counts, snapshot },
    warnings: limitWarnings([...left, ...hookWarnings, ...found]),
    ...{ deletes, ...asBefore(before, deletes), ...(checks && { checks }), error: null },
    ...(request.kind === 'rollback' && { rolledBackTo: request.to }),
    ...(rolledBackFrom && { rolledBackFrom }),
  };
}

function previewReport({ resource, published }: MirrorState, { counts, ...run }: Previewed): RunReport {
  const nothing = { runId: null, snapshot: null, error: null };
  const same = asBefore(published, run.deletes);
  return { resource, outcome: 'would-publish', rows: counts.rows, counts, ...run, ...same, ...nothing };
}

/** Whether a run knows the same about deletes as the published one before it: its note need not be printed again. */
function asBefore(
  before: MirrorState['published'],
  deletes: RunReport['deletes'],
): Pick<RunReport, 'deletesAsBefore'> {
  return deletes !== undefined && isSameDetection(before?.deletes, deletes) ? { deletesAsBefore: true } : {};
}

function auditedReport(resource: string, { audit }: Audited): RunReport {
  const { different, missing, extra, rows } = audit;
  const outcome = different + missing + extra === 0 ? 'equal' : 'different';
  const nothing = { runId: null, counts: null, snapshot: null, warnings: [], error: null };
  return { resource, outcome, rows, audit, ...nothing };
}

/**
 * Sweeps after a published run, unless its activity has done it or none is due.
 *
 * @returns `known`: the warning of an earlier sweep, if this one has tried again; `found`: those of this one
 */
async function sweepAfter(
  { runId, swept }: RunPublished,
  requested: RunId,
  work: Work,
  mirror: Mirror,
): Promise<{ readonly known: readonly string[]; readonly found: readonly string[] }> {
  const known = removalWarnings(mirror.state.sweepAt?.refused ?? ALL_REMOVED);
  if (swept === null) return { known: [], found: [] };
  if (swept === 'to do') {
    const ended = [requested, ...endedRuns(mirror.state)].filter((id) => id !== runId);
    return { known, found: await sweep(mirror, { runId, replaced: ended, work }) };
  }
  mirror.change(afterSweep(mirror.state, swept, Date.now()));
  return { known, found: removalWarnings(swept.refused) };
}

/**
 * Makes the resource's table show the published state (docs/explanation/delta-tables.md). Never throws: until the table has
 * caught up, the mirror's status has a warning.
 *
 * @returns warnings for the report
 */
async function followTable(
  { table }: Pick<RunPublished, 'table'>,
  active: ActiveRun,
  mirror: Mirror,
  work: Work,
): Promise<readonly string[]> {
  if (!table) {
    setTableWarning(mirror, null);
    return [];
  }
  mirror.setActive({ ...active, phase: 'follow' });
  const { connection, resource } = mirror.state;
  const follow = activity('worktrack.followTable', connection, work);
  try {
    const { warnings } = await CancellationScope.nonCancellable(() =>
      follow({ connection, resource, runId: active.runId }),
    );
    setTableWarning(mirror, null);
    return warnings;
  } catch (error) {
    const { message } = toRunError(error);
    const warning = `table: it does not show the published run yet; the next run catches up. ${message}`;
    setTableWarning(mirror, warning);
    log.warn('the run is published, but the table does not show it; the next run repeats the step', {
      error: message,
    });
    return [warning];
  }
}

function setTableWarning(mirror: Mirror, tableWarning: string | null): void {
  const { published } = mirror.state;
  if (published !== null) mirror.change({ published: { ...published, tableWarning } });
}

async function purge({ key }: PurgeRequest, active: ActiveRun, mirror: Mirror): Promise<RunReport> {
  mirror.setActive({ ...active, phase: 'purge' });
  const input = { ...fenced(mirror.state, active), key };
  // A timed-out attempt may leave parts in any folder.
  mirror.change(afterPurge(active.runId, Date.now()));
  // A partial change would leave the lake inconsistent.
  const amended = await CancellationScope.nonCancellable(() =>
    activity('worktrack.purgeRecord', input.connection, 'manual')(input),
  );
  mirror.change({ ...afterPurged(amended), ...afterPurge(active.runId, Date.now()) });
  const { runId = null, rows = null, snapshot = null } = amended.published ?? {};
  const run = { resource: input.resource, outcome: 'published', runId, rows, snapshot } as const;
  return { ...run, counts: null, warnings: [], error: null, purged: amended.purged };
}

/**
 * Counts an ended run, whatever its outcome. The mirror does this because only it sees the end of every run. Metrics are
 * not in the history, and a replay does not count a run again.
 *
 * @param durationMs milliseconds
 */
export function countRun(connection: string, { resource, outcome }: RunReport, durationMs: number): void {
  // A worker that only replays has no such sink.
  if (workflowInfo().unsafe.isReplaying) return;
  const { worktrackMetrics } = proxySinks<MetricSinks>();
  worktrackMetrics.record('runs', 1, { connection, resource, outcome });
  worktrackMetrics.record('runSeconds', durationMs / 1000, { connection, resource });
}

/** A cancelled run waits until its activities have stopped writing. Only then can its files be removed. */
const WAIT_UNTIL_STOPPED = {
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
} as const;

function inputOf(
  state: MirrorState,
  request: RunRequest | RollbackRequest,
  active: ActiveRun,
  now: number,
): RunInput {
  const { startedAt } = active;
  const { checkpoint, resumable, pageSize, hookedTo, sweepAt } = state;
  const rollbackTo = request.kind === 'rollback' ? request.to : null;
  const wanted = request.kind === 'run' ? request : runSpec(startedAt, { allowDeletes: true });
  const { mode, reconcile, adopt, allowDeletes, adoptOrganization, acceptChecks, since, nominalStart } =
    wanted;
  const { dryRun } = wanted;
  const sweep = sweepOfRun(state, rollbackTo === null && mode === 'increment' && !reconcile, now);
  return {
    ...{ ...fenced(state, active), mode, reconcile, adopt, allowDeletes, since, rollbackTo, nominalStart },
    ...{ startedAt, checkpoint, resumable, pageSize, hookedTo },
    ...(adoptOrganization && { adoptOrganization }),
    ...(acceptChecks !== undefined && { acceptChecks }),
    ...(sweepAt?.refused && { refused: sweepAt.refused }),
    ...(dryRun === undefined ? sweep && { sweep } : { dryRun }),
  };
}

/**
 * One run of one resource: in one activity if it fits into memory, otherwise with an activity for each further phase
 * (docs/explanation/how-it-works.md#in-memory-or-in-the-lake). Throws the error that ended it.
 */
async function runOnce(
  mirror: Mirror,
  request: RunRequest | RollbackRequest,
  active: ActiveRun,
): Promise<Exclude<RunDone, { kind: 'spilled' }>> {
  const { state } = mirror;
  const { connection, resource } = state;
  const work = workOf(request);
  const input = inputOf(state, request, active, Date.now());
  mirror.setActive({ ...active, phase: 'read' });
  const summary = `${resource}: ${input.mode}`;
  const done = await activity('worktrack.run', connection, work, { ...WAIT_UNTIL_STOPPED, summary })(input);
  if (done.kind === 'spilled') return runInLake(mirror, input, { prepared: done.prepared, active, work });
  return done;
}

/** The phases of a run whose staging is in the lake. Each is one activity or more, on any worker. */
async function runInLake(
  mirror: Mirror,
  input: RunInput,
  of: { readonly prepared: PreparedRun; readonly active: ActiveRun; readonly work: Work },
): Promise<Exclude<RunDone, { kind: 'spilled' }>> {
  const { prepared, active, work } = of;
  const { connection, resource, runId, startedAt, pageSize, allowDeletes } = input;
  const isDry = input.dryRun !== undefined;
  const ref: RunRef = { connection, resource, runId, ...(isDry && { isDry }) };
  mirror.inLake = 'staged';
  if (!isDry) mirror.change({ hookedTo: hookedToOf(mirror.state, prepared) });
  const { resumed, table, onPublished } = prepared;
  let now: ActiveRun = {
    ...{ ...active, mode: prepared.mode, resumed: resumed?.runId ?? null },
    ...{ pages: resumed?.extracted.pages ?? 0, rows: resumed?.extracted.rows ?? 0 },
  };
  const change = (changes: Partial<ActiveRun>): void => {
    now = { ...now, ...changes };
    mirror.setActive(now);
  };
  const phase = <N extends keyof Activities>(name: N, summary: string) =>
    activity(name, connection, work, {
      ...{ ...WAIT_UNTIL_STOPPED, summary: `${resource}: ${summary}` },
      ...untilGivenUp(name, { giveUpAfterMs: prepared.giveUpAfterMs, startedAt }),
    });
  const steps: Steps = {
    read: (step, summary) => phase('worktrack.read', summary)(step),
    settle: (step, summary) => phase('worktrack.settle', summary)(step),
    settleById: (step, summary) => phase('worktrack.settleById', summary)(step),
    mergePlan: (step, summary) => phase('worktrack.mergePlan', summary)(step),
    merge: (step, summary) => phase('worktrack.merge', summary)(step),
  };
  const ready = await runPhases(steps, ref, {
    ...{ prepared, pageSize, allowDeletes },
    onRead: ({ pages, rows }) => change({ pages, rows }),
    onPhase: (phase) => change({ phase }),
  });
  change({ phase: 'publish' });
  if (isDry)
    return { kind: 'previewed', run: await phase('worktrack.preview', `${now.rows} rows`)(ready.publish) };
  mirror.inLake = 'sent';
  // Not cancellable: if the workflow did not wait for the swap, it would not know which run the pointer names.
  const published = await CancellationScope.nonCancellable(() =>
    phase('worktrack.publish', `${now.rows} rows`)(ready.publish),
  );
  const ended = { kind: 'published', run: published, runId: published.runId ?? runId } as const;
  return { ...ended, table, onPublished, pageSize: ready.pageSize, swept: 'to do' };
}
