import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionSettings } from '../core/settings.js';
import { pointerKey } from '../lake/layout.js';
import { type ObjectStore, openStore, StoreError } from '../lake/store/index.js';
import type { ExportView } from '../temporal/export-view.js';
import { Patience, REACH_TIMEOUT_MS, type ReachOptions } from '../temporal/reach.js';

const ASK_EVERY_MS = 5_000;
/** A run in which nothing moves for so long may be waiting for the lake, whose client is patient. */
const STILL_MS = 10_000;

/** Finds out whether it is the lake that a run waits for. */
export interface StoreWatch {
  /** To be told where the export stands. */
  look(view: ExportView): void;
  /** Aborts, with an OutOfReachError, when the lake has been out of reach for too long. */
  readonly signal: AbortSignal;
  close(): void;
}

/**
 * While a run of the export is in trouble or stands still, asks the lake from here. Only what both worker and command
 * cannot reach counts as out of reach; a command without credentials of its own finds nothing wrong.
 */
export function watchStore({ lake, resources }: ConnectionSettings, options: ReachOptions): StoreWatch {
  const { timeoutMs = REACH_TIMEOUT_MS } = options;
  const lost = new AbortController();
  const patience = new Patience(`The lake ${lake.url}`, options);
  const key = pointerKey(resources[0]?.name ?? 'none');
  const stillMs = Math.min(STILL_MS, timeoutMs / 2);
  const everyMs = Math.min(ASK_EVERY_MS, timeoutMs / 4);
  let store: ObjectStore | null = null;
  let seen = '';
  let movedAt = performance.now();
  let askedAt = Number.NEGATIVE_INFINITY;

  async function ask(): Promise<void> {
    store ??= openStore(lake);
    const trouble = await Promise.race([
      store.head(key).then(() => null, whyUnreachable),
      delay(everyMs, 'no answer', { ref: false }),
    ]);
    if (trouble === null) return patience.answered();
    try {
      patience.failed(trouble);
    } catch (outOfReach) {
      lost.abort(outOfReach);
    }
  }

  return {
    signal: lost.signal,
    look({ resources: views }) {
      const now = performance.now();
      const state = JSON.stringify(views);
      if (state !== seen) [seen, movedAt] = [state, now];
      const isSuspect = views.some((one) => one.trouble !== null) || now - movedAt >= stillMs;
      if (!isSuspect) return patience.answered();
      if (now - askedAt < everyMs + 1_000) return;
      askedAt = now;
      void ask();
    },
    close: () => store?.close(),
  };
}

function whyUnreachable(error: unknown): string | null {
  return error instanceof StoreError && error.kind === 'unreachable' ? error.message : null;
}
