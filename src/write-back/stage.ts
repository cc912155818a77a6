import type { InputFormat, WriteBackInput, WrittenPolicy } from '../core/contract/write-back.js';
import type { ConnectionSettings } from '../core/settings.js';
import { type ObjectStore, openStore, StoreError } from '../lake/store/index.js';
import { type CheckedInput, checkWriteBack, type WriteBackSource } from './check-input.js';
import { BatchHash, InputError, inputKey, writtenBatch } from './index.js';

export { type CheckedInput, checkWriteBack, type WriteBackSource, writableResource } from './check-input.js';

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
  const { resource, batchId, format, reading, keyColumn, sha256, source } = input;
  const key = inputKey(batchId, input);
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
  return { connection, resource, batchId, input: key, format, reading, keyColumn };
}

/** The results of a checked input if all of its rows already have a final outcome; otherwise `null`. */
export function alreadyWritten(
  store: ObjectStore,
  input: CheckedInput,
  policy?: WrittenPolicy,
): ReturnType<typeof writtenBatch> {
  return writtenBatch(store, input.batchId, inputKey(input.batchId, input), policy);
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
