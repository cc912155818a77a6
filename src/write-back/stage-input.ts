import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ObjectKey } from '../core/brands.js';
import type { WriteBackInput } from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import type { ConnectionSettings } from '../core/settings.js';
import { type ObjectStore, openStore, StoreError } from '../lake/store/index.js';
import { inputKey } from './batch-layout.js';
import { type CheckedInput, checkWriteBack, type WriteBackSource } from './check-write-back.js';
import { withTemporaryFile } from './input-source.js';

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
  const { resource, batchId, format, reading, keyColumn, lastWins, skipUnchanged } = input;
  const key = inputKey(batchId, input);
  await copySource(store, key, input);
  const { policy } = input.system;
  const named = { connection, resource, batchId, input: key, format, reading, keyColumn };
  const batch = {
    ...named,
    ...(lastWins ? { lastWins } : {}),
    ...(skipUnchanged ? { skipUnchanged } : {}),
  };
  return policy === undefined ? batch : { ...batch, system: policy };
}

/**
 * Copies a source into the lake. One that is already there is not copied again.
 *
 * @throws InputError if it has changed since its SHA-256 was computed; StoreError
 */
export async function copySource(
  store: ObjectStore,
  key: ObjectKey,
  { source, sha256 }: Pick<CheckedInput, 'source' | 'sha256'>,
): Promise<void> {
  if ((await store.head(key)) !== null) return;
  const writer = store.openWriter(key);
  try {
    const hash = createHash('sha256');
    for await (const chunk of source.open()) {
      hash.update(chunk);
      await writer.write(chunk);
    }
    if (hash.digest('hex') !== sha256) {
      throw new InputError(`${source.name} changed while it was read`, {
        remedy: 'Run the command again.',
      });
    }
    await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

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
      return await copyInput(connection.name, store, input).catch((error: unknown) => {
        // A store that does not accept the checksums of a large upload accepts those of the second one.
        if (!(error instanceof StoreError) || error.kind !== 'checksum') throw error;
        return copyInput(connection.name, store, input);
      });
    } finally {
      input.source.close();
    }
  } finally {
    store.close();
  }
}

export interface WriteBackRows
  extends Pick<WriteBackSource, 'resource' | 'keyColumn' | 'batchId' | 'system' | 'skipUnchanged'> {
  /** One object for each row, with the fields of the request. Undefined fields are left out; dates are written in ISO 8601. */
  readonly rows: AsyncIterable<object> | Iterable<object>;
}

/**
 * Checks rows from an iterable and puts them into the lake. The result is the argument of `writeBackWorkflow` and of
 * `startWriteBack`. The rows are read once, with a few of them in memory; until they are in the lake, they are in a
 * temporary file that only this user can read.
 *
 * The same rows in the same order are the same batch, so that a repeated call writes nothing twice. If your rows can
 * come in another order, give `batchId` and `keyColumn`.
 *
 * @throws InputError for an invalid row, with its number in `line`; StoreError; the error of the iterable. In each case
 *   nothing was sent.
 * @example
 * async function* entries() {
 *   yield { description: 'Design review', startedAt: '2026-11-20T09:00:00Z', durationSeconds: 3600 };
 * }
 * const input = await stageWriteBackRows(connection, { resource: 'time-entries', rows: entries() });
 * const { workflowId } = await startWriteBack(temporal, input);
 * const { counts } = requireWritten(await followWriteBack(temporal, workflowId));
 */
export async function stageWriteBackRows(
  connection: ConnectionSettings,
  { rows, ...request }: WriteBackRows,
): Promise<WriteBackInput> {
  return withTemporaryFile('rows.ndjson', Readable.from(linesOf(rows)), (file) =>
    stageWriteBack(connection, { ...request, file, format: 'ndjson' }),
  );
}

async function* linesOf(rows: WriteBackRows['rows']): AsyncGenerator<string> {
  let line = 0;
  for await (const row of rows) yield `${textOf(row, ++line)}\n`;
  if (line === 0) throw new InputError('there are no rows', { remedy: 'Write back at least one row.' });
}

/** The row as JSON. JSON has no text for some numbers, and must not replace them by `null`. */
function textOf(row: object, line: number): string {
  const text = JSON.stringify(row, (name, value: unknown) => {
    if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value))) {
      const what = typeof value === 'bigint' ? 'a bigint' : 'not a finite number';
      throw new InputError(`the field ${JSON.stringify(name)} is ${what}`, {
        line,
        remedy: 'Write it as text.',
      });
    }
    return value;
  });
  if (text?.startsWith('{')) return text;
  throw new InputError('the row is not an object', { line });
}
