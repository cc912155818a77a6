import type { RunId } from '../../core/brands.js';
import { errorMessage } from '../../core/errors.js';
import { reach } from '../../core/reachability.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { parseIsoTime } from '../../core/utc-time.js';
import { pointerKey } from '../../lake/documents/lake-layout.js';
import {
  type PublishedSnapshot,
  readPublished,
  readPublishedOn,
  readPublishedRun,
} from '../../lake/published/read-published.js';
import { type ObjectStore, openStore, StoreError } from '../../lake/store/index.js';
import { UsageError } from './choose-exit-code.js';
import { reachTimeoutMs } from './command-options.js';
import { output } from './output.js';

/** A connection's lake while a command uses it. */
export interface OpenLake {
  readonly store: ObjectStore;
  /** Repeats `attempt` until the store answers. @throws OutOfReachError after `WORKTRACK_REACH_TIMEOUT` */
  retry<T>(attempt: () => Promise<T>): Promise<T>;
}

/** Runs a command's work with the lake, then closes it. @param timeoutMs how long the lake may be unreachable */
export async function withLake<T>(
  { lake }: ConnectionSettings,
  work: (lake: OpenLake) => Promise<T>,
  timeoutMs: number = reachTimeoutMs(process.env),
): Promise<T> {
  const store = openStore(lake);
  const what = `The lake ${lake.url}`;
  const isOutage = (error: unknown): boolean => error instanceof StoreError && error.retryable;
  const limits = { timeoutMs, onOutage: output.note };
  try {
    return await work({ store, retry: (attempt) => reach(what, attempt, isOutage, errorMessage, limits) });
  } finally {
    store.close();
  }
}

/**
 * The same for work that takes longer the more data there is: once the lake answers, the work has no time limit.
 *
 * @param resource whose pointer is requested first
 * @throws OutOfReachError if the lake does not answer
 */
export function withAnsweringLake<T>(
  connection: ConnectionSettings,
  resource: string,
  work: (store: ObjectStore) => Promise<T>,
  timeoutMs?: number,
): Promise<T> {
  const probeFirst = async ({ store, retry }: OpenLake): Promise<T> => {
    await retry(() => store.head(pointerKey(resource)));
    return work(store);
  };
  return withLake(connection, probeFirst, timeoutMs);
}

/**
 * Reads the current snapshot, or the one of a day or of a run.
 *
 * @throws SnapshotNotFoundError; OutOfReachError if the lake does not answer
 */
export async function publishedSnapshot(
  { store, retry }: OpenLake,
  resource: string,
  dt: string | undefined,
  run?: RunId | undefined,
): Promise<PublishedSnapshot> {
  const current = await retry(() => readPublished(store, resource));
  // Without a time limit: the lake answers, and the duration grows with the number of runs since that day.
  if (run !== undefined) return readPublishedRun(store, current, run);
  return dt === undefined ? current : readPublishedOn(store, current, dt);
}

/** Parses `--dt`. @throws UsageError for an invalid day */
export function readDay(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (/^\d{4}-\d\d-\d\d$/.test(text) && parseIsoTime(text) !== null) return text;
  throw new UsageError(`--dt must be a day such as 2026-11-21; found ${JSON.stringify(text)}`);
}
