import { setTimeout as delay } from 'node:timers/promises';
import { OutageTimer, REACH_TIMEOUT_MS, type ReachOptions } from '../../core/reach.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { pointerKey } from '../../lake/published/layout.js';
import { type ObjectStore, openStore, StoreError } from '../../lake/store/index.js';
import type { AttemptFailure } from '../../temporal/status/pending-activity.js';

const PROBE_EVERY_MS = 5_000;
/** A run without progress for this long may be waiting for the lake, whose client retries for a long time. */
const STALL_MS = 10_000;

/** Detects that a run is waiting for the lake. */
export interface StoreWatch {
  /** Call it with each new state of the work: its parts, each with the failure of its last attempt. */
  look(parts: readonly { readonly failure: AttemptFailure | null }[]): void;
  /** Aborts with an OutOfReachError when the lake has been unreachable until the time limit. */
  readonly signal: AbortSignal;
  close(): void;
}

/**
 * Probes the lake from this process while a run or a batch fails or makes no progress. The lake counts as unreachable
 * only if neither the worker nor this command can reach it; a credentials error of this command does not count.
 */
export function watchStore({ lake, resources }: ConnectionSettings, options: ReachOptions): StoreWatch {
  const { timeoutMs = REACH_TIMEOUT_MS } = options;
  const unreachable = new AbortController();
  const outage = new OutageTimer(`The lake ${lake.url}`, options);
  const key = pointerKey(resources[0]?.name ?? 'none');
  const stallMs = Math.min(STALL_MS, timeoutMs / 2);
  const everyMs = Math.min(PROBE_EVERY_MS, timeoutMs / 4);
  let store: ObjectStore | null = null;
  let lastState = '';
  let changedAt = performance.now();
  let probedAt = Number.NEGATIVE_INFINITY;

  async function probe(): Promise<void> {
    store ??= openStore(lake);
    const failure = await Promise.race([
      store.head(key).then(() => null, whyUnreachable),
      delay(everyMs, 'no answer', { ref: false }),
    ]);
    if (failure === null) return outage.answered();
    try {
      outage.failed(failure);
    } catch (outOfReach) {
      unreachable.abort(outOfReach);
    }
  }

  return {
    signal: unreachable.signal,
    look(parts) {
      const now = performance.now();
      const state = JSON.stringify(parts);
      if (state !== lastState) [lastState, changedAt] = [state, now];
      const isSuspect = parts.some((one) => one.failure !== null) || now - changedAt >= stallMs;
      if (!isSuspect) return outage.answered();
      if (now - probedAt < everyMs + 1_000) return;
      probedAt = now;
      void probe();
    },
    close: () => store?.close(),
  };
}

function whyUnreachable(error: unknown): string | null {
  return error instanceof StoreError && error.kind === 'unreachable' ? error.message : null;
}
