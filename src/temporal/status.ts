import type { RunId, UtcSeconds } from '../core/brands.js';
import type { ActiveRun, MirrorStatus, RunError, RunOutcome } from '../core/contract.js';
import type { ConnectionSettings } from '../core/settings.js';
import { pointerKey } from '../lake/layout.js';
import { readManifest } from '../lake/manifest.js';
import { decodePointer } from '../lake/pointer.js';
import type { ObjectStore } from '../lake/store/index.js';
import type { TemporalClient } from './connect.js';
import { queryMirror } from './mirror-view.js';

/** What is known of a mirrored resource. */
export interface ResourceStatus {
  readonly name: string;
  readonly checkpoint: { readonly updatedSince: UtcSeconds } | null;
  /** In the snapshot published last, tombstones too. */
  readonly rows: number | null;
  readonly lastRun: {
    readonly runId: RunId | null;
    readonly outcome: RunOutcome;
    /** When the run was published, ISO 8601; `null` when it was not. */
    readonly publishedAt: string | null;
  } | null;
  /** When the snapshot that is to be read was published, ISO 8601: a failed run after it changes nothing. */
  readonly snapshotAt: string | null;
  readonly warnings: readonly string[];
  /** Why the last run was not published. */
  readonly error: RunError | null;
  readonly active: ActiveRun | null;
  /** Who said so. */
  readonly from: 'mirror' | 'latest.json';
}

export interface StatusOptions {
  /** How long a mirror may take to answer, in milliseconds. Default: 4,000. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Asks every mirror of a connection; where none answers, `latest.json` is read.
 *
 * @param temporal `null` where Temporal is known to be out of reach
 * @throws StoreError when the lake cannot be read either
 */
export function readStatus(
  temporal: TemporalClient | null,
  connection: ConnectionSettings,
  store: ObjectStore,
  options: StatusOptions = {},
): Promise<ResourceStatus[]> {
  return Promise.all(
    connection.resources.map(async ({ name }) => {
      const mirror = temporal === null ? null : await askMirror(temporal, connection.name, name, options);
      return mirror === null ? fromLake(store, name) : fromMirror(mirror);
    }),
  );
}

async function askMirror(
  temporal: TemporalClient,
  connection: string,
  resource: string,
  { timeoutMs = 4_000 }: StatusOptions,
): Promise<MirrorStatus | null> {
  try {
    return await temporal.client.connection.withDeadline(Date.now() + timeoutMs, () =>
      queryMirror(temporal, connection, resource),
    );
  } catch {
    // No such mirror, no worker that answers, no server: the lake is there in each case.
    return null;
  }
}

function fromMirror({ resource, checkpoint, published, lastRun, active }: MirrorStatus): ResourceStatus {
  const isPublished = lastRun?.outcome === 'published' && lastRun.runId === published?.runId;
  const snapshotAt = published === null ? null : new Date(published.publishedAt).toISOString();
  const publishedAt = isPublished ? snapshotAt : null;
  return {
    name: resource,
    checkpoint,
    rows: published?.rows ?? null,
    lastRun: lastRun && { runId: lastRun.runId, outcome: lastRun.outcome, publishedAt },
    snapshotAt,
    warnings: lastRun?.warnings ?? [],
    error: lastRun?.error ?? null,
    active,
    from: 'mirror',
  };
}

async function fromLake(store: ObjectStore, name: string): Promise<ResourceStatus> {
  const found = await store.readIfExists(pointerKey(name));
  const nothing = { name, error: null, active: null, from: 'latest.json' } as const;
  if (found === null)
    return { ...nothing, checkpoint: null, rows: null, lastRun: null, snapshotAt: null, warnings: [] };
  const { runId, checkpoint, rows, publishedAt, snapshot } = decodePointer(found.body);
  const manifest = await readManifest(store, snapshot);
  const warnings = manifest?.warnings ?? [`${snapshot}, which latest.json names, is missing`];
  const lastRun = { runId, outcome: 'published', publishedAt } as const;
  return { ...nothing, checkpoint, rows, lastRun, snapshotAt: publishedAt, warnings };
}
