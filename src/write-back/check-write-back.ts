import { isAscii as bufferIsAscii } from 'node:buffer';
import { createHash } from 'node:crypto';
import { toByteString } from '../core/brands.js';
import {
  type InputFormat,
  type InputReading,
  type SystemPolicy,
  WRITABLE_RESOURCES,
  type WritableResource,
} from '../core/contract/write-back.js';
import type { ConnectionSettings } from '../core/settings.js';
import type { ObjectStore } from '../lake/store/index.js';
import { checkBatch, continuedBatch, readBatch, textColumns } from './batch-file.js';
import { checkBatchId } from './batch-layout.js';
import { CORRECTION_COLUMNS, type InputRow } from './fields.js';
import {
  type InputColumn,
  mixedColumns,
  publishedSnapshotOf,
  sentNames,
  unpublishedColumns,
} from './input-columns.js';
import { InputError } from './input-error.js';
import { formatOf, HEAD_BYTES, markOf } from './input-format.js';
import { readInputRows } from './input-rows.js';
import { type InputSource, openSource } from './input-source.js';
import { FileRows } from './ledger/row-hashes.js';
import { batchKind, type SendingRules, sendingOf } from './plan-file.js';
import { BatchPlanner, inputRowKey } from './planner.js';
import { type BeforeWindow, checkForms, checkMasks, PublishedIds, WindowCheck } from './published-checks.js';
import { InputFacts } from './reading.js';
import { type InputBytes, type LakeCsv, type ReadingOptions, resolveReading } from './resolve-reading.js';
import { readTargetSystem, type TargetSystem } from './system.js';

export interface WriteBackSource extends ReadingOptions {
  readonly resource: string;
  /** A path, a `file://` or an `s3://` URL. */
  readonly file: string;
  /** Default: by the file's extension. */
  readonly format?: InputFormat | undefined;
  /** The column with the row's key. Default: the key is a hash of the content. */
  readonly keyColumn?: string | undefined;
  /** Of calendar entries with the same key and other content, send the last one. Default: they are an error. */
  readonly lastWins?: boolean | undefined;
  /** Leave out upserts that would change nothing. Default: they are sent. */
  readonly skipUnchanged?: boolean | undefined;
  /** Default: the SHA-256 of resource and content. */
  readonly batchId?: string | undefined;
  /** What an unknown address is that rows of the file were written to. Default: an error. */
  readonly system?: SystemPolicy | undefined;
}

/** An input that was read completely and is valid. */
export interface CheckedInput {
  readonly resource: WritableResource;
  readonly batchId: string;
  readonly format: InputFormat;
  readonly keyColumn: string | null;
  /** Where its rows are sent. */
  readonly system: TargetSystem;
  readonly rows: number;
  readonly lastWins: boolean;
  readonly skipUnchanged: boolean;
  /** How the rows of the batch are sent. */
  readonly sending: SendingRules;
  /** Rows that the resource's list will not show; `null` if there are none. */
  readonly beforeWindow: BeforeWindow | null;
  /** The hashes of the rows, to look them up; `null` for upserts. */
  readonly fileRows: FileRows | null;
  /** Columns of a CSV, with the types of their cells in requests. */
  readonly columns: readonly InputColumn[];
  /** How the input is read. */
  readonly reading: InputReading;
  readonly facts: InputFacts;
  /** Columns of a CSV whose published values have several types; they are sent as text. */
  readonly mixed: readonly string[];
  /** Columns of a CSV that no published row has had; empty if nothing is published. */
  readonly unpublished: readonly string[];
  /** Of the content. */
  readonly sha256: string;
  /** The settings that change what is sent, as text; `''` without any. */
  readonly settings: string;
  readonly source: InputSource;
  /** Reads the rows again. */
  eachRow(): AsyncGenerator<readonly InputRow[]>;
}

/** @throws InputError for a resource that is not writable */
export function writableResource(name: string): WritableResource {
  const found = WRITABLE_RESOURCES.find((one) => one === name);
  if (found !== undefined) return found;
  throw new InputError(`resource ${JSON.stringify(name)} is not writable`, {
    remedy: `The API accepts ${WRITABLE_RESOURCES.join(' and ')}.`,
  });
}

/**
 * Reads an input completely and checks it, with a few rows in memory. Sends and writes nothing.
 *
 * @throws InputError for an input that does not match its format, with line and column; StoreError if the lake, which
 *   has the types of columns, cannot be read
 */
export async function checkWriteBack(
  connection: ConnectionSettings,
  store: ObjectStore,
  request: WriteBackSource,
): Promise<CheckedInput> {
  const resource = writableResource(request.resource);
  const given =
    request.batchId === undefined ? null : await continuedBatch(store, checkBatchId(request.batchId));
  const source = await openSource(request.file, connection.lake);
  try {
    return await checkSource(connection, store, request, { resource, given, source });
  } catch (error) {
    source.close();
    throw error;
  }
}

async function checkSource(
  connection: ConnectionSettings,
  store: ObjectStore,
  request: WriteBackSource,
  opened: Pick<CheckedInput, 'resource' | 'source'> & { readonly given: string | null },
): Promise<CheckedInput> {
  const { resource, source, given } = opened;
  const { keyColumn = null, lastWins = false, skipUnchanged = false } = request;
  if (skipUnchanged) checkSkipping(connection, resource);
  const format = request.format ?? formatOf(source.name);
  const published = await publishedSnapshotOf(store, resource);
  const known = { published: published?.columns ?? [], fixed: {}, text: textColumns(resource) };
  const csv = published?.csv ?? connection.resources.find(({ name }) => name === resource)?.csv ?? PLAIN_CSV;
  const { sha256, batchIdOf, ...bytes } = await readBytes(source, resource);
  const more = skipUnchanged ? { skipUnchanged } : {};
  const resolve = { format, types: known, csv, keyColumn, bytes, more };
  const { reading, settings } = await resolveReading(source, request, resolve);
  const batchId = given ?? batchIdOf(settings);
  const existing = await readBatch(store, batchId);
  const target = await readTargetSystem(store, connection, request.system);
  const identity = { connection: connection.name, resource, kind: batchKind(format), keyColumn };
  if (existing !== null) checkBatch(batchId, existing.file, identity, target);
  const system = target.alsoAt(existing?.file.sameAs ?? []);
  const types = { ...known, fixed: existing?.file.types ?? {} };
  const facts = new InputFacts();
  /** Columns with too few published values to judge a cell. */
  const waived = new Set<string>();
  const ids = published === null || resource !== 'time-entries' ? null : new PublishedIds(store, published);
  let columns: readonly InputColumn[] = [];
  const onColumns = (found: readonly InputColumn[]): void => {
    columns = found;
    checkColumns(found, resource, keyColumn, reading.drop);
    if (published !== null) checkMasks(published, found);
  };
  const options = { format, types, reading, keyColumn, onColumns, facts };
  let rows = 0;
  // Upserts are not looked up: to repeat one does no harm.
  const fileRows = resource === 'time-entries' ? new FileRows(keyColumn) : null;
  const sending = sendingOf(existing?.file, connection.writeBack, resource);
  const planner = new BatchPlanner({ ...identity, batchId, lastWins });
  const window = new WindowCheck(connection, resource, Date.now());
  const keyField = keyColumn === null ? null : toByteString(keyColumn);
  for await (const some of readInputRows(source.open(), options)) {
    rows += some.length;
    const correction = some.find((row) => row.correction !== undefined);
    if (correction !== undefined) throw replacesRow(correction);
    for (const row of some) fileRows?.add(row.fields, keyField === null ? null : inputRowKey(row, keyField));
    ids?.add(some);
    window.add(some);
    if (resource === 'calendar-entries') for (const row of some) planner.survey(row);
    if (published !== null) await checkForms(store, published, facts, waived);
  }
  const notFound = reading.drop.find((name) => rows > 0 && !facts.dropped.has(name));
  if (notFound !== undefined)
    throw new InputError(`there is no column ${JSON.stringify(notFound)} to leave out`, {
      remedy: 'Correct --drop-column, or leave it out.',
    });
  await ids?.check(resource);
  return {
    resource,
    batchId,
    format,
    keyColumn,
    system,
    rows,
    lastWins,
    skipUnchanged,
    sending,
    beforeWindow: window.found,
    reading,
    fileRows,
    columns,
    facts,
    mixed: mixedColumns(columns, types.published),
    unpublished: unpublishedColumns(columns, types.published).filter((name) => name !== keyColumn),
    sha256,
    settings,
    source,
    eachRow: () => readInputRows(source.open(), { format, types, reading, keyColumn }),
  };
}

/** @throws InputError if rows that change nothing cannot be found */
function checkSkipping({ resources }: ConnectionSettings, resource: WritableResource): void {
  if (resource !== 'calendar-entries')
    throw new InputError(`${resource} are created, so each row changes something`, {
      remedy: 'Leave --skip-unchanged out. To leave out rows that are written, set --skip-written.',
    });
  if (resources.some(({ name }) => name === resource)) return;
  throw new InputError(`${resource} are not mirrored, so it is not known which rows change nothing`, {
    remedy: `Add ${resource} to \`resources\`, or leave --skip-unchanged out.`,
  });
}

/** As a row of another batch, it could be written next to the one that it replaces. */
function replacesRow({ line }: InputRow): InputError {
  return new InputError(
    `the row replaces a row of another batch (${CORRECTION_COLUMNS[0]}), and the first row of the file does not`,
    {
      line,
      remedy: `Send rows that replace others in a separate file with \`worktrack write-back\`, or remove the columns ${CORRECTION_COLUMNS.join(', ')}.`,
    },
  );
}

/** For a resource that is not mirrored. */
const PLAIN_CSV: LakeCsv = {
  delimiter: ',',
  nested: 'json',
  separator: '.',
  lineBreaks: 'keep',
  escapeFormulas: false,
};

/** The header must have all columns that every row needs. */
function checkColumns(
  columns: readonly InputColumn[],
  resource: WritableResource,
  keyColumn: string | null,
  drop: readonly string[],
): void {
  const names = sentNames(columns);
  // A key column can be left out of what is sent.
  const needed = [
    ...textColumns(resource),
    ...(keyColumn === null || drop.includes(keyColumn) ? [] : [keyColumn]),
  ];
  const missing = needed.find((name) => !names.includes(name));
  if (missing === undefined) return;
  throw new InputError(`the header has no column ${JSON.stringify(missing)}`, {
    line: 1,
    remedy: `Add it. The header has ${names.join(', ')}.`,
  });
}

/** Reads an input once. Its batch id is the hash of resource, bytes, and the settings that change what is sent. */
export async function readBytes(
  source: InputSource,
  resource: WritableResource,
): Promise<InputBytes & { readonly sha256: string; batchIdOf(settings: string): string }> {
  const content = createHash('sha256');
  const batch = createHash('sha256').update(`${resource}\n`);
  let isAscii = true;
  let head = '';
  for await (const chunk of source.open()) {
    content.update(chunk);
    batch.update(chunk);
    isAscii &&= bufferIsAscii(chunk);
    if (head.length < HEAD_BYTES) head += Buffer.from(chunk).toString('latin1', 0, HEAD_BYTES);
  }
  return {
    ...{ isAscii, hasMark: markOf(head) !== null, sha256: content.digest('hex') },
    batchIdOf: (settings) => batch.update(settings === '' ? '' : `\n${settings}`).digest('hex'),
  };
}
