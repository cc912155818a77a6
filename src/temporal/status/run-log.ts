import type { RunId } from '../../core/brands.js';
import {
  BACKFILL_WORKFLOW,
  EXPORT_WORKFLOW,
  type RunCounts,
  type RunError,
  type RunMode,
  type RunOutcome,
  type RunReport,
} from '../../core/contract/index.js';
import { inParallel } from '../../core/in-parallel.js';
import { parseRunDate } from '../../core/run-id.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { RunChain } from '../../lake/published/chain.js';
import { type Manifest, readManifest } from '../../lake/published/manifest.js';
import { readPointer } from '../../lake/published/pointer.js';
import { readHistory } from '../../lake/published/run-history.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { exportResultOf } from '../follow/export-result.js';
import { queryMirror } from '../follow/mirror-view.js';

/** A run of a resource: published, failed or running. */
export interface LoggedRun {
  readonly resource: string;
  readonly outcome: RunOutcome | 'running';
  readonly runId: RunId | null;
  readonly mode: RunMode | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** `null` if the run is in progress or the end is not known. */
  readonly endedAt: number | null;
  /** `null` unless published. */
  readonly counts: RunCounts | null;
  readonly warnings: readonly string[];
  readonly error: RunError | null;
}

interface RunLogOptions {
  readonly resources: readonly string[];
  /** Maximum number of runs per resource. */
  readonly limit: number;
}

/** Maximum number of failed exports to read; each costs a request. */
const MAX_EXPORTS = 50;
const CONCURRENCY = 8;

/**
 * The last runs of each resource, newest first. Published runs come from the lake, which keeps them forever; failed and
 * running ones come from Temporal, which keeps them for its retention period.
 *
 * @param temporal `null` if Temporal is unreachable
 * @throws StoreError if the lake cannot be read
 */
export async function readRunLog(
  temporal: TemporalClient | null,
  connection: ConnectionSettings,
  store: ObjectStore,
  options: RunLogOptions,
): Promise<LoggedRun[][]> {
  const readingFailed =
    temporal === null ? [] : orEmpty(() => failedRuns(temporal, connection.name, options));
  return Promise.all(
    options.resources.map(async (resource) => {
      const queryingMirror =
        temporal === null ? [] : orEmpty(() => mirrorRuns(temporal, connection.name, resource));
      const [published, failed, mirror] = await Promise.all([
        publishedRuns(store, resource, options.limit),
        readingFailed,
        queryingMirror,
      ]);
      const others = failed.filter((run) => run.resource === resource);
      return newestFirst([...published, ...others, ...mirror]).slice(0, options.limit);
    }),
  );
}

async function publishedRuns(store: ObjectStore, resource: string, limit: number): Promise<LoggedRun[]> {
  const pointer = await readPointer(store, resource);
  if (pointer === null) return [];
  const runs = await readHistory(new RunChain(store, pointer), limit);
  // Without a readable change log, the last run is still published.
  const last = runs.length > 0 ? null : await readManifest(store, pointer.snapshot);
  return (last === null ? runs : [last]).map((run) => fromManifest(resource, run));
}

function fromManifest(resource: string, run: Manifest): LoggedRun {
  const { runId, mode, counts, warnings } = run;
  const [startedAt, endedAt] = [Date.parse(run.startedAt), Date.parse(run.publishedAt)];
  return { resource, outcome: 'published', runId, mode, startedAt, endedAt, counts, warnings, error: null };
}

/** Removes duplicate runs and sorts. The lake takes precedence, then the export, then the mirror, which has no end time. */
function newestFirst(runs: readonly LoggedRun[]): LoggedRun[] {
  const seen = new Set<RunId>();
  const unique = runs.filter(({ runId }) => {
    if (runId === null) return true;
    const isNew = !seen.has(runId);
    seen.add(runId);
    return isNew;
  });
  return unique.sort((a, b) => b.startedAt - a.startedAt);
}

/** The unpublished runs of exports and backfills that did not complete. */
async function failedRuns(
  temporal: TemporalClient,
  connection: string,
  { limit }: RunLogOptions,
): Promise<LoggedRun[]> {
  const { client } = temporal;
  const query = `WorkflowType IN ('${EXPORT_WORKFLOW}', '${BACKFILL_WORKFLOW}') AND WorkflowId STARTS_WITH 'worktrack/${connection}/' AND ExecutionStatus NOT IN ('Running', 'Completed', 'ContinuedAsNew')`;
  const ended: { workflowId: string; runId: string; closeTime: Date | undefined }[] = [];
  await withDeadline(temporal, async () => {
    for await (const { workflowId, runId, closeTime } of client.workflow.list({ query })) {
      ended.push({ workflowId, runId, closeTime });
      if (ended.length >= Math.min(limit * 2, MAX_EXPORTS)) return;
    }
  });
  const results = await inParallel(ended, CONCURRENCY, async ({ workflowId, runId, closeTime }) => {
    const reports = await withDeadline(temporal, () =>
      client.workflow
        .getHandle(workflowId, runId)
        .result()
        .then(() => [])
        .catch((error: unknown) => exportResultOf(error, []).runs),
    );
    return reports.filter(({ outcome }) => outcome !== 'published').map((one) => fromReport(one, closeTime));
  });
  return results.flat();
}

/** The running run, and the last run if it failed. A run that no export requested is known only to the mirror. */
async function mirrorRuns(
  temporal: TemporalClient,
  connection: string,
  resource: string,
): Promise<LoggedRun[]> {
  const { active, lastRun } = await withDeadline(temporal, () => queryMirror(temporal, connection, resource));
  const runs: LoggedRun[] = [];
  if (active !== null) {
    const { runId, mode, startedAt } = active;
    const nothing = { endedAt: null, counts: null, warnings: [], error: null };
    runs.push({ resource, outcome: 'running', runId, mode, startedAt, ...nothing });
  }
  if (lastRun !== null && lastRun.outcome !== 'published' && lastRun.runId !== null)
    runs.push(fromReport(lastRun, undefined));
  return runs;
}

function fromReport(
  { resource, outcome, runId, warnings, error }: RunReport,
  closeTime: Date | undefined,
): LoggedRun {
  const endedAt = closeTime?.getTime() ?? null;
  const startedAt = runId === null ? (endedAt ?? 0) : parseRunDate(runId);
  return { resource, outcome, runId, mode: null, startedAt, endedAt, counts: null, warnings, error };
}

/** An empty list if the call fails, because runs from Temporal only complement those from the lake. */
async function orEmpty<T>(call: () => Promise<T[]>): Promise<T[]> {
  try {
    return await call();
  } catch {
    return [];
  }
}
