import { randomUUID } from 'node:crypto';
import type { EpochMs, Millis } from '../core/brands.js';
import { inTurns } from '../core/in-parallel.js';
import type { TableSettings } from '../core/settings.js';
import { VERSION } from '../core/version.js';
import { DamagedError } from '../lake/damaged-error.js';
import { dateOfRun, manifestKey, tableKeys } from '../lake/documents/lake-layout.js';
import { type PublishedPart, readIntact, readManifestVersion } from '../lake/documents/manifest.js';
import type { Pointer } from '../lake/documents/pointer.js';
import { writeIfUnchanged } from '../lake/published/swap.js';
import { type FilesInput, type NewFile, type WrittenFile, writeFile } from './data-file.js';
import { TableError, type Unfit, unfitMessage } from './errors.js';
import {
  type Action,
  type AddFile,
  APP_ID,
  encodeCommit,
  type MetaData,
  PART_TAG,
  PROTOCOL,
  rowsOfFile,
} from './log/actions.js';
import type { TablePlace } from './log/paths.js';
import { shownParameters, type TableState, txnVersion } from './log/table-state.js';
import {
  decodeSchema,
  encodeSchema,
  type FixedTypes,
  nextColumns,
  sameTypes,
  type TableColumn,
} from './rules/table-columns.js';
import type { PendingState } from './states-to-commit.js';

export interface TableTask extends TablePlace {
  /** Types that the configuration sets. */
  readonly types: FixedTypes;
  /** What to do with a value that does not fit them. */
  readonly badValues: 'stop' | 'clear';
  /** Compression of new data files. Default: `zstd`. */
  readonly codec?: TableSettings['codec'];
  /** How long replaced versions stay readable. */
  readonly retentionMs: Millis;
  /** By Temporal's clock. */
  readonly now: () => EpochMs;
  /**
   * When the step was first requested, by the same clock. An earlier attempt can have committed
   * versions since then and not have reported their warnings. Default: only the newest version's are reported.
   */
  readonly since?: EpochMs;
  readonly signal: AbortSignal;
}

const HOUR_MS = 60 * 60_000;

/** The version that a commit builds on. */
export interface Base {
  readonly state: TableState;
  /** Sizes of the table's objects, by path. */
  readonly sizes: ReadonlyMap<string, number>;
}

type Committed =
  | { readonly kind: 'conflict' }
  | { readonly kind: 'committed'; readonly base: Base; readonly unfit: readonly Unfit[] };

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
  const { store, resource, codec = 'zstd', tempFolder, signal } = task;
  const sha256 = target.snapshot === pointer.snapshot ? pointer.manifests?.snapshot : undefined;
  const snapshot = await readManifestVersion(store, target.snapshot, sha256);
  if (snapshot === null) throw new DamagedError(`${target.snapshot} is missing`);
  const { manifest } = snapshot;
  const before = state.metaData === null ? [] : decodeSchema(state.metaData.schemaString);
  let changes: Promise<readonly PublishedPart[]> | null = null;
  const { files, columns, unfit } = await writeSnapshotFiles({
    ...{ store, resource, manifest, state, before, now: task.now(), badValues: task.badValues },
    ...{ codec, tempFolder, signal },
    columns: nextColumns(before, manifest.columns, task.types),
    changes: () => (changes ??= changesOf(task, target)),
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
  const key = tableKeys(resource).commit(state.version + 1);
  const outcome = await writeIfUnchanged(store, key, encodeCommit(actions), 'absent');
  if (outcome === 'conflict') return { kind: 'conflict' };
  const base = {
    state: state.after(state.version + 1, actions),
    sizes: new Map([...sizes, ...files.map(({ path, size }) => [path, size] as const)]),
  };
  return { kind: 'committed', base, unfit };
}

/** The parts of a run's change log; none if it is missing or damaged. */
async function changesOf(
  { store, resource }: TableTask,
  { snapshot, runId, changes }: PendingState,
): Promise<readonly PublishedPart[]> {
  if (changes !== undefined) return changes;
  const key = manifestKey(resource, 'changes', dateOfRun(snapshot), runId);
  return (await readIntact(store, key))?.parts ?? [];
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
interface SnapshotFiles {
  readonly files: readonly AddFile[];
  /** The table's columns, with types that hold all values. */
  readonly columns: readonly TableColumn[];
  /** Values that are NULL because they do not fit the types of the configuration. */
  readonly unfit: readonly Unfit[];
}

/** While one file is converted, the next part is fetched and the file before is stored. */
const AT_A_TIME = 2;

/**
 * One data file for each part of a snapshot. A part that the table holds already keeps its file, unless the type of a
 * column changed. The others are converted; files that an earlier attempt at the same version wrote are used.
 *
 * @throws TableError if values do not fit the types of the configuration and `badValues` is `stop`
 */
export async function writeSnapshotFiles(input: FilesInput): Promise<SnapshotFiles> {
  const parts = input.manifest.parts.filter(({ rows }) => rows > 0);
  const kept = keptFiles(input);
  const written = new Map<string, NewFile>();
  let columns = input.columns;
  const isMissing = ({ sha256 }: PublishedPart): boolean => {
    if (kept.has(sha256) && sameTypes(input.before, columns)) return false;
    const known = written.get(sha256);
    return known === undefined || !sameTypes(known.types, columns);
  };
  const write = async (part: PublishedPart, turn: Promise<void>): Promise<void> => {
    let start: readonly TableColumn[];
    let found: WrittenFile;
    do {
      start = columns;
      found = await writeFile(input, part, start, kept);
      await turn;
      // The part before may have widened a type meanwhile.
    } while (start !== columns);
    written.set(part.sha256, found.file);
    if (found.columns.some(({ type }, at) => type !== start[at]!.type)) columns = found.columns;
  };
  // A part can widen a type after other files were written, so these are written again, with types that hold all values.
  for (let missing = parts.filter(isMissing); missing.length > 0; missing = parts.filter(isMissing)) {
    // The first file of a new table finds its types.
    const alone = written.size === 0 && input.before.length === 0 ? 1 : 0;
    await inTurns(missing.slice(0, alone), 1, write);
    await inTurns(missing.slice(alone), AT_A_TIME, write);
  }
  const unfit = totals([...written.values()].flatMap((file) => file.unfit));
  if (unfit.length > 0 && input.badValues === 'stop')
    throw new TableError(unfitMessage(input.resource, unfit));
  const files = parts.map(({ sha256 }) => written.get(sha256)?.add ?? kept.get(sha256)!);
  return { files, columns, unfit };
}

/** Files of the version before that exist, by the SHA-256 of their part. */
export function keptFiles({ state, sizes }: Pick<FilesInput, 'state' | 'sizes'>): Map<string, AddFile> {
  const kept = new Map<string, AddFile>();
  for (const add of state.files.values()) {
    const part = add.tags?.[PART_TAG];
    if (part !== undefined && sizes.get(add.path) === add.size && rowsOfFile(add) !== null)
      kept.set(part, add);
  }
  return kept;
}

function totals(unfit: readonly Unfit[]): Unfit[] {
  const byName = new Map<string, Unfit>();
  for (const one of unfit)
    byName.set(one.name, { ...one, count: one.count + (byName.get(one.name)?.count ?? 0) });
  return [...byName.values()];
}
