import type { ObjectKey } from '../../src/core/brands.js';
import type { PlanWriteBackInput } from '../../src/core/write-back-contract.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import {
  type BatchFile,
  batchKey,
  type CellTypes,
  checkBatch,
  kindOf,
  type PlanFile,
  planKey,
  plansPrefix,
  readBatch,
} from '../../src/write-back/index.js';
import { finalFailure } from '../failures.js';

/** A plan of a batch that was made whole. */
export interface KnownPlan {
  readonly key: ObjectKey;
  readonly file: PlanFile;
}

/** The plans of a batch, oldest first. */
export async function readPlans(store: ObjectStore, batchId: string): Promise<KnownPlan[]> {
  const plans: KnownPlan[] = [];
  for (const name of await store.listFolders(plansPrefix(batchId))) {
    const key = planKey(batchId, name);
    const found = await store.readIfExists(key);
    if (found !== null) plans.push({ key, file: JSON.parse(found.body.toString('utf8')) as PlanFile });
  }
  return plans;
}

const SWAPS = 5;

/**
 * Fixes what a batch keeps to, at its first run; a later one may add columns.
 *
 * @throws InputError when another batch was begun under this id
 */
export async function fixBatch(
  store: ObjectStore,
  input: PlanWriteBackInput,
  types: CellTypes,
): Promise<void> {
  const { connection, resource, batchId, keyColumn } = input;
  const asked = { connection, resource, keyColumn, kind: kindOf(input.format) };
  for (let swap = 1; swap <= SWAPS; swap++) {
    const found = await readBatch(store, batchId);
    if (found !== null) checkBatch(batchId, found.file, asked);
    const known = found?.file.types ?? {};
    if (found !== null && Object.keys(types).every((name) => Object.hasOwn(known, name))) return;
    const file: BatchFile = { layout: 1, ...asked, types: { ...types, ...known } };
    const expected = found === null ? 'absent' : { etag: found.etag };
    const { outcome } = await store.swap(batchKey(batchId), Buffer.from(JSON.stringify(file)), expected);
    if (outcome === 'written') return;
  }
  throw finalFailure('Lake', `batch ${batchId}: somebody else keeps changing its ${batchKey(batchId)}`);
}
