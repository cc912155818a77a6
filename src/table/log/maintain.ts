import type { EpochMs, Millis } from '../../core/brands.js';
import { tableKeys } from '../../lake/documents/lake-layout.js';
import { keptSince } from '../../lake/published/retention.js';
import { rewrite, writeIfUnchanged } from '../../lake/published/swap.js';
import {
  ALL_REMOVED,
  addRemovals,
  type ListOptions,
  type ObjectStore,
  type Removal,
} from '../../lake/store/index.js';
import {
  CHECKPOINT_EVERY,
  type CheckpointHint,
  checkpointActions,
  encodeCheckpoint,
  hintOf,
  versionIn,
} from './checkpoint.js';
import { type LogObject, type TablePlace, versionOfDataFile } from './paths.js';
import type { ListedTable, Table } from './read-table.js';
import type { TableState } from './table-state.js';

interface MaintenanceInput extends TablePlace {
  /** How long replaced versions stay readable. */
  readonly retentionMs: Millis;
  /** By Temporal's clock. */
  readonly now: EpochMs;
  readonly signal: AbortSignal;
}

/**
 * Writes a checkpoint of the newest version if one is due, and removes data files and log entries that no kept version
 * needs. It can be interrupted and repeated at any point.
 *
 * @returns what the store refused to remove
 */
export async function maintainTable(input: MaintenanceInput, table: ListedTable): Promise<Removal> {
  const { store, resource, now, retentionMs, signal } = input;
  const { state, checkpoint, log, hint, modifiedAt } = table;
  // Temporal's clock may be ahead, and what has expired by it would be gone forever. The listing is from before the commit of this
  // run, so versions may stay until the next commit.
  const since = keptSince(Math.min(now, modifiedAt), retentionMs);
  if (state.version - checkpoint >= CHECKPOINT_EVERY) await writeCheckpoint(input, state, since);
  signal.throwIfAborted();
  const unused = garbage(state, table.sizes.keys(), since);
  const files = await store.remove(unused.map((path) => tableKeys(resource).data(path)));
  signal.throwIfAborted();
  // The list is from before the new checkpoint, so the log before it is removed next time.
  const outdated = outdatedLog(log, since, state.shown?.version);
  if (outdated.length === 0) return files;
  // A worker that dies after it has written a checkpoint does not write the hint, which can be outdated.
  if (hint !== null) await writeHint(input, hint);
  return addRemovals(files, await removeLog(input, outdated));
}

/**
 * Ends time travel: removes every data file up to the newest version that this version does not name, and the log before
 * it. Nothing that an earlier version held is left, except what the store refused to remove.
 *
 * @returns what that is
 */
export async function forgetEarlierVersions(
  input: TablePlace & Pick<MaintenanceInput, 'signal'>,
  { state, log }: Table,
): Promise<Removal> {
  const { store, resource, signal } = input;
  if (state.version < 0) return ALL_REMOVED;
  await writeCheckpoint(input, state, Number.POSITIVE_INFINITY);
  const unused = (await listDataFiles(store, resource)).filter((path) => {
    // A replaced attempt can be late. Files of a later version may be in use.
    const isLater = (versionOfDataFile(path) ?? -1) > state.version;
    return !state.files.has(path) && !isLater;
  });
  signal.throwIfAborted();
  // Our last commit says what the table shows. It has no value of a row.
  const earlier = log.filter(({ version }) => version < (state.shown?.version ?? state.version));
  const entries = await removeLog(input, earlier);
  signal.throwIfAborted();
  const files = await store.remove(unused.map((path) => tableKeys(resource).data(path)));
  // An unfinished upload can hold what earlier versions held.
  const { refused: said } = await store.abortUploads(tableKeys(resource).prefix);
  const uploads =
    said === null
      ? ALL_REMOVED
      : {
          refused: 1,
          said: `unfinished uploads, which s3:ListBucketMultipartUploads and s3:AbortMultipartUpload allow to end: ${said}`,
        };
  return addRemovals(entries, files, uploads);
}

/** Paths of all objects of a table outside its log. @throws StoreError also for a folder that this user may not read, whoever made it */
export async function listDataFiles(store: ObjectStore, resource: string): Promise<string[]> {
  return [...(await listSizes(store, resource)).keys()];
}

/** Sizes of all objects of a table outside its log, in bytes, by path. */
export async function listSizes(
  store: ObjectStore,
  resource: string,
  options: ListOptions = {},
): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  const prefix = tableKeys(resource).prefix;
  for await (const { key, bytes } of store.list(prefix, options)) {
    const path = key.slice(prefix.length);
    if (!path.startsWith('_delta_log/')) sizes.set(path, bytes);
  }
  return sizes;
}

/**
 * Writes a checkpoint of the newest version, and the hint that names it. Two attempts write checkpoints of the same state.
 * They differ at most in the removed files whose retention has ended, so a late one does no harm.
 */
export async function writeCheckpoint(at: TablePlace, state: TableState, since: number): Promise<void> {
  const actions = checkpointActions(state, since);
  const body = await encodeCheckpoint(actions, at);
  await at.store.write(tableKeys(at.resource).checkpoint(state.version), body);
  await writeHint(at, hintOf(state, actions.length, body.length));
}

/** Makes `_last_checkpoint` name this checkpoint, unless it names a later one. */
async function writeHint({ store, resource }: TablePlace, hint: CheckpointHint): Promise<void> {
  const key = tableKeys(resource).lastCheckpoint;
  const text = Buffer.from(JSON.stringify(hint));
  const isNewer = (current: Buffer): boolean => versionIn(current) < hint.version;
  // Conditional, because a late write must not name an earlier checkpoint, which may be gone.
  const found = await rewrite(store, key, (current) => (isNewer(current) ? text : null));
  if (found === null) await writeIfUnchanged(store, key, text, 'absent');
}

function removeLog({ store, resource }: TablePlace, objects: readonly LogObject[]): Promise<Removal> {
  const keys = tableKeys(resource);
  // Oldest first, so that what is left of an interrupted removal has no gap.
  const inOrder = [...objects].sort((a, b) => a.version - b.version);
  return store.remove(inOrder.map(({ kind, version }) => keys[kind](version)));
}

/**
 * Data files that are in no kept version. A file that was written for a later version than `state` may belong to a commit
 * in progress. A file that was written for an earlier one cannot: a commit of that version exists already.
 *
 * @param paths objects of the table outside its log
 */
export function garbage(state: TableState, paths: Iterable<string>, since: number): string[] {
  return [...paths].filter((path) => {
    if (state.files.has(path)) return false;
    const removed = state.removed.get(path);
    if (removed !== undefined) return removed.deletionTimestamp < since;
    const version = versionOfDataFile(path);
    return version !== null && version <= state.version;
  });
}

/**
 * Commits and checkpoints that no kept version needs (PROTOCOL.md, "Metadata Cleanup"): those before the newest
 * checkpoint that is not newer than the version shown at `since`.
 *
 * @param shownIn our last commit, which says what the table shows. It is kept although only other programs committed since
 */
export function outdatedLog<T extends LogObject>(
  objects: readonly T[],
  since: number,
  shownIn = Number.POSITIVE_INFINITY,
): T[] {
  const shown = newest(objects.filter(({ kind, modifiedAt }) => kind === 'commit' && modifiedAt <= since));
  const start = newest(objects.filter(({ kind, version }) => kind === 'checkpoint' && version <= shown));
  return objects.filter(({ version }) => version < Math.min(start, shownIn));
}

function newest(objects: readonly LogObject[]): number {
  return Math.max(-1, ...objects.map(({ version }) => version));
}
