import type { ObjectKey } from '../../src/core/brands.js';
import type { PlanWriteBackInput, SendRowsInput } from '../../src/core/contract/write-back.js';
import { writeIfUnchanged } from '../../src/lake/published/rewrite.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import {
  type BatchFile,
  batchKey,
  type CellTypes,
  checkBatch,
  decodeSealed,
  encodeSealed,
  kindOf,
  type PlanFile,
  planKey,
  plansPrefix,
  readBatch,
} from '../../src/write-back/index.js';
import { Turn, type TurnFile } from '../../src/write-back/ledger/index.js';
import { finalFailure } from '../shared/failures.js';

/** A completely written plan of a batch. */
export interface StoredPlan {
  readonly key: ObjectKey;
  readonly file: PlanFile;
}

/** @throws DamagedError if the plan is not exactly what was written; StoreError */
export async function readPlan(store: ObjectStore, key: ObjectKey): Promise<StoredPlan> {
  return { key, file: decodeSealed<PlanFile>(key, await store.read(key)) };
}

/**
 * Writes a plan after its chunks. Of several attempts, the first one counts: rows may already be sent by its plan.
 *
 * @returns the plan that counts
 */
export async function writePlan(store: ObjectStore, key: ObjectKey, file: PlanFile): Promise<StoredPlan> {
  const outcome = await writeIfUnchanged(store, key, encodeSealed(file), 'absent');
  return outcome === 'written' ? { key, file } : readPlan(store, key);
}

/** What the look-up found when the turn of the batch came. @throws DamagedError, StoreError */
export async function readTurn(
  store: ObjectStore,
  { resource, turn }: Pick<SendRowsInput, 'resource' | 'turn'>,
): Promise<Turn> {
  if (turn === null) return new Turn(resource, null);
  return new Turn(resource, decodeSealed<TurnFile>(turn, await store.read(turn)));
}

/** The plans of a batch, oldest first. @throws as `readPlan` */
export async function readStoredPlans(store: ObjectStore, batchId: string): Promise<StoredPlan[]> {
  const plans: StoredPlan[] = [];
  for (const name of await store.listFolders(plansPrefix(batchId))) {
    const key = planKey(batchId, name);
    const found = await store.readIfExists(key);
    if (found !== null) plans.push({ key, file: decodeSealed<PlanFile>(key, found.body) });
  }
  return plans;
}

/** The input of a plan, with the URL of the service. Its connection has the name that the batch began with. */
export interface NamedBatch extends PlanWriteBackInput {
  readonly baseUrl: string;
}

const MAX_SWAPS = 5;

/**
 * Writes `batch.json`, which fixes the resource, key column and types of a batch. Later runs can only add columns.
 *
 * @throws InputError when a different batch has this id
 */
export async function writeBatchFile(store: ObjectStore, input: NamedBatch, types: CellTypes): Promise<void> {
  const { connection, baseUrl, resource, batchId, keyColumn } = input;
  const fixed = { connection, baseUrl, resource, keyColumn, kind: kindOf(input.format) };
  for (let swap = 1; swap <= MAX_SWAPS; swap++) {
    const found = await readBatch(store, batchId);
    if (found !== null) checkBatch(batchId, found.file, fixed);
    const known = found?.file.types ?? {};
    if (found !== null && Object.keys(types).every((name) => Object.hasOwn(known, name))) return;
    const file: BatchFile = { layout: 1, ...fixed, types: { ...types, ...known } };
    const expected = found === null ? 'absent' : { etag: found.etag };
    const { outcome } = await store.swap(batchKey(batchId), encodeSealed(file), expected);
    if (outcome === 'written') return;
  }
  throw finalFailure(
    'Lake',
    `batch ${batchId}: other processes keep changing ${batchKey(batchId)}. Run the same command again.`,
  );
}
