import type { ConnectionSettings } from '../core/settings.js';
import { type PublishedSnapshot, readPublished, readPublishedOn } from '../lake/published.js';
import { type ObjectStore, openStore, StoreError } from '../lake/store/index.js';
import { reach } from '../temporal/reach.js';
import { reachTimeoutMs } from './options.js';
import { output } from './output.js';
import { UsageError } from './usage-error.js';

/** A connection's lake for as long as a command needs it. */
export interface OpenLake {
  readonly store: ObjectStore;
  /** Repeats an attempt until the store answers. @throws OutOfReachError after `WORKTRACK_REACH_TIMEOUT` */
  reached<T>(attempt: () => Promise<T>): Promise<T>;
}

/** Runs a command's work with the lake, and closes it. */
export async function withLake<T>(
  { lake }: ConnectionSettings,
  work: (lake: OpenLake) => Promise<T>,
): Promise<T> {
  const store = openStore(lake);
  try {
    return await work({
      store,
      reached: (attempt) =>
        reach(
          `The lake ${lake.url}`,
          attempt,
          (error) => error instanceof StoreError && error.retryable,
          (error) => (error instanceof Error ? error.message : String(error)),
          { timeoutMs: reachTimeoutMs(process.env), onTrouble: output.note },
        ),
    });
  } finally {
    store.close();
  }
}

/**
 * The current snapshot, or that of a day.
 *
 * @throws SnapshotNotFoundError; OutOfReachError when the lake does not answer
 */
export async function publishedSnapshot(
  { store, reached }: OpenLake,
  resource: string,
  dt: string | undefined,
): Promise<PublishedSnapshot> {
  const current = await reached(() => readPublished(store, resource));
  // It answers: what follows may take its time, for it grows with the number of runs since that day.
  return dt === undefined ? current : readPublishedOn(store, current, dt);
}

/** What `--dt` says. @throws UsageError for what is no day */
export function readDay(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // `Date.parse` takes the 30th of February for the 2nd of March.
  if (!Number.isNaN(time) && new Date(time).toISOString().startsWith(text)) return text;
  throw new UsageError(`--dt must be a day such as 2026-11-21; found ${JSON.stringify(text)}`);
}
