import type { ObjectKey } from '../core/brands.js';
import type { ObjectStore } from '../lake/store/index.js';
import { parseLogKey, planKeys } from './batch-layout.js';
import { type ChunkLog, mergeLogs, type PlanFile, type RowState } from './plan-file.js';
import { decodeSealed } from './sealed.js';

/**
 * The log keys of a plan, by chunk number. `done`: logs with a receipt for every row. There is more than one if a replaced
 * attempt completed the chunk as well.
 */
export type LogIndex = ReadonlyMap<number, Readonly<Record<'done' | 'open', readonly ObjectKey[]>>>;

/** Lists the logs of a plan. */
export async function readLogIndex(store: ObjectStore, plan: ObjectKey): Promise<LogIndex> {
  const index = new Map<number, Record<'done' | 'open', ObjectKey[]>>();
  for await (const { key } of store.list(planKeys(plan).logs)) {
    const log = parseLogKey(key);
    if (log === null) continue;
    const known = index.get(log.chunk) ?? { done: [], open: [] };
    known[log.state].push(key);
    index.set(log.chunk, known);
  }
  return index;
}

/** The states of a chunk's rows from all logs, by index in the chunk. @throws as `loadChunk` */
export async function readStates(
  store: ObjectStore,
  { file }: { readonly file: Pick<PlanFile, 'chunks'> },
  number: number,
  index: LogIndex,
): Promise<Map<number, RowState>> {
  const { done, open } = index.get(number) ?? { done: [], open: [] };
  const keys = done.length > 0 ? done : open;
  const logs = await Promise.all(keys.map(async (key) => decodeSealed<ChunkLog>(key, await store.read(key))));
  return mergeLogs(logs, file.chunks[number]!);
}
