import type { ObjectKey } from '../../src/core/brands.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import {
  type ChunkLog,
  type ChunkRow,
  chunkKey,
  decodeChunk,
  logsPrefix,
  mergeLogs,
  parseLogKey,
  type RowState,
} from '../../src/write-back/index.js';
import { readDocument } from '../shared/documents.js';

/** The keys of one chunk's logs. */
interface ChunkLogKeys {
  /** The log with a receipt for every row; `null` while the chunk is incomplete. */
  readonly done: ObjectKey | null;
  readonly open: readonly ObjectKey[];
}

/** The log keys of a plan, by chunk number. */
export type LogIndex = ReadonlyMap<number, ChunkLogKeys>;

/** Lists the logs of a plan. */
export async function readLogIndex(store: ObjectStore, plan: ObjectKey): Promise<LogIndex> {
  const index = new Map<number, { done: ObjectKey | null; open: ObjectKey[] }>();
  for await (const { key } of store.list(logsPrefix(plan))) {
    const log = parseLogKey(key);
    if (log === null) continue;
    const known = index.get(log.chunk) ?? { done: null, open: [] };
    if (log.state === 'done') known.done = key;
    else known.open.push(key);
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

export async function loadChunk(
  store: ObjectStore,
  plan: ObjectKey,
  number: number,
  index: LogIndex,
): Promise<LoadedChunk> {
  const logs = index.get(number);
  const keys = logs === undefined ? [] : logs.done === null ? logs.open : [logs.done];
  const [chunk, ...documents] = await Promise.all([
    store.read(chunkKey(plan, number)),
    ...keys.map((key) => readDocument<ChunkLog>(store, key)),
  ]);
  const rows = decodeChunk(chunk);
  return { number, rows, states: mergeLogs(documents, rows.length) };
}
