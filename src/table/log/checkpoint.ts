import type { EpochMs } from '../../core/brands.js';
import { parseStored } from '../../core/stored-json.js';
import type { EngineScope } from '../parquet/engine-scope.js';
import { decodeRecords, encodeRecords } from '../parquet/parquet-records.js';
import type { Action } from './actions.js';
import type { TableState } from './table-state.js';

/** Commits between two checkpoints. A reader then reads one checkpoint and at most this many commits. */
export const CHECKPOINT_EVERY = 10;

const struct = (fields: Readonly<Record<string, string>>): string =>
  `STRUCT(${Object.entries(fields)
    .map(([name, type]) => `"${name}" ${type}`)
    .join(', ')})`;
const [TEXT, LONG, INT, FLAG] = ['VARCHAR', 'BIGINT', 'INTEGER', 'BOOLEAN'];
const MAP = `MAP(${TEXT}, ${TEXT})`;

/** The schema of a checkpoint (PROTOCOL.md, "Checkpoint Schema") in types of DuckDB, without what our tables do not use. */
const TYPES: Readonly<Record<string, string>> = {
  protocol: struct({ minReaderVersion: INT, minWriterVersion: INT }),
  metaData: struct({
    ...{ id: TEXT, name: TEXT, format: struct({ provider: TEXT, options: MAP }), schemaString: TEXT },
    ...{ partitionColumns: `${TEXT}[]`, createdTime: LONG, configuration: MAP },
  }),
  txn: struct({ appId: TEXT, version: LONG, lastUpdated: LONG }),
  add: struct({
    ...{ path: TEXT, partitionValues: MAP, size: LONG, modificationTime: LONG, dataChange: FLAG },
    ...{ stats: TEXT, tags: MAP },
  }),
  remove: struct({
    ...{ path: TEXT, deletionTimestamp: LONG, dataChange: FLAG, extendedFileMetadata: FLAG },
    ...{ partitionValues: MAP, size: LONG },
  }),
};

/**
 * The actions that a checkpoint holds.
 *
 * @param since removed files are left out if their retention ended before this time
 */
export function checkpointActions(state: TableState, since: EpochMs): Action[] {
  return [
    ...(state.protocol === null ? [] : [{ protocol: state.protocol }]),
    ...(state.metaData === null ? [] : [{ metaData: state.metaData }]),
    ...[...state.txns].map(([appId, version]): Action => ({ txn: { appId, version } })),
    ...[...state.files.values()].map((add): Action => ({ add })),
    ...[...state.removed.values()]
      .filter(({ deletionTimestamp }) => deletionTimestamp >= since)
      .map((remove): Action => ({ remove })),
  ];
}

/** The content of `_last_checkpoint` (PROTOCOL.md, "Last Checkpoint File"). */
export interface CheckpointHint {
  readonly version: number;
  /** Number of actions. */
  readonly size: number;
  readonly sizeInBytes: number;
  readonly numOfAddFiles: number;
}

export function hintOf({ version, files }: TableState, size: number, sizeInBytes: number): CheckpointHint {
  return { version, size, sizeInBytes, numOfAddFiles: files.size };
}

/** The version that the content of `_last_checkpoint` names; -1 if it cannot be read. */
export function versionIn(hint: Buffer): number {
  try {
    return (parseStored(hint) as { readonly version?: number }).version ?? -1;
  } catch {
    return -1;
  }
}

/** Encodes a classic checkpoint. */
export function encodeCheckpoint(actions: readonly Action[], scope: EngineScope = {}): Promise<Buffer> {
  return encodeRecords(actions, TYPES, scope);
}

/** Reads a classic checkpoint. @throws EngineError, whose `isOfFile` says whether it is not a checkpoint */
export async function decodeCheckpoint(body: Buffer, scope: EngineScope = {}): Promise<Action[]> {
  const records = await decodeRecords(body, Object.keys(TYPES), scope);
  return records.map((record) => withoutNulls(record) as Action);
}

/** Absent and null fields are equal. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(entries.map(([name, field]) => [name, withoutNulls(field)]));
}
