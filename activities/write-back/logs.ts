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
import { readDocument } from '../documents.js';

/** The logs of one chunk. */
export interface LogsOfChunk {
  /** One that names every row; `null` while the chunk is not done. */
  readonly done: ObjectKey | null;
  readonly open: readonly ObjectKey[];
}

/** Logs of a plan by chunk. */
export type LogIndex = ReadonlyMap<number, LogsOfChunk>;

/** What is in the lake of a plan's logs now. */
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

/** A chunk's rows with what is known of each. */
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
