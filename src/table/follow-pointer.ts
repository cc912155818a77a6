import { randomUUID } from 'node:crypto';
import type { RunId } from '../core/brands.js';
import { errorMessage } from '../core/errors.js';
import { VERSION } from '../core/version.js';
import { DamagedError } from '../lake/damaged-error.js';
import { pointerKey } from '../lake/published/layout.js';
import { decodePointer, type Pointer } from '../lake/published/pointer.js';
import { writeIfUnchanged } from '../lake/published/rewrite.js';
import { ObjectNotFoundError, type ObjectStore } from '../lake/store/index.js';
import { writeSnapshotFiles } from './data-files.js';
import { TableError, unfitWarning } from './errors.js';
import { type Action, APP_ID, encodeCommit, type MetaData, PROTOCOL } from './log/actions.js';
import { forgetEarlierVersions, listSizes, maintainTable } from './log/maintain.js';
import { commitKey, tablePrefix } from './log/names.js';
import { readTable, type Table } from './log/read-table.js';
import { shownParameters, txnVersion } from './log/state.js';
import { type PendingState, pendingStates } from './pending.js';
import { holdsParts, readSnapshot } from './published-snapshot.js';
import { decodeSchema, encodeSchema, type FixedTypes, nextColumns } from './rules/columns.js';

export interface TableTask {
  readonly store: ObjectStore;
  readonly resource: string;
  /** Types that the configuration sets. */
  readonly types: FixedTypes;
  /** What to do with a value that does not fit them. */
  readonly badValues: 'stop' | 'clear';
  /** How long replaced versions stay readable, ms. */
  readonly retentionMs: number;
  /** Milliseconds since 1970, by Temporal's clock. */
  readonly now: () => number;
  readonly signal: AbortSignal;
}

export interface Followed {
  /** The newest version; -1 if nothing is published, so that there is no table. */
  readonly version: number;
  /** Number of versions that were committed. */
  readonly commits: number;
  readonly warnings: readonly string[];
}

/** The most times that another writer may commit first. */
const MAX_CONFLICTS = 20;
const HOUR_MS = 60 * 60_000;

/**
 * Makes the table show what `latest.json` names, one version per published run (docs/explanation/tables.md). Data files
 * are stored and checked before the commit that names them. The commit is one conditional write, so of two writers one
 * succeeds; the other reads the table again. The call can be interrupted and repeated at any point.
 *
 * @throws TableError or ConfigurationError if a person must act; DamagedError if the snapshot or the table is damaged
 */
export async function followPointer(task: TableTask): Promise<Followed> {
  const { table, ...followed } = await commitPending(task);
  if (table.state.version < 0) return followed;
  try {
    await maintainTable(task.store, table, { ...task, now: task.now() });
    return followed;
  } catch (error) {
    task.signal.throwIfAborted();
    const warning = `table: it shows the published run, but its clean-up failed: ${errorMessage(error)}. The next run repeats it`;
    return { ...followed, warnings: [...followed.warnings, warning] };
  }
}

/** As `followPointer`, and then removes everything that earlier versions held, for a purge. */
export async function followPointerAndForget(task: TableTask): Promise<Followed> {
  const { table, ...followed } = await commitPending(task);
  await checkParts(task, table);
  await forgetEarlierVersions(task.store, table, task);
  return followed;
}

async function commitPending(task: TableTask): Promise<Followed & { readonly table: Table }> {
  const { store, resource } = task;
  const warnings = new Set<string>();
  const skipped = new Set<RunId>();
  let commits = 0;
  for (let conflicts = 0; ; ) {
    const pointer = await readPointer(task);
    const table = await readTable(store, resource);
    const { version, protocol } = table.state;
    if (protocol !== null && protocol.minWriterVersion > PROTOCOL.minWriterVersion) {
      throw new TableError(
        `${store.url}/${tablePrefix(resource)} was upgraded by another program to writer version ` +
          `${protocol.minWriterVersion}, which is not supported. Remove the folder, and the next run writes a new table.`,
      );
    }
    const pending = pointer === null ? [] : await pendingStates(store, pointer, table.state);
    const next = pending.find(({ runId }) => !skipped.has(runId));
    if (next === undefined) {
      // An earlier attempt can have committed the version and not reported its warnings.
      for (const unfit of table.state.shown?.unfit ?? []) warnings.add(unfitWarning(unfit));
      return { version, commits, warnings: [...warnings], table };
    }
    const outcome = await commitState(task, table, next, pointer!).catch((error: unknown) => {
      if (next.runId === pointer!.runId || !isUnusable(error)) throw error;
      return { kind: 'skipped', reason: error.message } as const;
    });
    if (outcome.kind === 'skipped') {
      skipped.add(next.runId);
      warnings.add(`table: the earlier run ${next.runId} gets no version: ${outcome.reason}`);
      continue;
    }
    if (outcome.kind === 'conflict') {
      if (++conflicts === MAX_CONFLICTS)
        throw new Error(`${store.url}/${tablePrefix(resource)}: another program keeps writing the table`);
      continue;
    }
    commits++;
    for (const warning of outcome.warnings) warnings.add(warning);
  }
}

/** Whether a snapshot cannot become a version, whenever it is tried again. */
function isUnusable(error: unknown): error is Error {
  return error instanceof DamagedError || error instanceof TableError || error instanceof ObjectNotFoundError;
}

/** Checks that the newest version has the parts of the purged snapshot. Another program may have committed since. */
async function checkParts(task: TableTask, { state }: Table): Promise<void> {
  const { store, resource } = task;
  const pointer = await readPointer(task);
  if (pointer === null) return;
  const snapshot = await readSnapshot(store, pointer.snapshot, pointer.manifests?.snapshot);
  if (snapshot !== null && holdsParts(state, snapshot.manifest)) return;
  throw new TableError(
    `${store.url}/${tablePrefix(resource)}: version ${state.version} does not have the parts of ${pointer.snapshot}, so ` +
      'it may still have the purged record. Another program may have written to the table. Run the purge again.',
  );
}

async function readPointer({ store, resource }: TableTask): Promise<Pointer | null> {
  const found = await store.readIfExists(pointerKey(resource));
  return found === null ? null : { ...decodePointer(found.body), resource };
}

type Committed =
  | { readonly kind: 'conflict' }
  | { readonly kind: 'committed'; readonly warnings: readonly string[] };

async function commitState(
  task: TableTask,
  { state }: Table,
  target: PendingState,
  pointer: Pointer,
): Promise<Committed> {
  const { store, resource, signal } = task;
  const sha256 = target.snapshot === pointer.snapshot ? pointer.manifests?.snapshot : undefined;
  const snapshot = await readSnapshot(store, target.snapshot, sha256);
  if (snapshot === null) throw new DamagedError(`${target.snapshot} is missing`);
  const { manifest } = snapshot;
  const before = state.metaData === null ? [] : decodeSchema(state.metaData.schemaString);
  const { files, columns, unfit } = await writeSnapshotFiles({
    ...{ store, resource, manifest, state, before, now: task.now(), signal, badValues: task.badValues },
    columns: nextColumns(before, manifest.columns, task.types),
    sizes: await listSizes(store, resource),
  });
  // After the conversion, which can take long: readers of the version before count from the commit on.
  const now = task.now();
  const parameters = shownParameters({ ...target, manifest: snapshot.sha256 }, unfit);
  const metaData = nextMetaData(task, state.metaData, encodeSchema(columns), now);
  const paths = new Set(files.map(({ path }) => path));
  const actions: Action[] = [
    {
      commitInfo: {
        ...{ timestamp: now, operation: target.operation, operationParameters: parameters },
        ...{ engineInfo: `temporal-worktrack/${VERSION}`, userMetadata: target.runId },
      },
    },
    ...(state.protocol === null ? [{ protocol: PROTOCOL }] : []),
    ...(metaData === null ? [] : [{ metaData }]),
    { txn: { appId: APP_ID, version: txnVersion(target), lastUpdated: now } },
    ...[...state.files.values()]
      .filter(({ path }) => !paths.has(path))
      .map(({ path, size }): Action => {
        const file = { path, size, partitionValues: {}, extendedFileMetadata: true };
        return { remove: { ...file, deletionTimestamp: now, dataChange: true } };
      }),
    ...files.filter(({ path }) => !state.files.has(path)).map((add): Action => ({ add })),
  ];
  // A replaced attempt stops here. If its request is in flight already, the commit is the one that this attempt repeats.
  signal.throwIfAborted();
  const key = commitKey(resource, state.version + 1);
  const outcome = await writeIfUnchanged(store, key, encodeCommit(actions), 'absent');
  if (outcome === 'conflict') return { kind: 'conflict' };
  return { kind: 'committed', warnings: unfit.map(unfitWarning) };
}

/** @returns `null` if the metadata does not change */
function nextMetaData(
  { resource, retentionMs }: TableTask,
  before: MetaData | null,
  schemaString: string,
  now: number,
): MetaData | null {
  const retention = `interval ${Math.max(24, Math.ceil(retentionMs / HOUR_MS))} hours`;
  const configuration = {
    ...before?.configuration,
    // For other programs that clean up the table.
    ...{ 'delta.deletedFileRetentionDuration': retention, 'delta.logRetentionDuration': retention },
    // Other programs must not write statistics of values, because a purge would not remove them.
    'delta.dataSkippingNumIndexedCols': '0',
  };
  const isSame =
    before?.schemaString === schemaString &&
    Object.entries(configuration).every(([name, value]) => before.configuration[name] === value);
  if (isSame) return null;
  return {
    ...{ id: before?.id ?? randomUUID(), name: before?.name ?? resource },
    ...{ format: { provider: 'parquet', options: {} }, schemaString, partitionColumns: [], configuration },
    createdTime: before?.createdTime ?? now,
  };
}
