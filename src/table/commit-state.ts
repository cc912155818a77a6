import { randomUUID } from 'node:crypto';
import { VERSION } from '../core/version.js';
import { DamagedError } from '../lake/damaged-error.js';
import type { Pointer } from '../lake/published/pointer.js';
import { writeIfUnchanged } from '../lake/published/rewrite.js';
import type { ObjectStore } from '../lake/store/index.js';
import { writeSnapshotFiles } from './data-files.js';
import { unfitWarning } from './errors.js';
import { type Action, APP_ID, encodeCommit, type MetaData, PROTOCOL } from './log/actions.js';
import { commitKey } from './log/names.js';
import { shownParameters, type TableState, txnVersion } from './log/state.js';
import type { PendingState } from './pending.js';
import { readSnapshot } from './published-snapshot.js';
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
  /**
   * When the step was first requested, milliseconds since 1970 by the same clock. An earlier attempt can have committed
   * versions since then and not have reported their warnings. Default: only the newest version's are reported.
   */
  readonly since?: number;
  readonly signal: AbortSignal;
}

const HOUR_MS = 60 * 60_000;

/** The version on which a commit builds. */
export interface Base {
  readonly state: TableState;
  /** Sizes of the table's objects, by path. */
  readonly sizes: ReadonlyMap<string, number>;
}

export type Committed =
  | { readonly kind: 'conflict' }
  | { readonly kind: 'committed'; readonly base: Base; readonly warnings: readonly string[] };

/**
 * Commits one published state as the next version. `conflict`: another writer has committed this version already.
 *
 * @throws TableError, DamagedError or ObjectNotFoundError if the snapshot cannot become a version
 */
export async function commitState(
  task: TableTask,
  { state, sizes }: Base,
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
    sizes,
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
  const base = {
    state: state.after(state.version + 1, actions),
    sizes: new Map([...sizes, ...files.map(({ path, size }) => [path, size] as const)]),
  };
  return { kind: 'committed', base, warnings: unfit.map(unfitWarning) };
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
