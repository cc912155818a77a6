import type { RunId, UtcSeconds } from '../../core/brands.js';
import type {
  ActiveRun,
  LearnedPageSize,
  MirrorStatus,
  RunError,
  RunOutcome,
} from '../../core/contract/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { readManifest } from '../../lake/published/manifest.js';
import { readPointer } from '../../lake/published/pointer.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { queryMirror } from '../follow/mirror-view.js';

/** The status of a mirrored resource. */
export interface ResourceStatus {
  readonly name: string;
  readonly checkpoint: { readonly updatedSince: UtcSeconds } | null;
  /** Rows of the current snapshot, including tombstones. */
  readonly rows: number | null;
  readonly lastRun: {
    readonly runId: RunId | null;
    readonly outcome: RunOutcome;
    /** When the run was published, ISO 8601; `null` if it was not. */
    readonly publishedAt: string | null;
  } | null;
  /** When the current snapshot was published, ISO 8601; a later failed run does not change it. */
  readonly snapshotAt: string | null;
  readonly warnings: readonly string[];
  /** Why the last run was not published. */
  readonly error: RunError | null;
  readonly active: ActiveRun | null;
  /** `null` if the configured page size is in use, or if the page size is not known. */
  readonly pageSize: LearnedPageSize | null;
  /** The source of this status. */
  readonly from: 'mirror' | 'latest.json';
}

export interface StatusOptions {
  /** Time limit of a mirror's answer, in milliseconds. Default: 4,000. */
  readonly timeoutMs?: number | undefined;
}

/**
 * The status of each resource of a connection, from its mirror, or from `latest.json` if the mirror does not answer.
 *
 * @param temporal `null` if Temporal is unreachable
 * @throws StoreError if the lake cannot be read
 * @example
 * const resources = await readStatus(temporal, connection, store);
 * for (const { name, rows, error } of resources) console.log(name, rows, error?.message);
 */
export function readStatus(
  temporal: TemporalClient | null,
  connection: ConnectionSettings,
  store: ObjectStore,
  options: StatusOptions = {},
): Promise<ResourceStatus[]> {
  return Promise.all(
    connection.resources.map(async ({ name }) => {
      const mirror =
        temporal === null ? null : await tryQueryMirror(temporal, connection.name, name, options);
      return mirror === null ? fromLake(store, name) : fromMirror(mirror);
    }),
  );
}

async function tryQueryMirror(
  temporal: TemporalClient,
  connection: string,
  resource: string,
  { timeoutMs }: StatusOptions,
): Promise<MirrorStatus | null> {
  try {
    return await withDeadline(temporal, () => queryMirror(temporal, connection, resource), timeoutMs);
  } catch {
    // The mirror does not exist, or no worker or server answers. The lake is the fallback.
    return null;
  }
}

function fromMirror({
  resource,
  checkpoint,
  published,
  lastRun,
  active,
  pageSize,
  tableWarning,
}: MirrorStatus): ResourceStatus {
  const isPublished = lastRun?.outcome === 'published' && lastRun.runId === published?.runId;
  const snapshotAt = published === null ? null : new Date(published.publishedAt).toISOString();
  const publishedAt = isPublished ? snapshotAt : null;
  return {
    name: resource,
    checkpoint,
    rows: published?.rows ?? null,
    lastRun: lastRun && { runId: lastRun.runId, outcome: lastRun.outcome, publishedAt },
    snapshotAt,
    // The run that the table does not show may not be the last one.
    warnings: [
      ...new Set([...(lastRun?.warnings ?? []), ...(tableWarning === undefined ? [] : [tableWarning])]),
    ],
    error: lastRun?.error ?? null,
    active,
    pageSize: pageSize ?? null,
    from: 'mirror',
  };
}

async function fromLake(store: ObjectStore, name: string): Promise<ResourceStatus> {
  const pointer = await readPointer(store, name);
  const nothing = { name, error: null, active: null, pageSize: null, from: 'latest.json' } as const;
  if (pointer === null)
    return { ...nothing, checkpoint: null, rows: null, lastRun: null, snapshotAt: null, warnings: [] };
  const { runId, checkpoint, rows, publishedAt, snapshot } = pointer;
  const manifest = await readManifest(store, snapshot);
  const warnings = manifest?.warnings ?? [`${snapshot} is missing, although latest.json names it`];
  const lastRun = { runId, outcome: 'published', publishedAt } as const;
  return { ...nothing, checkpoint, rows, lastRun, snapshotAt: publishedAt, warnings };
}
