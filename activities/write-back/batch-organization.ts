import { Context, log } from '@temporalio/activity';
import {
  RefusedError,
  type ServiceClient,
  ServiceError,
  ShownKeys,
  TransientError,
} from '../../src/api/index.js';
import type { ByteString } from '../../src/core/brands.js';
import type { SendRowsInput } from '../../src/core/contract/write-back.js';
import {
  type ComparedRecord,
  neededRecords,
  showsSameOrganization,
} from '../../src/core/same-organization.js';
import type { OpenConnection } from '../../src/run/deps.js';
import { finalFailure, toFailure, transientFailure } from '../../src/run/failures.js';
import { askById, isWebPage, seemsRefused } from '../../src/run/settle/ask-by-id.js';
import { keysOfLake, newestLast } from '../../src/run/show-organization.js';
import { type LogIndex, readLogIndex } from '../../src/write-back/chunk-logs.js';
import { type BatchFile, type ChunkRow, isWritten, type RowState } from '../../src/write-back/plan-file.js';
import { comparedRecord } from '../../src/write-back/record-differences.js';
import { loadChunk, readStoredPlans, writeBatchKeys, writeFirstKeys } from './stored-batch.js';

/** Records of the batch that are requested to show the organization of a key. */
const MAX_RECORDS = 10;

interface OrganizationOptions {
  readonly connection: OpenConnection;
  readonly input: SendRowsInput;
  /** `null`: nothing is known of the batch, so the first key counts as shown. */
  readonly batch: Pick<BatchFile, 'keys' | 'sameAs'> | null;
  /** Where the records of the batch are requested. */
  readonly path: string;
  /** The logs of the plan before this attempt. */
  readonly logs: LogIndex;
  /** Writes what this attempt has done so far to the lake. */
  readonly flush: () => Promise<void>;
}

interface KeyToShow extends OrganizationOptions {
  /** Uses only the key. */
  readonly client: ServiceClient;
  readonly fingerprint: string;
  /** The keys that are shown. */
  readonly keys: ShownKeys;
  readonly signal: AbortSignal;
}

/**
 * The API keys that a batch may use: those of the organization that it writes to (docs/explanation/guarantees.md#organization-check).
 * Its first key is one. Any other key is shown before the first row is sent with it, and `batch.json` keeps its fingerprint.
 *
 * @throws ConfigurationError if the key cannot be read
 */
export async function openBatchKeys(options: OrganizationOptions): Promise<ShownKeys> {
  const { connection, input, batch } = options;
  const { cancellationSignal: signal } = Context.current();
  const keep = (keys: readonly string[]): Promise<void> =>
    writeBatchKeys(connection.store, input.batchId, keys);
  const first = async () =>
    writeFirstKeys(connection.store, input.batchId, await firstKeys(connection, signal));
  const known = batch === null ? null : (batch.keys ?? (await first()));
  const keys = new ShownKeys(connection.client, known, async (client, fingerprint) => {
    const proof = await prove({ ...options, client, fingerprint, keys, signal });
    await keep(proof === 'same' ? newestLast(keys.keys, fingerprint) : [fingerprint]);
    log.info('the API key of the batch is new, and belongs to the same organization', { fingerprint, proof });
    return proof;
  });
  return keys;
}

/** The first key of a batch, and those that the lake knows of its organization. */
async function firstKeys(connection: OpenConnection, signal: AbortSignal): Promise<readonly string[]> {
  const { client } = connection;
  const fingerprint = await client.keyFingerprint();
  // No answer only means that fewer keys are known.
  const known = await keysOfLake(connection, { client, fingerprint, of: null, signal }).catch(noAnswer);
  return known ?? [fingerprint];
}

function noAnswer(error: unknown): null {
  if (error instanceof ServiceError) return null;
  throw error;
}

/**
 * Shows that a key belongs to the organization of the batch: by a mirrored list, or by records of the batch. Without a row that
 * was written or may have been, nothing could be mixed.
 *
 * @throws a final failure `Refused` if it is not shown; a retryable failure; TransientError
 */
async function prove(key: KeyToShow): Promise<'same' | 'nothing-read'> {
  const { connection, input, client, fingerprint, keys, signal } = key;
  if (input.sameOrganization === true) return 'same';
  try {
    const lake = await keysOfLake(connection, { client, fingerprint, of: keys.keys, signal });
    if (lake !== null || (await isShownByRecords(key))) return 'same';
  } catch (error) {
    throw error instanceof RefusedError ? toFailure(error) : error;
  }
  if (await hasSent(key)) throw notShown(key);
  if (!keys.isUsed) return 'nothing-read';
  throw transientFailure(
    `${input.resource}: the API key was replaced before a row was accepted, so its rows are sent again`,
  );
}

/** A row that was sent, and what is known of it. */
interface SentRow {
  readonly row: ChunkRow;
  readonly state: RowState;
}

/** The rows in the logs of a batch, those of the newest plan first. @param logs of the plan that is being sent */
async function* sentRows(
  { connection: { store, settings }, input, batch }: KeyToShow,
  logs: LogIndex,
): AsyncGenerator<SentRow> {
  const addresses = [settings.baseUrl, ...(batch?.sameAs ?? [])];
  for (const plan of (await readStoredPlans(store, input.batchId)).toReversed()) {
    if (!addresses.includes(plan.file.baseUrl)) continue;
    const index = plan.key === input.plan ? logs : await readLogIndex(store, plan.key);
    for (const number of index.keys()) {
      const { rows, states } = await loadChunk(store, plan, number, index);
      for (const [at, state] of states) yield { row: rows[at]!, state };
    }
  }
}

/** Whether an earlier attempt has written a row, or may have. */
async function hasSent(key: KeyToShow): Promise<boolean> {
  for await (const { state } of sentRows(key, key.logs))
    if (isWritten(state.receipt) || (state.receipt === null && state.sentAt !== null)) return true;
  return false;
}

/** Whether the key shows most of a few records that the batch has written, with most fields as they were sent. */
async function isShownByRecords(key: KeyToShow): Promise<boolean> {
  const { connection, input, client, path, signal } = key;
  const { idField, ignore } = connection.settings.writeBack[input.resource];
  const written = await writtenRows(key);
  const found: ComparedRecord[] = [];
  for (const { row, id } of written) {
    const request = { resource: input.resource, path, id, signal };
    const add = (text: ByteString): void => void found.push(comparedRecord(row, text, ignore));
    try {
      await askById(client, request, idField.slice(idField.lastIndexOf('/') + 1), add);
    } catch (error) {
      if (error instanceof TransientError && (isWebPage(error) || seemsRefused(error))) return false;
      throw error;
    }
    if (showsSameOrganization(found, neededRecords(written.length))) return true;
  }
  return false;
}

/** Rows of the batch with the ids of their records, also those of this attempt. */
async function writtenRows(key: KeyToShow): Promise<{ readonly row: ChunkRow; readonly id: string }[]> {
  await key.flush();
  const written: { row: ChunkRow; id: string }[] = [];
  for await (const { row, state } of sentRows(
    key,
    await readLogIndex(key.connection.store, key.input.plan),
  )) {
    const { receipt } = state;
    if (receipt !== null && isWritten(receipt) && receipt.id !== null) written.push({ row, id: receipt.id });
    if (written.length === MAX_RECORDS) break;
  }
  return written;
}

function notShown({ input, fingerprint }: KeyToShow): Error {
  return finalFailure(
    'Refused',
    `${input.resource}: the API key is new (fingerprint ${fingerprint}), and neither a mirrored list nor a record of this batch ` +
      'shows that it belongs to the organization that the batch has written to. No row was sent with it. Correct the API key. If ' +
      'the organization is the same, run the same command again with --same-organization.',
    { scope: 'key' },
  );
}
