import type { Meter } from '../core/metrics.js';
import type { Settings } from '../core/settings.js';
import { pointerKey } from '../lake/layout.js';
import { decodePointer } from '../lake/pointer.js';
import { fromUtcSeconds } from '../lake/watermark.js';
import type { Connections } from './connections.js';

export interface FreshnessOptions {
  readonly settings: Settings;
  readonly connections: Connections;
  readonly meter: Meter;
  /** Told once for each resource whose pointer cannot be read, until it can again. */
  readonly onTrouble: (message: string) => void;
  /** Between two readings. Default: a minute. */
  readonly everyMs?: number;
}

/**
 * Measures how old each resource's data in the lake is, by its `latest.json`: so the figure grows while nothing is
 * published, whichever worker published last. One small object a resource is read each time.
 */
export function watchFreshness(options: FreshnessOptions): { stop(): Promise<void> } {
  const troubled = new Set<string>();
  let stopped = false;
  let reading = Promise.resolve();
  const read = (): void => {
    reading = reading.then(async () => {
      for (const { name: connection, resources } of options.settings.connections) {
        for (const { name: resource } of resources) {
          if (stopped) return;
          await measure(options, { connection, resource }, troubled);
        }
      }
    });
  };
  read();
  const timer = setInterval(read, options.everyMs ?? 60_000);
  timer.unref();
  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await reading;
    },
  };
}

async function measure(
  { connections, meter, onTrouble }: FreshnessOptions,
  labels: { readonly connection: string; readonly resource: string },
  troubled: Set<string>,
): Promise<void> {
  const { connection, resource } = labels;
  const id = `${connection}/${resource}`;
  try {
    const found = await connections.connection(connection).store.readIfExists(pointerKey(resource));
    troubled.delete(id);
    // Of what was never published nothing can be said; the alert on failures speaks then.
    if (found === null) return;
    const { checkpoint, rows } = decodePointer(found.body);
    meter.record('freshness', (connections.now() - fromUtcSeconds(checkpoint.updatedSince)) / 1000, labels);
    meter.record('snapshotRows', rows, labels);
  } catch (error) {
    if (troubled.has(id)) return;
    troubled.add(id);
    onTrouble(`freshness of ${id} is not known: ${error instanceof Error ? error.message : String(error)}`);
  }
}
