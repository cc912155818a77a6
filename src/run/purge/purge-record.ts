import { Context } from '@temporalio/activity';
import type { ObjectKey, RunId } from '../../core/brands.js';
import type { PurgeRecordInput, RecordPurged } from '../../core/contract/index.js';
import { inParallel } from '../../core/in-parallel.js';
import { beganAfter, isRunId } from '../../core/run-id.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { summaryOf } from '../../lake/documents/check-record.js';
import { manifestChecksums } from '../../lake/documents/checksums.js';
import {
  folderOf,
  PREVIOUS_RUNS,
  pointerKey,
  stagingPrefix,
  type Tree,
} from '../../lake/documents/lake-layout.js';
import type { Manifest } from '../../lake/documents/manifest.js';
import {
  decodePointer,
  encodePointer,
  type FoundPointer,
  type Pointer,
} from '../../lake/documents/pointer.js';
import { type ListedRun, readKnownRuns } from '../../lake/published/chain.js';
import { AMONG_OTHERS } from '../../lake/published/foreign-files.js';
import { purgedRows, recountRows } from '../../lake/published/purge-rules.js';
import { keysInQuarantine, notePurge, removeFromQuarantine } from '../../lake/published/quarantine.js';
import { listRuns, type RunFolders } from '../../lake/published/run-folders.js';
import { rewrite, writeIfUnchanged } from '../../lake/published/swap.js';
import { hasMaskedKey, type Profile } from '../../lake/rows/profile.js';
import { ALL_REMOVED, addRemovals, type ObjectStore, type Removal } from '../../lake/store/index.js';
import { followPointerAndForget } from '../../table/index.js';
import { temporalClock } from '../activity-context.js';
import type { ActivityDeps } from '../deps.js';
import { finalFailure } from '../failures.js';
import { withKeySecret, withMaskingFingerprint } from '../masking-secret.js';
import { checkIsEmpty, checkIsNewId, passFence, readSnapshot } from '../pass-fence.js';
import { checkTableCanBePurged, tableTask } from '../publish/delta-table.js';
import { removeAll, removeFolder } from '../remove-folders.js';
import { readListed } from '../sweep/find-garbage.js';
import { purgeTree, type TreePurge } from './purge-tree.js';

const HEADS_AT_ONCE = 8;

/**
 * Removes one record from all snapshots and change logs of a resource, including those of unpublished runs, and from staging folders and
 * quarantine files. No other run of the mirror is in progress during a purge. The purge writes the
 * pointer first. A run that began earlier, for example in another mirror, then cannot be published: its swap expects the
 * previous version of the pointer.
 */
export async function purgeRecord(deps: ActivityDeps, input: PurgeRecordInput): Promise<RecordPurged> {
  const { store, settings } = deps.connection(input.connection);
  const signal = Context.current().cancellationSignal;
  const now = temporalClock();
  const { found } = await passFence(store, { ...input, baseUrl: settings.baseUrl, adopt: false });
  const isPublished = found !== null;
  await checkTableCanBePurged(store, { ...input, tables: settings.tables, isPublished, signal });
  // Without `latest.json`, a folder without a manifest may be of a published run, whose manifest is lost.
  if (found === null) await checkIsEmpty(store, { ...input, adopt: false });
  // An earlier attempt may have written the pointer.
  else if (found.pointer.amendedBy !== input.runId) checkIsNewId(found, input);
  const profiles = await profilesOf(store, found, settings, input);
  if (found !== null) {
    await checkManifests(store, found.pointer);
    await fencePointer(store, found, input);
  }
  let refused = ALL_REMOVED;
  const onRefused = (removal: Removal): void => {
    refused = addRemovals(refused, removal);
  };
  onRefused(await removeStaged(store, input, signal));
  const quarantined = await purgeQuarantine(store, settings, profiles, input, signal);
  onRefused(quarantined.refused);
  const purged = { snapshots: 0, changeLogs: 0, quarantineFiles: quarantined.files };
  const folders = await listFolders(store, input.resource);
  const purge = { values: input.key, by: input.runId, masking: settings, onRefused, signal };
  for (const runId of new Set([...folders.snapshots.keys(), ...folders.changes.keys()])) {
    signal.throwIfAborted();
    const removed = await purgeRun(store, folders, runId, purge);
    if (removed.snapshot) purged.snapshots++;
    if (removed.changes) purged.changeLogs++;
  }
  const nothing = { published: null, checkpoint: null };
  const current = found === null ? nothing : await updatePointer(store, found, input);
  const { tables, retention } = settings;
  // A purge has not ended until the table holds the record in none of its versions.
  if (tables !== null) {
    const task = tableTask({ store, resource: input.resource, tables, retention, now, signal });
    onRefused((await followPointerAndForget(task)).refused);
  }
  if (refused.refused > 0) throw notRemovedFailure(input.resource, refused);
  return { ...current, purged };
}

/**
 * Writes a new version of the pointer, so that the store rejects every swap that expects the previous version.
 *
 * @throws a retryable error when another process has written the pointer since it was read
 */
async function fencePointer(
  store: ObjectStore,
  { pointer, etag }: FoundPointer,
  { resource, runId, writer }: PurgeRecordInput,
): Promise<void> {
  // An earlier attempt has done it.
  if (pointer.amendedBy === runId) return;
  const body = encodePointer({ ...pointer, writer, amendedBy: runId });
  if ((await writeIfUnchanged(store, pointerKey(resource), body, { etag })) === 'written') return;
  throw new Error(
    `${resource}/latest.json was changed by another process when the purge began. The purge retries.`,
  );
}

/** Removes the staging folders of runs that began before the purge. They have ended or can no longer be published. */
async function removeStaged(
  store: ObjectStore,
  { resource, runId }: PurgeRecordInput,
  signal: AbortSignal,
): Promise<Removal> {
  let refused = ALL_REMOVED;
  for (const staged of await store.listFolders(stagingPrefix(resource), AMONG_OTHERS)) {
    if (isRunId(staged) && beganAfter(staged, runId)) continue;
    const removal = await removeAll(store, `${stagingPrefix(resource)}${staged}/`, signal);
    refused = addRemovals(refused, removal);
  }
  return refused;
}

/**
 * The profiles that rows of the resource were written with, apart from those of earlier settings: that of the published snapshot, and
 * today's.
 *
 * @throws a final failure `Configuration` if the key has another number of fields
 */
async function profilesOf(
  store: ObjectStore,
  found: FoundPointer | null,
  settings: ConnectionSettings,
  input: PurgeRecordInput,
): Promise<readonly Profile[]> {
  const today = settings.resources.find(({ name }) => name === input.resource);
  const profiles: Profile[] = [];
  // Only a key that is masked needs the secret.
  if (today !== undefined)
    profiles.push(hasMaskedKey(today) ? await withMaskingFingerprint(settings, today) : today);
  if (found !== null) {
    const { key, csv, selection: columns } = await readSnapshot(store, found.pointer);
    profiles.unshift({ key, csv, columns });
  }
  if (profiles.length > 0) checkKey(profiles[0]!.key, input);
  return profiles;
}

/** Removes the record from quarantine files, and notes that it is to be removed from those that arrive late. */
async function purgeQuarantine(
  store: ObjectStore,
  settings: ConnectionSettings,
  profiles: readonly Profile[],
  { resource, runId, key }: PurgeRecordInput,
  signal: AbortSignal,
): ReturnType<typeof removeFromQuarantine> {
  const ready = await Promise.all(profiles.map((profile) => withKeySecret(settings, profile)));
  const { columns, keys } = keysInQuarantine(ready, key);
  if (keys.size > 0) await notePurge(store, resource, runId, { columns, keys });
  return removeFromQuarantine(store, resource, { columns, isKey: (one) => keys.has(one) }, signal);
}

function checkKey(fields: readonly string[], { resource, key }: PurgeRecordInput): void {
  if (fields.length === key.length) return;
  throw finalFailure(
    'Configuration',
    `${resource}: the key has the fields ${fields.join(', ')}, but ${key.length} values were given. Give one \`--key\` for each field, in this order.`,
  );
}

/**
 * Checks that no folder of a published run lacks its manifest, also on chains that were left behind: without it, whether a row
 * of the folder is the record is not known.
 */
async function checkManifests(store: ObjectStore, pointer: Pointer): Promise<void> {
  const { resource } = pointer;
  const folders = await listFolders(store, resource);
  const keysOf = (runId: RunId): ObjectKey[] =>
    (['changes', 'snapshots'] as const).flatMap((tree) => folders[tree].get(runId) ?? []);
  const read = (runId: RunId): Promise<ListedRun | null> => readListed(store, keysOf(runId));
  const head = await read(pointer.runId);
  const published = new Set<RunId>([pointer.runId]);
  if (head !== null)
    for await (const known of readKnownRuns(head, read, PREVIOUS_RUNS))
      for (const runId of known.published.keys()) published.add(runId);
  await inParallel([...published].flatMap(keysOf), HEADS_AT_ONCE, async (key) => {
    if ((await store.head(key)) !== null) return;
    throw finalFailure(
      'Lake',
      `${store.url}/${key} is missing, so it is not known which objects of its folder belong to that published run. Restore it, ` +
        'then run the purge again. The next run removes the folder if it is a snapshot that has expired.',
    );
  });
}

/** The folders of all runs in both trees. */
async function listFolders(store: ObjectStore, resource: string): Promise<Record<Tree, RunFolders>> {
  const snapshots = await listRuns(store, resource, 'snapshots');
  return { snapshots, changes: await listRuns(store, resource, 'changes') };
}

async function purgeRun(
  store: ObjectStore,
  folders: Readonly<Record<Tree, RunFolders>>,
  runId: RunId,
  purge: Omit<TreePurge, 'tree' | 'manifest'>,
): Promise<{ snapshot: boolean; changes: boolean }> {
  const purged: Record<Tree, Manifest | null> = { snapshots: null, changes: null };
  for (const tree of ['snapshots', 'changes'] as const) {
    const manifest = folders[tree].get(runId);
    if (manifest === undefined) continue;
    purged[tree] = await purgeTree(store, { ...purge, tree, manifest });
    // Without a manifest, the run was never completed. One that began later is based on a snapshot without the record.
    if (purged[tree] === null && !beganAfter(runId, purge.by))
      purge.onRefused(await removeFolder(store, folderOf(manifest), purge.signal));
  }
  const { snapshots, changes } = purged;
  if (snapshots !== null && changes !== null) {
    const { rows } = snapshots.counts;
    const key = folders.changes.get(runId)!;
    if (changes.counts.rows !== rows) await rewrite(store, key, (body) => recountRows(body, rows));
  }
  const isPurged = (manifest: Manifest | null): boolean =>
    purgedRows({ purged: manifest?.purged?.filter((one) => one.runId === purge.by) ?? [] }) > 0;
  return { snapshot: isPurged(snapshots), changes: isPurged(changes) };
}

/** Updates the row count and the SHA-256 of the manifests in the pointer. Returns what is published after the purge. */
async function updatePointer(
  store: ObjectStore,
  { pointer: { runId, snapshot, changes } }: FoundPointer,
  { resource }: PurgeRecordInput,
): Promise<Omit<RecordPurged, 'purged'>> {
  const { counts, deletes, checks, fullRead } = await readSnapshot(store, { resource, snapshot, changes });
  const manifests = await manifestChecksums(store, { snapshot, changes });
  const body = await rewrite(store, pointerKey(resource), (current) => {
    const pointer = decodePointer(current);
    if (pointer.runId !== runId) throw displacedFailure(resource, pointer.runId);
    const next = encodePointer({ ...pointer, rows: counts.rows, manifests });
    return next.equals(current) ? null : next;
  });
  if (body === null)
    throw finalFailure(
      'Displaced',
      `${resource}/latest.json is gone from the lake. Restore it, then run the purge again.`,
    );
  const { rows, publishedAt, checkpoint } = decodePointer(body);
  const missed = fullRead?.missed;
  const summary = {
    ...(checks === undefined ? {} : { checks: summaryOf(checks) }),
    ...(missed === undefined ? {} : { missed }),
  };
  const published = { runId, snapshot, rows, deletes, ...summary, publishedAt: Date.parse(publishedAt) };
  return { published, checkpoint };
}

/** Nothing names the objects any more, but they hold the record. */
function notRemovedFailure(resource: string, { refused, said }: Removal): Error {
  const objects = refused === 1 ? '1 object that' : `${refused} objects that`;
  return finalFailure(
    'Lake',
    `${resource}: the snapshots and change logs no longer have the record, but the store refused to remove ${objects} ` +
      `can hold it (${said}). Allow s3:DeleteObject, or end the lock or retention of the bucket, then run the purge again.`,
  );
}

function displacedFailure(resource: string, to: RunId): Error {
  return finalFailure(
    'Displaced',
    `${resource}: another mirror published run ${to} during the purge. Run the purge again, so that the record is removed from ` +
      'the snapshots of that mirror, too.',
  );
}
