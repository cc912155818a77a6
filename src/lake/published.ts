import type { ObjectKey, RunId } from '../core/brands.js';
import { publishedRuns, RunChain } from './chain.js';
import { DamagedError } from './damaged-error.js';
import { dateOfRun, inFolder, MANIFEST, pointerKey, runFolder, treePrefix } from './layout.js';
import { type Manifest, readManifest } from './manifest.js';
import { decodePointer, type Pointer } from './pointer.js';
import { listRuns } from './runs.js';
import { SnapshotNotFoundError } from './snapshot-not-found-error.js';
import type { ObjectStore } from './store/index.js';

/** A snapshot that readers may take. */
export interface PublishedSnapshot {
  readonly resource: string;
  readonly runId: RunId;
  /** Of its `dt=`, `2026-11-21`. */
  readonly date: string;
  /** Key of its `_datapackage.json`. */
  readonly snapshot: ObjectKey;
  readonly manifest: Manifest;
  /** What `latest.json` said. */
  readonly pointer: Pointer;
}

/**
 * The snapshot that `latest.json` names (DESIGN 6).
 *
 * @throws SnapshotNotFoundError when nothing is published; DamagedError when what is there cannot be read;
 *   StoreError when the store cannot
 */
export async function readPublished(store: ObjectStore, resource: string): Promise<PublishedSnapshot> {
  const at = pointerKey(resource);
  const found = await store.readIfExists(at);
  if (found === null) {
    throw new SnapshotNotFoundError(`${resource}: nothing is published in ${store.url} yet`, {
      resource,
      dates: [],
      remedy: 'Run `worktrack export` first.',
    });
  }
  const pointer = read(at, () => decodePointer(found.body));
  const { runId, snapshot } = pointer;
  const manifest = await readManifest(store, snapshot);
  if (manifest === null) throw new DamagedError(`${snapshot}, which ${at} names, is not there`);
  const date = read(at, () => dateOfRun(snapshot));
  return { resource, runId, date, snapshot, manifest, pointer };
}

/**
 * The snapshot of the last run of a day that was published. The way to it leads through the change log's manifest of
 * every run since, one after the other.
 *
 * @param current what `readPublished` gave
 * @param date of the `dt=`, `2026-11-21`
 * @throws SnapshotNotFoundError that lists the days that there are; DamagedError and StoreError as above
 */
export async function readPublishedOn(
  store: ObjectStore,
  current: PublishedSnapshot,
  date: string,
): Promise<PublishedSnapshot> {
  if (current.date === date) return current;
  const { resource, pointer } = current;
  const days = await store.listFolders(treePrefix(resource, 'snapshots'));
  const snapshots = await listRuns(store, resource, 'snapshots', days);
  const dates = new Set<string>();
  for await (const { runId } of publishedRuns(pointer, new RunChain(store, { ...pointer, resource }))) {
    const day = snapshots.get(runId);
    if (day === undefined) continue;
    dates.add(day);
    if (day !== date) continue;
    const snapshot = inFolder(runFolder(resource, 'snapshots', day, runId), MANIFEST);
    const manifest = await readManifest(store, snapshot);
    // Without one the clean-up is removing it, because a later run of the day is there or the day is too old.
    if (manifest !== null) return { resource, runId, date, snapshot, manifest, pointer };
    dates.delete(day);
  }
  const list = [...dates].sort().reverse();
  throw new SnapshotNotFoundError(`${resource}: no snapshot of ${date} is published in ${store.url}`, {
    resource,
    dates: list,
    remedy: `There are snapshots of ${list.join(', ')}.`,
  });
}

function read<T>(key: ObjectKey, decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    if (cause instanceof DamagedError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new DamagedError(`${key} cannot be read: ${why}`, { cause });
  }
}
