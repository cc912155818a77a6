import type { ObjectKey } from '../../src/core/brands.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import {
  type ChunkLog,
  type ChunkRow,
  chunkKey,
  decodeChunk,
  decodeSealed,
  logsPrefix,
  mergeLogs,
  parseLogKey,
  type RowState,
} from '../../src/write-back/index.js';
import type { StoredPlan } from './stored-plans.js';

/** The keys of one chunk's logs. */
interface ChunkLogKeys {
  /** Logs with a receipt for every row. There is more than one if a replaced attempt completed the chunk as well. */
  readonly done: readonly ObjectKey[];
  readonly open: readonly ObjectKey[];
}

/** The log keys of a plan, by chunk number. */
export type LogIndex = ReadonlyMap<number, ChunkLogKeys>;

/** Lists the logs of a plan. */
export async function readLogIndex(store: ObjectStore, plan: ObjectKey): Promise<LogIndex> {
  const index = new Map<number, Record<'done' | 'open', ObjectKey[]>>();
  for await (const { key } of store.list(logsPrefix(plan))) {
    const log = parseLogKey(key);
    if (log === null) continue;
    const known = index.get(log.chunk) ?? { done: [], open: [] };
    known[log.state].push(key);
    index.set(log.chunk, known);
  }
  return index;
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
  const [rows, states] = await Promise.all([
    readChunk(store, plan, number),
    readStates(store, plan, number, index),
  ]);
  return { number, rows, states };
}

/** The states of a chunk's rows from all logs, by index in the chunk. @throws as `loadChunk` */
export async function readStates(
  store: ObjectStore,
  plan: StoredPlan,
  number: number,
  index: LogIndex,
): Promise<Map<number, RowState>> {
  const { done, open } = index.get(number) ?? { done: [], open: [] };
  const keys = done.length > 0 ? done : open;
  const logs = await Promise.all(keys.map(async (key) => decodeSealed<ChunkLog>(key, await store.read(key))));
  return mergeLogs(logs, plan.file.chunks[number]!);
}

/** The rows of a chunk of a plan. @throws as `loadChunk` */
export async function readChunk(store: ObjectStore, plan: StoredPlan, number: number): Promise<ChunkRow[]> {
  const key = chunkKey(plan.key, plan.file.writer, number);
  return decodeChunk(key, await store.read(key), plan.file.chunks[number]!);
}

/** Whether the service has accepted a row from an attempt of a run. Reads logs until it finds one. @throws as `loadChunk` */
export async function hasAcceptedRow(store: ObjectStore, index: LogIndex, run: string): Promise<boolean> {
  for (const { done, open } of index.values()) {
    for (const key of [...done, ...open]) {
      const log = decodeSealed<ChunkLog>(key, await store.read(key));
      if (log.run === run && log.accepted > 0) return true;
    }
  }
  return false;
}
