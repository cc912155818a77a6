import type { Millis, RunId, UtcSeconds } from '../../core/brands.js';
import {
  auditId,
  BACKFILL_WORKFLOW,
  dryRunIds,
  EXPORT_WORKFLOW,
  type PublishedMode,
  type RunOutcome,
  type RunReport,
} from '../../core/contract/index.js';
import { inParallel } from '../../core/in-parallel.js';
import type { OtherRun } from '../../core/resource-state.js';
import { parseRunDate } from '../../core/run-id.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { DamagedError } from '../../lake/damaged-error.js';
import type { CheckResult } from '../../lake/documents/check-record.js';
import { type Manifest, readManifest } from '../../lake/documents/manifest.js';
import { readPointer } from '../../lake/documents/pointer.js';
import { readChain, readHistory } from '../../lake/published/chain.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { exportResultOf } from '../client/export-result.js';
import { readMirror } from './read-mirror.js';

/** A run of a resource: published, failed or running. */
export interface LoggedRun
  extends Pick<RunReport, 'resource' | 'runId' | 'counts' | 'warnings' | 'error'>,
    Omit<OtherRun, 'error'> {
  readonly mode: PublishedMode | null;
  /** `null` if the run is in progress or the end is not known. */
  readonly endedAt: number | null;
  /** Results of the checks before publish; absent: not published, or there were none. */
  readonly checks?: readonly CheckResult[];
  /** Whether a later rollback went back to a run before this one; absent: none did. */
  readonly rolledBack?: true;
  /** What the lake holds since this run; absent: it was not published. `rolledBack`: no full read has followed a rollback. */
  readonly published?: { readonly checkpoint: UtcSeconds; readonly rolledBack: boolean };
}

export interface RunLogOptions {
  readonly resources: readonly string[];
  /** Maximum number of runs per resource. */
  readonly limit: number;
  /** Time limit of one call to Temporal. Default: 4,000. */
  readonly timeoutMs?: Millis | undefined;
  /** Called with each error that leaves failed or running runs unknown. */
  readonly onUnknown?: ((error: unknown) => void) | undefined;
}

/**
 * The last runs of each resource, newest first. Published runs come from the lake, which keeps them forever; failed and
 * running ones come from Temporal, which keeps them for its retention period.
 *
 * @param temporal `null` if Temporal is unreachable
 * @throws StoreError if the lake cannot be read
 * @example
 * const [runs = []] = await readRunLog(temporal, connection, store, { resources: ['tasks'], limit: 10 });
 * for (const { runId, outcome, error } of runs) console.log(runId, outcome, error?.message);
 */
export async function readRunLog(
  temporal: TemporalClient | null,
  connection: ConnectionSettings,
  store: ObjectStore,
  options: RunLogOptions,
): Promise<LoggedRun[][]> {
  const readingUnpublished = temporal === null ? null : readTemporalRuns(temporal, connection.name, options);
  return Promise.all(
    options.resources.map(async (resource) => {
      const [published, unpublished] = await Promise.all([
        publishedRuns(store, resource, options.limit),
        readingUnpublished,
      ]);
      const others = unpublished?.runs.filter((run) => run.resource === resource) ?? [];
      return newestFirst([...published, ...others]).slice(0, options.limit);
    }),
  );
}

async function publishedRuns(store: ObjectStore, resource: string, limit: number): Promise<LoggedRun[]> {
  const pointer = await readPointer(store, resource);
  if (pointer === null) return [];
  const runs = await readHistory(readChain(store, pointer), { most: limit });
  // Without a readable change log, the last run is still published.
  const last = runs.length > 0 ? null : await readManifest(store, pointer.snapshot);
  return withRolledBack(last === null ? runs : [last]).map((run) => {
    try {
      return fromManifest(resource, run);
    } catch (error) {
      // It has a good checksum, but not all fields.
      throw error instanceof TypeError || error instanceof RangeError
        ? new DamagedError(`${resource}: the manifest of run ${run.runId} is damaged: it lacks fields.`, {
            cause: error,
          })
        : error;
    }
  });
}

/** Marks the runs that a later rollback went back behind. @param runs newest first */
function withRolledBack(runs: readonly Manifest[]): (Manifest & { readonly isUndone: boolean })[] {
  let target: RunId | null = null;
  return runs.map((run) => {
    if (run.runId === target) target = null;
    const isUndone = target !== null;
    // The target of an undone rollback says nothing about the runs before it.
    if (!isUndone && run.mode === 'rollback') target = run.rolledBack?.to ?? null;
    return { ...run, isUndone };
  });
}

function fromManifest(resource: string, run: Manifest & { readonly isUndone: boolean }): LoggedRun {
  const { runId, mode, counts, warnings, checks, isUndone } = run;
  return {
    ...{ resource, outcome: 'published', runId, mode, counts, warnings, error: null, retrying: null },
    ...{ startedAt: Date.parse(run.startedAt), endedAt: Date.parse(run.publishedAt) },
    ...(checks && { checks }),
    ...(isUndone && { rolledBack: true }),
    published: { checkpoint: run.checkpoint.updatedSince, rolledBack: run.rolledBack !== null },
  };
}

/** Removes duplicate runs and sorts. The lake takes precedence, then the export, then the mirror, which has no end time. */
function newestFirst(runs: readonly LoggedRun[]): LoggedRun[] {
  const seen = new Set<RunId | null>();
  const unique = runs.filter(({ runId }) => {
    const isNew = runId === null || !seen.has(runId);
    seen.add(runId);
    return isNew;
  });
  return unique.sort((a, b) => b.startedAt - a.startedAt);
}

export interface TemporalRuns {
  readonly runs: readonly LoggedRun[];
  /** `no-temporal`: failed exports could not be listed; `no-worker`: a mirror did not answer. Runs may be missing. */
  readonly coverage: 'complete' | 'no-temporal' | 'no-worker';
}

/** Maximum number of failed exports to read; each costs a request. */
const MAX_EXPORTS = 50;
const CONCURRENCY = 8;

/**
 * The failed and running runs of a connection, from Temporal, which keeps them for its retention period. Does not throw if
 * Temporal fails, because these runs only complement those from the lake.
 */
export async function readTemporalRuns(
  temporal: TemporalClient,
  connection: string,
  options: RunLogOptions,
): Promise<TemporalRuns> {
  const [failed, ...mirrors] = await Promise.all([
    orNull(() => failedRuns(temporal, connection, options), options),
    ...options.resources.map((resource) =>
      orNull(() => mirrorRuns(temporal, connection, resource, options), options),
    ),
  ]);
  const coverage = failed === null ? 'no-temporal' : mirrors.includes(null) ? 'no-worker' : 'complete';
  return { runs: [...(failed ?? []), ...mirrors.flatMap((runs) => runs ?? [])], coverage };
}

/** The number of exports that are read for the last outcome of each resource. */
const LAST_EXPORTS = 5;

/** A run that ended without publishing. */
export type UnsuccessfulRun = LoggedRun & { readonly outcome: RunOutcome };

/**
 * The last runs of a connection that ended without publishing, newest first; needs no worker. Does not throw if Temporal
 * fails.
 */
export async function readUnsuccessfulRuns(
  temporal: TemporalClient,
  connection: string,
  { timeoutMs, onUnknown }: Pick<RunLogOptions, 'timeoutMs' | 'onUnknown'>,
): Promise<readonly UnsuccessfulRun[]> {
  const options = { resources: [], limit: LAST_EXPORTS, timeoutMs, onUnknown };
  const runs = (await orNull(() => failedRuns(temporal, connection, options), options)) ?? [];
  return runs.sort((a, b) => b.startedAt - a.startedAt);
}

/** The unpublished runs of exports and backfills that did not complete. */
async function failedRuns(
  temporal: TemporalClient,
  connection: string,
  { limit, timeoutMs }: RunLogOptions,
): Promise<UnsuccessfulRun[]> {
  const { client } = temporal;
  const query = `WorkflowType IN ('${EXPORT_WORKFLOW}', '${BACKFILL_WORKFLOW}') AND WorkflowId STARTS_WITH 'worktrack/${connection}/' AND ExecutionStatus NOT IN ('Running', 'Completed', 'ContinuedAsNew')`;
  const ended: { workflowId: string; runId: string; closeTime: Date | undefined }[] = [];
  const listEnded = async () => {
    for await (const { workflowId, runId, closeTime } of client.workflow.list({ query })) {
      const others = [dryRunIds(connection), auditId(connection)];
      if (others.some((id) => workflowId.startsWith(id))) continue;
      ended.push({ workflowId, runId, closeTime });
      if (ended.length >= Math.min(limit * 2, MAX_EXPORTS)) return;
    }
  };
  await withDeadline(temporal, listEnded, timeoutMs);
  const results = await inParallel(ended, CONCURRENCY, async ({ workflowId, runId, closeTime }) => {
    const readReports = () =>
      client.workflow
        .getHandle(workflowId, runId)
        .result()
        .then(() => [])
        .catch((error: unknown) => exportResultOf(error, []).runs);
    const reports = await withDeadline(temporal, readReports, timeoutMs);
    return reports.filter(({ outcome }) => outcome !== 'published').map((one) => fromReport(one, closeTime));
  });
  return results.flat();
}

/** The running run, and the last run if it failed. A run that no export requested is known only to the mirror. */
async function mirrorRuns(
  temporal: TemporalClient,
  connection: string,
  resource: string,
  { timeoutMs }: RunLogOptions,
): Promise<LoggedRun[]> {
  const mirror = await readMirror(temporal, connection, resource, { timeoutMs, hasWorker: null });
  // A resource that never ran has no mirror.
  if (mirror === null) return [];
  if (mirror.status === null) throw new Error('the mirror did not answer');
  const { active, lastRun } = mirror.status;
  const runs: LoggedRun[] = [];
  if (active !== null) {
    const { runId, mode, startedAt } = active;
    const nothing = { endedAt: null, counts: null, warnings: [], error: null };
    const retrying = mirror.retrying?.error ?? null;
    runs.push({ resource, outcome: 'running', runId, mode, startedAt, ...nothing, retrying });
  }
  if (lastRun !== null && lastRun.outcome !== 'published' && lastRun.runId !== null)
    runs.push(fromReport(lastRun, undefined));
  return runs;
}

function fromReport(
  { resource, outcome, runId, warnings, error }: RunReport,
  closeTime: Date | undefined,
): UnsuccessfulRun {
  const endedAt = closeTime?.getTime() ?? null;
  const startedAt = runId === null ? (endedAt ?? 0) : parseRunDate(runId);
  const nothing = { mode: null, counts: null, retrying: null };
  return { resource, outcome, runId, startedAt, endedAt, warnings, error, ...nothing };
}

async function orNull<T>(
  call: () => Promise<T[]>,
  { onUnknown }: Pick<RunLogOptions, 'onUnknown'>,
): Promise<T[] | null> {
  try {
    return await call();
  } catch (error) {
    onUnknown?.(error);
    return null;
  }
}
