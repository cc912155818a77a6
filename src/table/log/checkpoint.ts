import type { SchemaElement } from 'hyparquet';
import { parseStored } from '../../core/stored-json.js';
import { parquetLibrary } from '../parquet/library.js';
import type { Action } from './actions.js';
import type { TableState } from './table-state.js';

/** Commits between two checkpoints. A reader then reads one checkpoint and at most this many commits. */
export const CHECKPOINT_EVERY = 10;

type Field = Omit<SchemaElement, 'name' | 'num_children'> & {
  readonly name: string;
  readonly fields?: readonly Field[];
};

const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;
const optional =
  (form: Omit<Field, 'name'>) =>
  (name: string): Field => ({ name, repetition_type: 'OPTIONAL', ...form });
const text = optional(TEXT);
const long = optional({ type: 'INT64' });
const int = optional({ type: 'INT32' });
const flag = optional({ type: 'BOOLEAN' });
const struct = (name: string, fields: readonly Field[]): Field => optional({ fields })(name);
const entry = [{ name: 'key', ...TEXT, repetition_type: 'REQUIRED' } as const, text('value')];
const map = optional({
  ...{ converted_type: 'MAP', logical_type: { type: 'MAP' } },
  fields: [{ name: 'key_value', repetition_type: 'REPEATED', fields: entry }],
});
const list = optional({
  ...{ converted_type: 'LIST', logical_type: { type: 'LIST' } },
  fields: [{ name: 'list', repetition_type: 'REPEATED', fields: [text('element')] }],
});

/** The schema of a checkpoint (PROTOCOL.md, "Checkpoint Schema"), without what our tables do not use. */
const ROOT: readonly Field[] = [
  struct('protocol', [int('minReaderVersion'), int('minWriterVersion')]),
  struct('metaData', [
    text('id'),
    text('name'),
    struct('format', [text('provider'), map('options')]),
    text('schemaString'),
    list('partitionColumns'),
    long('createdTime'),
    map('configuration'),
  ]),
  struct('txn', [text('appId'), long('version'), long('lastUpdated')]),
  struct('add', [
    text('path'),
    map('partitionValues'),
    long('size'),
    long('modificationTime'),
    flag('dataChange'),
    text('stats'),
    map('tags'),
  ]),
  struct('remove', [
    text('path'),
    long('deletionTimestamp'),
    flag('dataChange'),
    flag('extendedFileMetadata'),
    map('partitionValues'),
    long('size'),
  ]),
];

function elements(fields: readonly Field[]): SchemaElement[] {
  return fields.flatMap(({ fields: children, ...field }) =>
    children === undefined ? [field] : [{ ...field, num_children: children.length }, ...elements(children)],
  );
}

/**
 * The actions that a checkpoint holds.
 *
 * @param since removed files are left out if their retention ended before this time, milliseconds since 1970
 */
export function checkpointActions(state: TableState, since: number): Action[] {
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
export async function encodeCheckpoint(actions: readonly Action[]): Promise<Uint8Array> {
  const { writer: parquet } = await parquetLibrary();
  const bytes = new parquet.ByteWriter();
  parquet.parquetWrite({
    writer: bytes,
    schema: [{ name: 'root', num_children: ROOT.length }, ...elements(ROOT)],
    columnData: ROOT.map((field) => ({
      name: field.name,
      data: actions.map((action) => toStored(action[field.name as keyof Action] ?? null, field)),
    })),
    statistics: false,
    createdBy: 'temporal-worktrack',
  });
  return bytes.getBytes();
}

/** Converts integers to the 64-bit integers that the writer expects, and absent fields to nulls. */
function toStored(value: unknown, { type, fields, converted_type }: Field): unknown {
  if (value === undefined || value === null) return null;
  if (type === 'INT64') return BigInt(value as number);
  if (fields === undefined || converted_type === 'MAP' || converted_type === 'LIST') return value;
  const record = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(fields.map((field) => [field.name, toStored(record[field.name], field)]));
}

/** Reads a classic checkpoint. @throws Error if it is not a checkpoint */
export async function decodeCheckpoint(body: Buffer): Promise<Action[]> {
  const { reader } = await parquetLibrary();
  const copy = body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength) as ArrayBuffer;
  const rows = await reader.parquetReadObjects({ file: copy });
  return rows.map((row) => withoutNulls(row) as Action);
}

/** Absent and null fields are equal, and all integers of a log are exact as numbers. */
function withoutNulls(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(entries.map(([name, field]) => [name, withoutNulls(field)]));
}
