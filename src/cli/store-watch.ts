import type { ConnectionSettings } from '../core/settings.js';
import { pointerKey } from '../lake/layout.js';
import { type ObjectStore, openStore, StoreError } from '../lake/store/index.js';
import type { ExportView } from '../temporal/export-view.js';
import { Patience, type ReachOptions } from '../temporal/reach.js';

const ASK_EVERY_MS = 5_000;

/** Finds out whether it is the lake that a troubled run waits for. */
export interface StoreWatch {
  /** To be told where the export stands. */
  look(view: ExportView): void;
  /** Aborts, with an OutOfReachError, when the lake has been out of reach for too long. */
  readonly signal: AbortSignal;
  close(): void;
}

/**
 * While a run of the export is in trouble, asks the lake from here. Only what both worker and command cannot reach
 * counts as out of reach; a command without credentials of its own finds nothing wrong.
 */
export function watchStore({ lake, resources }: ConnectionSettings, options: ReachOptions): StoreWatch {
  const lost = new AbortController();
  const patience = new Patience(`The lake ${lake.url}`, options);
  const name = resources[0]?.name ?? 'none';
  let store: ObjectStore | null = null;
  let askedAt = Number.NEGATIVE_INFINITY;
  let busy = false;

  async function ask(): Promise<void> {
    store ??= openStore(lake);
    try {
      await store.head(pointerKey(name));
      patience.answered();
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== 'unreachable') return patience.answered();
      try {
        patience.failed(error.message);
      } catch (outOfReach) {
        lost.abort(outOfReach);
      }
    }
  }

  return {
    signal: lost.signal,
    look(view) {
      const inTrouble = view.resources.some((one) => one.trouble !== null);
      if (!inTrouble) return patience.answered();
      const now = performance.now();
      const isDue = now - askedAt >= Math.min(ASK_EVERY_MS, (options.timeoutMs ?? ASK_EVERY_MS) / 4);
      if (busy || !isDue) return;
      askedAt = now;
      busy = true;
      void ask().finally(() => {
        busy = false;
      });
    },
    close: () => store?.close(),
  };
}
