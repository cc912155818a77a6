import type { RunId } from '../../core/brands.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { RunChain } from '../../lake/published/chain.js';
import { type Manifest, readManifest } from '../../lake/published/manifest.js';
import { readPointer } from '../../lake/published/pointer.js';
import { readHistory } from '../../lake/published/run-history.js';
import type { ObjectStore } from '../../lake/store/index.js';

import type { TemporalClient } from '../client/connect.js';
import { type LoggedRun, type RunLogOptions, readUnpublishedRuns } from './unpublished-runs.js';

export type { LoggedRun, RunLogOptions } from './unpublished-runs.js';

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
  const readingUnpublished =
    temporal === null ? null : readUnpublishedRuns(temporal, connection.name, options);
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
  const runs = await readHistory(new RunChain(store, pointer), limit);
  // Without a readable change log, the last run is still published.
  const last = runs.length > 0 ? null : await readManifest(store, pointer.snapshot);
  return withRolledBack(last === null ? runs : [last]).map((run) => fromManifest(resource, run));
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
  const { runId, mode, counts, warnings } = run;
  const [startedAt, endedAt] = [Date.parse(run.startedAt), Date.parse(run.publishedAt)];
  const outcome = 'published';
  const nothing = { error: null, retrying: null };
  const checks = run.checks === undefined ? {} : { checks: run.checks };
  const rolledBack = run.isUndone ? { rolledBack: true as const } : {};
  const ended = { outcome, runId, mode, startedAt, endedAt, counts, warnings } as const;
  const published = { checkpoint: run.checkpoint.updatedSince, rolledBack: run.rolledBack !== null };
  return { resource, ...ended, ...checks, ...nothing, ...rolledBack, published };
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
