import { ageOfData } from '../../core/data-age.js';
import { MINUTE_MS } from '../../core/duration.js';
import { errorMessage } from '../../core/errors.js';
import type { Meter } from '../../core/metrics.js';
import { readPointer } from '../../lake/published/pointer.js';
import { fromUtcSeconds } from '../../lake/run/watermark.js';
import type { Connections } from './connections.js';

interface FreshnessOptions {
  readonly connections: Connections;
  readonly meter: Meter;
  /** Called for each resource with each measurement. */
  readonly onResource?: (labels: { readonly connection: string; readonly resource: string }) => void;
  /** Called at the end of each measurement. An error is reported like an unreadable pointer. */
  readonly onRound?: () => Promise<void>;
  /** Called when a resource's pointer becomes unreadable, and not again until it was readable. */
  readonly onError: (message: string) => void;
  /** Interval between two measurements. Default: a minute. */
  readonly everyMs?: number;
}

/**
 * Measures the age of each resource's data by its `latest.json`, so that the age grows while nothing is published, no
 * matter which worker published last. Each measurement reads one small object per resource.
 */
export function watchFreshness(options: FreshnessOptions): { stop(): Promise<void> } {
  const failing = new Set<string>();
  let stopped = false;
  let isReading = false;
  let reading = Promise.resolve();
  const read = (): void => {
    // A round over many connections can take longer than the interval.
    if (isReading) return;
    isReading = true;
    reading = (async () => {
      for (const { name: connection, resources } of options.connections.settings.connections) {
        for (const { name: resource } of resources) {
          if (stopped) return;
          options.onResource?.({ connection, resource });
          await measure(options, { connection, resource }, failing);
        }
      }
      await measureRound(options, failing);
    })().finally(() => {
      isReading = false;
    });
  };
  read();
  const timer = setInterval(read, options.everyMs ?? MINUTE_MS);
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
  { connections, meter, onError }: FreshnessOptions,
  labels: { readonly connection: string; readonly resource: string },
  failing: Set<string>,
): Promise<void> {
  const { connection, resource } = labels;
  const id = `${connection}/${resource}`;
  try {
    // The connection must stay open during the read, even if the configuration changes.
    const pointer = await connections.during('freshness', null, () =>
      readPointer(connections.connection(connection).store, resource),
    );
    failing.delete(id);
    meter.record('neverPublished', pointer === null ? 1 : 0, labels);
    if (pointer === null) return;
    const { checkpoint, rows } = pointer;
    const age = ageOfData(fromUtcSeconds(checkpoint.updatedSince), connections.now());
    meter.record('freshness', age / 1000, labels);
    meter.record('snapshotRows', rows, labels);
  } catch (error) {
    if (failing.has(id)) return;
    failing.add(id);
    onError(`cannot measure the freshness of ${id}: ${errorMessage(error)}`);
  }
}

async function measureRound({ onRound, onError }: FreshnessOptions, failing: Set<string>): Promise<void> {
  const id = 'open write-backs';
  try {
    await onRound?.();
    failing.delete(id);
  } catch (error) {
    if (failing.has(id)) return;
    failing.add(id);
    onError(`cannot count the ${id}: ${errorMessage(error)}`);
  }
}
