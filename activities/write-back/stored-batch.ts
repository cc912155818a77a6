import { isDeepStrictEqual } from 'node:util';
import type { ObjectKey } from '../../src/core/brands.js';
import type { PlanWriteBackInput, SendRowsInput } from '../../src/core/contract/write-back.js';
import { inParallel } from '../../src/core/in-parallel.js';
import type { ConnectionSettings } from '../../src/core/settings.js';
import { writeIfUnchanged } from '../../src/lake/published/swap.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import type { ActivityDeps } from '../../src/run/deps.js';
import { finalFailure } from '../../src/run/failures.js';
import { checkBatch, readBatch } from '../../src/write-back/batch-file.js';
import { batchKeys, planKey, planKeys } from '../../src/write-back/batch-layout.js';
import { type LogIndex, readStates } from '../../src/write-back/chunk-logs.js';
import type { CellTypes } from '../../src/write-back/input-columns.js';
import { Turn, type TurnFile } from '../../src/write-back/ledger/turn.js';
import {
  type BatchFile,
  batchKind,
  type ChunkLog,
  type ChunkRow,
  decodeChunk,
  type PlanFile,
  type RowState,
  type SendingRules,
} from '../../src/write-back/plan-file.js';
import { decodeSealed, encodeSealed } from '../../src/write-back/sealed.js';
import type { TargetSystem } from '../../src/write-back/system.js';

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

/**
 * Checks that this worker sends rows where their plan says. A batch may have begun on another worker, or before a restart with
 * another configuration.
 *
 * @throws a final failure `Configuration`
 */
export function checkSystem(
  { file: { baseUrl } }: StoredPlan,
  by: {
    readonly resource: string;
    readonly deps: Pick<ActivityDeps, 'origin'>;
    readonly settings: Pick<ConnectionSettings, 'baseUrl'>;
  },
): void {
  if (by.settings.baseUrl === baseUrl) return;
  throw finalFailure(
    'Configuration',
    `${by.resource}: this batch sends its rows to ${baseUrl}, but ${by.deps.origin} has the baseUrl ${by.settings.baseUrl}. It sends ` +
      'no further row. Give all workers of the connection the same configuration, then run the same command again.',
  );
}

/** The plans of a batch, oldest first. @throws as `readPlan` */
export async function readStoredPlans(store: ObjectStore, batchId: string): Promise<StoredPlan[]> {
  const plans: StoredPlan[] = [];
  for (const name of await store.listFolders(batchKeys(batchId).plans)) {
    const key = planKey(batchId, name);
    const found = await store.readIfExists(key);
    if (found !== null) plans.push({ key, file: decodeSealed<PlanFile>(key, found.body) });
  }
  return plans;
}

/** The input of a plan, and where its rows are sent. Its connection has the name that the batch began with. */
export interface NamedBatch extends Omit<PlanWriteBackInput, 'system'> {
  readonly system: TargetSystem;
  /** How rows are sent, as the batch began or as the configuration says. */
  readonly sending: SendingRules;
}

const MAX_SWAPS = 5;

/**
 * Writes `batch.json`, which fixes the resource, key column, types and sending rules of a batch. Later runs can only add columns.
 *
 * @throws InputError when a different batch has this id
 */
export async function writeBatchFile(store: ObjectStore, input: NamedBatch, types: CellTypes): Promise<void> {
  const { connection, resource, batchId, keyColumn, system, sending } = input;
  const { baseUrl } = system;
  const fixed = { connection, resource, keyColumn, kind: batchKind(input.format) };
  await changeBatchFile(store, batchId, (found) => {
    if (found !== null) checkBatch(batchId, found, fixed, system);
    const known = found?.types ?? {};
    const here = system.alsoAt(found?.sameAs ?? []);
    const sameAs = here.aliasesWith(found?.baseUrl ?? baseUrl);
    const { keys, ...before } = found ?? {};
    // The keys of another system say nothing about this one.
    const isKept = keys !== undefined && here.placeOf(found!.baseUrl) === 'here';
    const all = { sending, ...before, ...(isKept ? { keys } : {}) };
    return { ...all, ...fixed, baseUrl, sameAs, types: { ...types, ...known } };
  });
}

/** Writes the keys that are shown to belong to the organization of a batch. @param keys the newest last */
export async function writeBatchKeys(
  store: ObjectStore,
  batchId: string,
  keys: readonly string[],
): Promise<void> {
  await changeBatchFile(store, batchId, (found) => found && { ...found, keys });
}

/** Writes the first keys of a batch, unless another worker has. @returns those that the batch has now */
export async function writeFirstKeys(
  store: ObjectStore,
  batchId: string,
  keys: readonly string[],
): Promise<readonly string[]> {
  let stored = keys;
  await changeBatchFile(store, batchId, (found) => {
    stored = found?.keys ?? keys;
    return found === null || found.keys !== undefined ? null : { ...found, keys };
  });
  return stored;
}

/** @param change returns `null` to write nothing */
async function changeBatchFile(
  store: ObjectStore,
  batchId: string,
  change: (found: BatchFile | null) => BatchFile | null,
): Promise<void> {
  const key = batchKeys(batchId).batch;
  for (let swap = 1; swap <= MAX_SWAPS; swap++) {
    const found = await readBatch(store, batchId);
    const file = change(found?.file ?? null);
    if (file === null || (found !== null && isDeepStrictEqual(found.file, file))) return;
    const expected = found === null ? 'absent' : { etag: found.etag };
    const { outcome } = await store.swap(key, encodeSealed(file), expected);
    if (outcome === 'written') return;
  }
  throw finalFailure(
    'Lake',
    `batch ${batchId}: other processes keep changing ${key}. Run the same command again.`,
  );
}

/** The rows of a chunk, with the state of each row from all logs. */
export interface LoadedChunk {
  readonly number: number;
  readonly rows: readonly ChunkRow[];
  readonly states: ReadonlyMap<number, RowState>;
}

/** @throws DamagedError if the chunk or a log is not exactly what was written; StoreError */
export async function loadChunk(
  store: ObjectStore,
  plan: StoredPlan,
  number: number,
  index: LogIndex,
): Promise<LoadedChunk> {
  const key = planKeys(plan.key).chunk(plan.file.writer, number);
  const [body, states] = await Promise.all([store.read(key), readStates(store, plan, number, index)]);
  return { number, rows: decodeChunk(key, body, plan.file.chunks[number]!), states };
}

/** Chunks that are read at the same time. */
const WIDTH = 8;

/** All chunks of a plan in their order, with a few of them in memory. @throws as `loadChunk` */
export async function* loadChunks(
  store: ObjectStore,
  plan: StoredPlan,
  index: LogIndex,
): AsyncGenerator<LoadedChunk> {
  const numbers = [...plan.file.chunks.keys()];
  for (let from = 0; from < numbers.length; from += WIDTH) {
    const some = numbers.slice(from, from + WIDTH);
    yield* await inParallel(some, WIDTH, (number) => loadChunk(store, plan, number, index));
  }
}

/** Whether the service has accepted a row of a plan. Reads logs until it finds one. @throws as `loadChunk` */
export async function hasAcceptedRow(store: ObjectStore, index: LogIndex): Promise<boolean> {
  for (const { done, open } of index.values()) {
    for (const key of [...done, ...open]) {
      const log = decodeSealed<ChunkLog>(key, await store.read(key));
      if (log.accepted > 0) return true;
    }
  }
  return false;
}
