import type { RunId } from '../core/brands.js';
import {
  BACKFILL_WORKFLOW,
  EXPORT_WORKFLOW,
  type RunCounts,
  type RunError,
  type RunMode,
  type RunOutcome,
  type RunReport,
} from '../core/contract.js';
import { inParallel } from '../core/in-parallel.js';
import type { ConnectionSettings } from '../core/settings.js';
import { RunChain } from '../lake/chain.js';
import { pointerKey } from '../lake/layout.js';
import { type Manifest, readManifest } from '../lake/manifest.js';
import { decodePointer } from '../lake/pointer.js';
import { readHistory } from '../lake/run-history.js';
import { parseRunDate } from '../lake/run-id.js';
import type { ObjectStore } from '../lake/store/index.js';
import type { TemporalClient } from './connect.js';
import { exportResultOf } from './export-result.js';
import { queryMirror } from './mirror-view.js';

/** A run of a resource: published, failed, or going on. */
export interface LoggedRun {
  readonly resource: string;
  readonly outcome: RunOutcome | 'running';
  readonly runId: RunId | null;
  readonly mode: RunMode | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** `null` while it is running, and where nobody remembers. */
  readonly endedAt: number | null;
  /** `null` unless it was published. */
  readonly counts: RunCounts | null;
  readonly warnings: readonly string[];
  readonly error: RunError | null;
}

export interface RunLogOptions {
  readonly resources: readonly string[];
  /** At most so many runs of each resource. */
  readonly limit: number;
  /** What Temporal may take for one answer, milliseconds. Default: 4,000. */
  readonly timeoutMs?: number | undefined;
}

/** Failed exports that are looked into: each costs a request. */
const MOST_EXPORTS = 50;
const AT_ONCE = 8;

/**
 * The last runs of each resource, newest first. What was published is read from the lake, which keeps it for ever; failed
 * and running ones Temporal tells of, as long as it keeps their histories.
 *
 * @param temporal `null` where it is out of reach
 * @throws StoreError when the lake cannot be read
 */
export async function readRunLog(
  temporal: TemporalClient | null,
  connection: ConnectionSettings,
  store: ObjectStore,
  options: RunLogOptions,
): Promise<LoggedRun[][]> {
  const failing = temporal === null ? [] : quietly(() => failedRuns(temporal, connection.name, options));
  return Promise.all(
    options.resources.map(async (resource) => {
      const asking =
        temporal === null ? [] : quietly(() => mirrorRuns(temporal, connection.name, resource, options));
      const [past, failed, mirror] = await Promise.all([
        publishedRuns(store, resource, options.limit),
        failing,
        asking,
      ]);
      const others = failed.filter((run) => run.resource === resource);
      return newestFirst([...past, ...others, ...mirror]).slice(0, options.limit);
    }),
  );
}

async function publishedRuns(store: ObjectStore, resource: string, limit: number): Promise<LoggedRun[]> {
  const found = await store.readIfExists(pointerKey(resource));
  if (found === null) return [];
  const pointer = { ...decodePointer(found.body), resource };
  const runs = await readHistory(new RunChain(store, pointer), limit);
  // Published it is, whatever became of its change log.
  const last = runs.length > 0 ? null : await readManifest(store, pointer.snapshot);
  return (last === null ? runs : [last]).map((run) => published(resource, run));
}

function published(resource: string, run: Manifest): LoggedRun {
  const { runId, mode, counts, warnings } = run;
  const [startedAt, endedAt] = [Date.parse(run.startedAt), Date.parse(run.publishedAt)];
  return { resource, outcome: 'published', runId, mode, startedAt, endedAt, counts, warnings, error: null };
}

/** A run is told of once: by the lake before anybody else, by its export before its mirror, which knows no end. */
function newestFirst(runs: readonly LoggedRun[]): LoggedRun[] {
  const seen = new Set<RunId>();
  const once = runs.filter(({ runId }) => {
    if (runId === null) return true;
    const isNew = !seen.has(runId);
    seen.add(runId);
    return isNew;
  });
  return once.sort((a, b) => b.startedAt - a.startedAt);
}

/** Runs within exports and backfills that were not wholly published. */
async function failedRuns(
  temporal: TemporalClient,
  connection: string,
  { limit, timeoutMs = 4_000 }: RunLogOptions,
): Promise<LoggedRun[]> {
  const { client } = temporal;
  const query = `WorkflowType IN ('${EXPORT_WORKFLOW}', '${BACKFILL_WORKFLOW}') AND WorkflowId STARTS_WITH 'worktrack/${connection}/' AND ExecutionStatus NOT IN ('Running', 'Completed', 'ContinuedAsNew')`;
  const ended: { workflowId: string; runId: string; closeTime: Date | undefined }[] = [];
  await client.connection.withDeadline(Date.now() + timeoutMs, async () => {
    for await (const { workflowId, runId, closeTime } of client.workflow.list({ query })) {
      ended.push({ workflowId, runId, closeTime });
      if (ended.length >= Math.min(limit * 2, MOST_EXPORTS)) return;
    }
  });
  const results = await inParallel(ended, AT_ONCE, async ({ workflowId, runId, closeTime }) => {
    const reports = await client.connection.withDeadline(Date.now() + timeoutMs, () =>
      client.workflow
        .getHandle(workflowId, runId)
        .result()
        .then(() => [])
        .catch((error: unknown) => exportResultOf(error, []).runs),
    );
    return reports.filter(({ outcome }) => outcome !== 'published').map((one) => logged(one, closeTime));
  });
  return results.flat();
}

/** What runs now, and the last run where it failed: one that no export asked for is known nowhere else. */
async function mirrorRuns(
  temporal: TemporalClient,
  connection: string,
  resource: string,
  { timeoutMs = 4_000 }: RunLogOptions,
): Promise<LoggedRun[]> {
  const { active, lastRun } = await temporal.client.connection.withDeadline(Date.now() + timeoutMs, () =>
    queryMirror(temporal, connection, resource),
  );
  const runs: LoggedRun[] = [];
  if (active !== null) {
    const { runId, mode, startedAt } = active;
    const nothing = { endedAt: null, counts: null, warnings: [], error: null };
    runs.push({ resource, outcome: 'running', runId, mode, startedAt, ...nothing });
  }
  if (lastRun !== null && lastRun.outcome !== 'published' && lastRun.runId !== null)
    runs.push(logged(lastRun, undefined));
  return runs;
}

function logged(
  { resource, outcome, runId, warnings, error }: RunReport,
  closeTime: Date | undefined,
): LoggedRun {
  const endedAt = closeTime?.getTime() ?? null;
  const startedAt = runId === null ? (endedAt ?? 0) : parseRunDate(runId);
  return { resource, outcome, runId, mode: null, startedAt, endedAt, counts: null, warnings, error };
}

/** What Temporal knows comes on top: without it there is still the lake. */
async function quietly<T>(ask: () => Promise<T[]>): Promise<T[]> {
  try {
    return await ask();
  } catch {
    return [];
  }
}
