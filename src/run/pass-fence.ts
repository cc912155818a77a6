import type { RunId } from '../core/brands.js';
import type { RunRef } from '../core/contract/index.js';
import { beganAfter, newestId } from '../core/run-id.js';
import { pointerKey } from '../lake/documents/lake-layout.js';
import { type Manifest, readManifest } from '../lake/documents/manifest.js';
import { type FoundPointer, type Pointer, readPointerVersion } from '../lake/documents/pointer.js';
import type { BaseSnapshot, RollbackTarget } from '../lake/documents/run-file.js';
import { findRun } from '../lake/published/chain.js';
import {
  checkFence,
  descendsFromPublished,
  isSameWriter,
  type WriterClaim,
} from '../lake/published/ownership.js';
import { findNewestRun, listRuns } from '../lake/published/run-folders.js';
import type { ObjectStore } from '../lake/store/index.js';
import { finalFailure } from './failures.js';

/** A pointer that this mirror may replace. */
export interface PassedFence {
  /** `null`: nothing is published. */
  readonly found: FoundPointer | null;
  readonly outcome: 'ours' | 'adopted' | 'empty';
  /** The service's earlier address; `null`: it has not moved. */
  readonly movedFrom: string | null;
  /** The connection's earlier name; `null`: it is the same. */
  readonly renamedFrom: string | null;
  /** The run that this mirror published last, if it is not on the chain that it adopts; `null` otherwise. */
  readonly leftBehind: RunId | null;
}

/**
 * Reads the pointer and checks that this mirror may write (docs/explanation/guarantees.md#one-writer).
 *
 * @throws a final failure: `Displaced` when this mirror may not write, `Lake` when `latest.json` is not a valid pointer;
 *   LakeLayoutError when the lake has another layout
 */
export async function passFence(store: ObjectStore, claim: WriterClaim): Promise<PassedFence> {
  const found = await readFoundPointer(store, claim.resource);
  const descends = found === null ? false : await descendsFromPublished(store, found.pointer, claim);
  const fence = checkFence(found?.pointer ?? null, claim, descends);
  if ('message' in fence) throw finalFailure('Displaced', fence.message);
  const { movedFrom = null, renamedFrom = null } = fence.outcome === 'adopted' ? fence : {};
  const leftBehind = descends ? null : await leftIn(store, claim);
  return { found, outcome: fence.outcome, movedFrom, renamedFrom, leftBehind };
}

/**
 * The run that this mirror published last, if it is in this lake: after a move to another lake it is not, and a chain that
 * no mirror can read would stop every sweep.
 */
async function leftIn(store: ObjectStore, { resource, publishedRunId }: WriterClaim): Promise<RunId | null> {
  if (publishedRunId === null) return null;
  if ((await findRun(store, resource, publishedRunId)) !== null) return publishedRunId;
  // The manifest of its change log may be lost.
  return (await listRuns(store, resource, 'snapshots')).has(publishedRunId) ? publishedRunId : null;
}

async function readFoundPointer(store: ObjectStore, resource: string): Promise<FoundPointer | null> {
  try {
    return await readPointerVersion(store, resource);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw finalFailure('Lake', `${store.url}/${pointerKey(resource)}: ${error.message}`);
  }
}

/**
 * Checks that the id of a run or purge is later than those in the pointer that it is based on. Otherwise a clock is behind, or
 * the mirror was reset to an earlier point and repeats an id; objects of that id may be published.
 *
 * @throws a final failure; the mirror then takes a later id
 */
export function checkIsNewId(
  { pointer: { runId: head, amendedBy } }: FoundPointer,
  { resource, runId }: Pick<RunRef, 'resource' | 'runId'>,
): void {
  const newerId = newestId([head, amendedBy])!;
  if (beganAfter(runId, newerId)) return;
  throw finalFailure(
    'Transient',
    `${resource}: the id ${runId} is not later than ${newerId}, which is already in the lake. Run the command again.`,
    { newerId },
  );
}

/**
 * Checks that a lake without `latest.json` has no runs either: an increment of a new mirror would otherwise publish a snapshot
 * without the rows and tombstones that only earlier runs have. A first run of this mirror that failed does not count.
 *
 * @param dates what `changeDates` returns, if the caller has already requested it
 * @returns the newest of these runs, if the run adopts the lake and so leaves it behind; `null` if there is none
 * @throws a final failure `Displaced`, unless the run adopts the lake; LakeLayoutError when the lake has another layout
 */
export async function checkIsEmpty(
  store: ObjectStore,
  { resource, writer, adopt }: Pick<WriterClaim, 'resource' | 'writer' | 'adopt'>,
  dates?: Promise<string[]>,
): Promise<RunId | null> {
  const newest = await findNewestRun(
    store,
    resource,
    (run) => run.previousRunId !== null || !isSameWriter(run.writer, writer),
    dates,
  );
  if (newest === null || adopt) return newest?.runId ?? null;
  throw finalFailure(
    'Displaced',
    `${store.url}/${pointerKey(resource)} is missing, but the lake has runs of ${resource}, the newest ${newest.runId}. Restore ` +
      'latest.json, or start the resource from the beginning: worktrack export --adopt',
  );
}

/**
 * Reads the manifest of the snapshot in the pointer.
 *
 * @throws a final failure `Lake` when it is missing. It names what works: a rollback reads the settings and columns of the head
 *   from the manifest of its change log
 */
export async function readSnapshot(
  store: ObjectStore,
  {
    resource,
    snapshot,
    changes,
    manifests,
  }: Pick<Pointer, 'resource' | 'snapshot' | 'changes'> & Partial<Pick<Pointer, 'manifests'>>,
): Promise<Manifest> {
  const manifest = await readManifest(store, snapshot, manifests?.snapshot);
  if (manifest !== null) return manifest;
  const isLogThere = changes !== null && (await store.head(changes)) !== null;
  throw finalFailure(
    'Lake',
    isLogThere
      ? `${store.url}/${snapshot}, the snapshot in latest.json, is missing. Restore it, or return to an ` +
          'earlier run with `worktrack rollback`.'
      : `${store.url}/${snapshot} is missing, and so is the manifest of the change log of the same run. Restore one of them ` +
          `and run \`worktrack rollback\`; or restore an earlier version of ${pointerKey(resource)} and continue from it: ` +
          'worktrack export --adopt',
  );
}

/** Reads the snapshot that a run is based on. @throws as `readSnapshot` */
export async function readBaseSnapshot(store: ObjectStore, found: FoundPointer): Promise<BaseSnapshot> {
  return baseSnapshot(found, await readSnapshot(store, found.pointer));
}

/** @param manifest of the snapshot, or of the run's change log, which has the same fields apart from the parts */
export function baseSnapshot({ pointer, etag }: FoundPointer, manifest: Manifest): BaseSnapshot {
  const { fullRead, rolledBack, deletes, changesLineBreaks, previousRuns, leftBehind } = manifest;
  const { uniques, measured, checkedTypes, organization } = manifest;
  return {
    ...snapshotFacts(manifest),
    ...{ fullRead, rolledBack, deletes, changesLineBreaks, previousRuns, leftBehind },
    ...{ uniques, measured, checkedTypes, organization },
    etag,
    manifest: pointer.snapshot,
    checkpoint: pointer.checkpoint.updatedSince,
    startedAt: Date.parse(manifest.startedAt),
    publishedAt: Date.parse(manifest.publishedAt),
    rows: manifest.counts.rows,
  };
}

/** What a run needs to know of a snapshot that it is based on, or that a rollback returns to. */
export function snapshotFacts(manifest: Manifest): RollbackTarget {
  const { runId, parts, columns, key, csv, selection, fingerprint, list, shapes, readUpTo } = manifest;
  const { workflow, service } = readUpTo;
  return {
    ...{ runId, parts, columns, fingerprint, list, shapes },
    checkpoint: manifest.checkpoint.updatedSince,
    readUpTo: { workflow: Date.parse(workflow), service: service === null ? null : Date.parse(service) },
    profile: { key, csv, columns: selection },
  };
}
