import type { EpochMs } from '../../core/brands.js';
import { inParallel } from '../../core/in-parallel.js';
import { DamagedError, damagedObject } from '../../lake/damaged-error.js';
import { tableKeys } from '../../lake/documents/lake-layout.js';
import { AMONG_OTHERS } from '../../lake/published/foreign-files.js';
import { ObjectNotFoundError, type ObjectStore } from '../../lake/store/index.js';
import { EngineError } from '../parquet/engine-failure.js';
import type { EngineScope } from '../parquet/engine-scope.js';
import { decodeSchema, type TableColumn } from '../rules/table-columns.js';
import { type Action, decodeCommit, isUpgraded, type Protocol } from './actions.js';
import { type CheckpointHint, decodeCheckpoint, hintOf, versionIn } from './checkpoint.js';
import { type LogObject, parseLogName, type TablePlace } from './paths.js';
import { type Shown, shownBy, TableState } from './table-state.js';

const READS_AT_ONCE = 8;

/** A table as its log describes it. */
export interface Table {
  /** The newest version. */
  readonly state: TableState;
  /** Commits and checkpoints in the log. */
  readonly log: readonly LogObject[];
  /** What our commits since the newest checkpoint show, oldest first. */
  readonly commits: readonly Shown[];
  /** Version of the newest checkpoint; -1 if there is none. */
  readonly checkpoint: number;
  /** What `_last_checkpoint` says of the newest checkpoint; `null` if there is none. */
  readonly hint: CheckpointHint | null;
  /** Why the log cannot be read, so that the next version holds everything again; `null`: it can. */
  readonly damage: string | null;
}

/** A table, and what it had outside its log when that was listed. */
export interface ListedTable extends Table {
  /** Sizes of these objects in bytes, by path. */
  readonly sizes: ReadonlyMap<string, number>;
  /** When the newest of its objects was written, by the store's clock; `-Infinity`: there was none. */
  readonly modifiedAt: EpochMs;
}

/**
 * Reads the newest version of a table: the newest checkpoint and the commits after it. An empty log gives version -1.
 *
 * @throws DamagedError if the log has a gap or cannot be read; EngineError if a checkpoint cannot be read here and now; StoreError if
 * the store fails
 */
export async function readTable(
  store: ObjectStore,
  resource: string,
  scope: EngineScope = {},
): Promise<Table> {
  const { log } = tableKeys(resource);
  return tableOf({ ...scope, store, resource }, await listTable({ store, resource }, log));
}

async function tableOf(
  at: TablePlace,
  { log, hasHint, checkpointed, sizes, modifiedAt }: ListedObjects,
): Promise<ListedTable> {
  const versionsOf = (kind: LogObject['kind']): number[] =>
    log.filter((object) => object.kind === kind).map(({ version }) => version);
  const checkpoint = Math.max(-1, ...versionsOf('checkpoint'));
  if (hasHint && !(await isHintRight(at, checkpointed)))
    throw damagedObject(tableKeys(at.resource).lastCheckpoint, 'the checkpoint in it is missing');
  const commits = versionsOf('commit')
    .filter((version) => version > checkpoint)
    .sort((a, b) => a - b);
  const from = await readCheckpoint(at, checkpoint, new Set(versionsOf('commit')));
  let { state } = from;
  const bodies = await inParallel(commits, READS_AT_ONCE, (version) => readCommit(at, version));
  for (const [index, version] of commits.entries()) {
    if (version !== state.version + 1)
      throw damagedObject(
        tableKeys(at.resource).commit(state.version + 1),
        'it is missing, although later commits exist',
      );
    state = state.after(version, bodies[index]!);
  }
  const shown = bodies.flatMap((actions, index) =>
    actions.flatMap((one) => shownBy(one, commits[index]!) ?? []),
  );
  return { state, log, commits: shown, checkpoint, hint: from.hint, sizes, modifiedAt, damage: null };
}

interface ListedObjects extends Pick<ListedTable, 'log' | 'sizes' | 'modifiedAt'> {
  /** Whether `_last_checkpoint` exists. */
  readonly hasHint: boolean;
  /** Versions with a checkpoint of any kind, also one that only other programs write. */
  readonly checkpointed: ReadonlySet<number>;
}

/** @param prefix of the log, or of the whole table, which is listed with the same requests */
async function listTable({ store, resource }: TablePlace, prefix: string): Promise<ListedObjects> {
  const log: LogObject[] = [];
  const keys = tableKeys(resource);
  const checkpointed = new Set<number>();
  const sizes = new Map<string, number>();
  let hasHint = false;
  let newest = Number.NEGATIVE_INFINITY;
  for await (const { key, bytes, modifiedAt } of store.list(prefix, AMONG_OTHERS)) {
    newest = Math.max(newest, modifiedAt);
    if (!key.startsWith(keys.log)) {
      sizes.set(key.slice(keys.prefix.length), bytes);
      continue;
    }
    const inLog = key.slice(keys.log.length);
    const name = parseLogName(inLog);
    if (name !== null) log.push({ ...name, modifiedAt });
    hasHint ||= key === keys.lastCheckpoint;
    const version = /^(\d{20})\.checkpoint\./.exec(inLog)?.[1];
    if (version !== undefined) checkpointed.add(Number(version));
  }
  return { log, hasHint, checkpointed, sizes, modifiedAt: newest };
}

/**
 * Reads a table as `readTable`. If the log is damaged, for example because a lifecycle rule has removed its oldest objects, the state
 * has no files and the newest version of the log. The next version then holds everything again, with a checkpoint, so no reader
 * needs what is damaged.
 *
 * @throws EngineError and StoreError as `readTable`: they say nothing about the log
 */
export async function readDamagedTable(
  store: ObjectStore,
  resource: string,
  scope: EngineScope = {},
): Promise<ListedTable> {
  const at = { ...scope, store, resource };
  const listed = await listTable(at, tableKeys(resource).prefix);
  try {
    return await tableOf(at, listed);
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
    const { log, sizes, modifiedAt } = listed;
    const version = Math.max(...log.map((object) => object.version), await hintedVersion(at));
    const protocol = await highestProtocol(at, log);
    const state = new TableState({ version, protocol });
    return { state, log, commits: [], checkpoint: -1, hint: null, sizes, modifiedAt, damage: error.damage };
  }
}

/** Whether the checkpoint in `_last_checkpoint` exists. */
async function isHintRight(at: TablePlace, checkpointed: ReadonlySet<number>): Promise<boolean> {
  const hinted = await hintedVersion(at);
  if (checkpointed.has(hinted)) return true;
  // Another writer may have written both since the listing.
  const prefix = tableKeys(at.resource)
    .checkpoint(hinted)
    .replace(/parquet$/, '');
  for await (const _ of at.store.list(prefix)) return hinted >= 0;
  return false;
}

/** The version in `_last_checkpoint`; -1 if there is none. Readers may begin at it. */
async function hintedVersion({ store, resource }: TablePlace): Promise<number> {
  const found = await store.readIfExists(tableKeys(resource).lastCheckpoint);
  return found === null ? -1 : versionIn(found.body);
}

/** The protocol of the table after another program has upgraded it; `null` if no readable commit says so. */
async function highestProtocol(at: TablePlace, log: readonly LogObject[]): Promise<Protocol | null> {
  const commits = log.filter(({ kind }) => kind === 'commit');
  const actions = await inParallel(commits, READS_AT_ONCE, ({ version }) =>
    readCommit(at, version).catch((error: unknown) => {
      if (error instanceof DamagedError || error instanceof ObjectNotFoundError) return [];
      throw error;
    }),
  );
  const found = actions.flat().flatMap(({ protocol }) => protocol ?? []);
  const [highest] = found.sort((a, b) => b.minWriterVersion - a.minWriterVersion);
  return highest !== undefined && isUpgraded(highest) ? highest : null;
}

async function readCheckpoint(
  place: TablePlace,
  version: number,
  commits: ReadonlySet<number>,
): Promise<Pick<Table, 'state' | 'hint'>> {
  if (version === -1) return { state: new TableState(), hint: null };
  const key = tableKeys(place.resource).checkpoint(version);
  const body = await place.store.read(key);
  const actions = await decodeCheckpoint(body, place).catch((cause: unknown) => {
    // A disk, a limit of memory and a process that died say nothing about the checkpoint.
    if (!(cause instanceof EngineError && cause.isOfFile)) throw cause;
    throw damagedObject(key, 'it is not a checkpoint of a Delta table', cause);
  });
  // A checkpoint does not say which run it shows; our last commit does. Later ones are of other programs.
  let shown: Shown | null = null;
  for (let at = version; shown === null && commits.has(at); at--)
    for (const action of await readCommit(place, at)) shown = shownBy(action, at) ?? shown;
  const state = new TableState({ shown }).after(version, actions);
  return { state, hint: hintOf(state, actions.length, body.length) };
}

async function readCommit({ store, resource }: TablePlace, version: number): Promise<Action[]> {
  const key = tableKeys(resource).commit(version);
  const body = await store.read(key);
  try {
    return decodeCommit(body);
  } catch (cause) {
    throw damagedObject(key, 'it is not a commit of a Delta table', cause);
  }
}

/**
 * The columns of a table as its newest version has them, in its order. A column whose name is not valid in Delta has
 * an `alias` that differs from its `name` in the snapshot (docs/explanation/delta-tables.md#types).
 *
 * @returns `null` if the resource has no table
 * @throws DamagedError if the log is damaged; ConfigurationError if the log has a checkpoint, and the packages that
 * read Parquet are not installed; EngineError if the checkpoint cannot be read here and now; StoreError if the store fails
 * @example
 * const columns = await readTableColumns(store, 'tasks');
 * const renamed = columns?.filter(({ name, alias }) => name !== alias) ?? [];
 */
export async function readTableColumns(
  store: ObjectStore,
  resource: string,
  scope: EngineScope = {},
): Promise<readonly TableColumn[] | null> {
  const { state } = await readTable(store, resource, scope);
  return state.metaData === null ? null : decodeSchema(state.metaData.schemaString);
}
