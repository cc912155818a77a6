import type { ObjectKey, RunId } from '../../core/brands.js';
import { errorMessage, WorktrackError } from '../../core/errors.js';
import { DamagedError } from '../damaged-error.js';
import { dateOfRun, pointerKey } from '../documents/lake-layout.js';
import { type Manifest, readManifest } from '../documents/manifest.js';
import { type Pointer, readPointer } from '../documents/pointer.js';
import { type ObjectStore, toObjectKey } from '../store/index.js';
import { readPublishedIds } from './chain.js';
import { listRuns } from './run-folders.js';

/** Nothing is published for a resource, or nothing on the requested day. Request another day, or run an export. */
export class SnapshotNotFoundError extends WorktrackError {
  readonly code = 'SNAPSHOT_NOT_FOUND';
  readonly resource: string;
  /** Days that have a published snapshot, such as `2026-11-21`, newest first; empty if nothing is published. */
  readonly dates: readonly string[];

  constructor(
    message: string,
    details: { readonly resource: string; readonly dates: readonly string[]; readonly remedy: string },
  ) {
    super(message, details);
    this.resource = details.resource;
    this.dates = details.dates;
  }
}

export interface PublishedSnapshot {
  readonly resource: string;
  readonly runId: RunId;
  /** Date of its `dt=` folder, such as `2026-11-21`. */
  readonly date: string;
  /** Key of its `_datapackage.json`. */
  readonly snapshot: ObjectKey;
  readonly manifest: Manifest;
  /** The pointer at the time of the read. */
  readonly pointer: Pointer;
}

/**
 * Reads the snapshot in `latest.json` (docs/reference/lake.md).
 *
 * @throws SnapshotNotFoundError if nothing is published; DamagedError if the pointer or manifest is damaged or missing;
 *   StoreError if the store fails
 * @example
 * const { runId, manifest } = await readPublished(store, 'tasks');
 * console.log(runId, manifest.counts.rows);
 */
export async function readPublished(store: ObjectStore, resource: string): Promise<PublishedSnapshot> {
  const at = pointerKey(resource);
  const pointer = await readOrDamaged(at, () => readPointer(store, resource));
  if (pointer === null) {
    throw new SnapshotNotFoundError(`${resource}: nothing is published in ${store.url} yet`, {
      resource,
      dates: [],
      remedy: 'Run an export first: worktrack export',
    });
  }
  const { runId, snapshot } = pointer;
  const manifest = await readManifest(store, snapshot, pointer.manifests.snapshot);
  if (manifest === null) throw new DamagedError(`${snapshot}, which ${at} names, is missing`);
  const date = await readOrDamaged(at, () => dateOfRun(snapshot));
  return { resource, runId, date, snapshot, manifest, pointer };
}

/**
 * Reads the manifest of one run, for example the snapshot in a run's report. The snapshot may be older than the
 * one in `latest.json` now.
 *
 * @param key key of a `_datapackage.json`
 * @throws SnapshotNotFoundError if it was removed, for example by the retention; DamagedError; StoreError
 * @example
 * // In an activity of the workflow in `onPublished`:
 * const manifest = await readSnapshotAt(store, report.snapshot);
 * for await (const row of readRecords(store, manifest)) console.log(row.id);
 */
export async function readSnapshotAt(store: ObjectStore, key: string): Promise<Manifest> {
  const at = toObjectKey(key);
  const manifest = await readManifest(store, at);
  if (manifest !== null) return manifest;
  throw new SnapshotNotFoundError(`${at} does not exist in ${store.url}`, {
    resource: key.slice(0, key.indexOf('/')),
    dates: [],
    remedy: 'The retention may have removed it. Read the current snapshot instead.',
  });
}

/**
 * Reads the snapshot of the last published run of a day. It follows the chain of runs back to that day.
 *
 * @param current result of `readPublished`
 * @param date date of the `dt=` folder, such as `2026-11-21`
 * @throws SnapshotNotFoundError with the days that have a snapshot; DamagedError and StoreError as `readPublished`
 * @example
 * const current = await readPublished(store, 'tasks');
 * const { manifest } = await readPublishedOn(store, current, '2026-11-21');
 */
export async function readPublishedOn(
  store: ObjectStore,
  current: PublishedSnapshot,
  date: string,
): Promise<PublishedSnapshot> {
  if (current.date === date) return current;
  const { resource, pointer } = current;
  const snapshots = await listRuns(store, resource, 'snapshots');
  const dates = new Set<string>();
  for (const runId of (await readPublishedIds(store, pointer)).runs) {
    const snapshot = snapshots.get(runId);
    if (snapshot === undefined) continue;
    const day = dateOfRun(snapshot);
    dates.add(day);
    if (day !== date) continue;
    const manifest = await readManifest(store, snapshot);
    // Without a manifest, the clean-up is removing this snapshot: a later run superseded it, or it is too old.
    if (manifest !== null) return { resource, runId, date, snapshot, manifest, pointer };
    dates.delete(day);
  }
  const list = [...dates].sort().reverse();
  throw new SnapshotNotFoundError(`${resource}: no snapshot of ${date} is published in ${store.url}`, {
    resource,
    dates: list,
    remedy: `Snapshots exist for ${list.join(', ')}.`,
  });
}

/**
 * Reads the snapshot of a published run, for example the one before a rollback. It follows the chain back to that run.
 *
 * @param current result of `readPublished`
 * @throws SnapshotNotFoundError with the runs that have a snapshot; DamagedError and StoreError as `readPublished`
 * @example
 * const current = await readPublished(store, 'tasks');
 * const { manifest } = await readPublishedRun(store, current, '20261121T020000Z-1a2b3c4d' as RunId);
 */
export async function readPublishedRun(
  store: ObjectStore,
  current: PublishedSnapshot,
  runId: RunId,
): Promise<PublishedSnapshot> {
  if (current.runId === runId) return current;
  const { resource, pointer } = current;
  const snapshots = await listRuns(store, resource, 'snapshots');
  const { runs } = await readPublishedIds(store, pointer);
  const snapshot = runs.has(runId) ? snapshots.get(runId) : undefined;
  const manifest = snapshot === undefined ? null : await readManifest(store, snapshot);
  if (snapshot !== undefined && manifest !== null)
    return { resource, runId, date: dateOfRun(snapshot), snapshot, manifest, pointer };
  const kept = [...runs].filter((published) => snapshots.has(published));
  throw new SnapshotNotFoundError(`${resource}: run ${runId} has no published snapshot in ${store.url}`, {
    resource,
    dates: [],
    remedy: `Snapshots exist for runs ${kept.slice(0, MAX_RUNS_NAMED).join(', ')}. See: worktrack history`,
  });
}

const MAX_RUNS_NAMED = 10;

async function readOrDamaged<T>(key: ObjectKey, read: () => Promise<T> | T): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (!(cause instanceof SyntaxError || cause instanceof RangeError)) throw cause;
    throw new DamagedError(`${key} cannot be read: ${errorMessage(cause)}`, { cause });
  }
}
