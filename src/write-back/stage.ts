import { fromByteString } from '../core/brands.js';
import {
  type InputFormat,
  WRITABLE_RESOURCES,
  type WritableResource,
  type WriteBackInput,
} from '../core/contract/write-back.js';
import type { ConnectionSettings } from '../core/settings.js';
import { type ObjectStore, openStore } from '../lake/store/index.js';
import {
  BatchHash,
  checkBatch,
  checkBatchId,
  formatOf,
  type InputColumn,
  InputError,
  type InputRow,
  type InputSource,
  inputKey,
  kindOf,
  openSource,
  publishedColumns,
  readBatch,
  readRows,
  textColumns,
  unpublishedColumns,
  writtenBatch,
} from './index.js';

export interface WriteBackSource {
  readonly resource: string;
  /** A path, a `file://` or an `s3://` URL. */
  readonly file: string;
  /** Default: by the file's extension. */
  readonly format?: InputFormat | undefined;
  /** The column with the row's key. Default: the key is a hash of the content. */
  readonly keyColumn?: string | undefined;
  /** Default: the SHA-256 of resource and content. */
  readonly batchId?: string | undefined;
}

/** An input that was read completely and is valid. */
export interface CheckedInput {
  readonly resource: WritableResource;
  readonly batchId: string;
  readonly format: InputFormat;
  readonly keyColumn: string | null;
  readonly rows: number;
  /** Columns of a CSV, with the types of their cells in requests. */
  readonly columns: readonly InputColumn[];
  /** Columns of a CSV that no published row has had; empty if nothing is published. */
  readonly unpublished: readonly string[];
  readonly sha256: string;
  readonly source: InputSource;
  /** Reads the rows again. */
  eachRow(): AsyncGenerator<readonly InputRow[]>;
}

/** @throws InputError for a resource that is not writable */
export function writableResource(name: string): WritableResource {
  const found = WRITABLE_RESOURCES.find((one) => one === name);
  if (found !== undefined) return found;
  throw new InputError(
    `resource ${JSON.stringify(name)} is not writable`,
    null,
    `The API accepts ${WRITABLE_RESOURCES.join(' and ')}.`,
  );
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
  const given = request.batchId === undefined ? null : checkBatchId(request.batchId);
  const source = await openSource(request.file, connection.lake);
  try {
    return await checkSource(connection, store, { ...request, resource, batchId: given }, source);
  } catch (error) {
    source.close();
    throw error;
  }
}

type CheckedRequest = Omit<WriteBackSource, 'resource' | 'batchId'> & {
  readonly resource: WritableResource;
  readonly batchId: ReturnType<typeof checkBatchId> | null;
};

async function checkSource(
  connection: ConnectionSettings,
  store: ObjectStore,
  request: CheckedRequest,
  source: InputSource,
): Promise<CheckedInput> {
  const { resource, batchId: given, keyColumn = null } = request;
  const format = request.format ?? formatOf(source.name);
  const hashed = await hashOf(source, resource);
  const batchId = given ?? hashed.batchId;
  const existing = await readBatch(store, batchId);
  const identity = { connection: connection.name, resource, kind: kindOf(format), keyColumn };
  if (existing !== null) checkBatch(batchId, existing.file, identity);
  const types = {
    published: format === 'csv' ? await publishedColumns(store, resource) : [],
    fixed: existing?.file.types ?? {},
    text: textColumns(resource),
  };
  let columns: readonly InputColumn[] = [];
  const onColumns = (found: readonly InputColumn[]): void => {
    columns = found;
    checkColumns(found, resource, keyColumn);
  };
  let rows = 0;
  for await (const some of readRows(source.open(), { format, types, onColumns })) rows += some.length;
  return {
    resource,
    batchId,
    format,
    keyColumn,
    rows,
    columns,
    unpublished: unpublishedColumns(columns, types.published).filter((name) => name !== keyColumn),
    sha256: hashed.contentSha256,
    source,
    eachRow: () => readRows(source.open(), { format, types }),
  };
}

/** The header must have all columns that every row needs. */
function checkColumns(
  columns: readonly InputColumn[],
  resource: WritableResource,
  keyColumn: string | null,
): void {
  const names = columns.map(({ name }) => fromByteString(name));
  const needed = [...textColumns(resource), ...(keyColumn === null ? [] : [keyColumn])];
  const missing = needed.find((name) => !names.includes(name));
  if (missing === undefined) return;
  throw new InputError(
    `the header has no column ${JSON.stringify(missing)}`,
    { line: 1 },
    `Add it. The header has ${names.join(', ')}.`,
  );
}

async function hashOf(source: InputSource, resource: WritableResource) {
  const hash = new BatchHash(resource);
  for await (const chunk of source.open()) hash.update(chunk);
  return hash.finish();
}

/**
 * Copies a checked input into the lake, where every worker can read it, and returns the workflow's input. An input that
 * is already in the lake is not copied again.
 *
 * @throws InputError if the file has changed since it was checked
 */
export async function copyInput(
  connection: string,
  store: ObjectStore,
  input: CheckedInput,
): Promise<WriteBackInput> {
  const { resource, batchId, format, keyColumn, sha256, source } = input;
  const key = inputKey(batchId, sha256, format);
  if ((await store.head(key)) === null) {
    const writer = store.openWriter(key, { contentType: CONTENT_TYPES[format] });
    try {
      const hash = new BatchHash(resource);
      for await (const chunk of source.open()) {
        hash.update(chunk);
        await writer.write(chunk);
      }
      if (hash.finish().contentSha256 !== sha256) {
        throw new InputError(`${source.name} changed while it was read`, null, 'Run the command again.');
      }
      await writer.finish();
    } catch (error) {
      await writer.abort();
      throw error;
    }
  }
  return { connection, resource, batchId, input: key, format, keyColumn };
}

/** The results of a checked input if all of its rows already have a final outcome; else `null`. */
export function alreadyWritten(
  store: ObjectStore,
  { batchId, sha256, format }: CheckedInput,
): ReturnType<typeof writtenBatch> {
  return writtenBatch(store, batchId, inputKey(batchId, sha256, format));
}

const CONTENT_TYPES: Readonly<Record<InputFormat, string>> = {
  csv: 'text/csv',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
};

/**
 * Checks an input and copies it into the lake of a connection. The result is the argument of `writeBackWorkflow` and of
 * `startWriteBack`.
 *
 * @throws InputError for an invalid input; StoreError
 * @example
 * const input = await stageWriteBack(connection, { resource: 'time-entries', file: 'november.csv' });
 * const { workflowId } = await startWriteBack(temporal, input);
 */
export async function stageWriteBack(
  connection: ConnectionSettings,
  request: WriteBackSource,
): Promise<WriteBackInput> {
  const store = openStore(connection.lake);
  try {
    const input = await checkWriteBack(connection, store, request);
    try {
      return await copyInput(connection.name, store, input);
    } finally {
      input.source.close();
    }
  } finally {
    store.close();
  }
}
