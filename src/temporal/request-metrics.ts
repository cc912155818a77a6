import type { ServiceEvent } from '../api/index.js';
import type { Meter } from '../core/metrics.js';

/** What becomes of a connection's requests, as metrics. */
export function recordRequests(meter: Meter, connection: string): (event: ServiceEvent) => void {
  return (event) => {
    const labels = { connection, resource: event.resource };
    if (event.kind === 'request') meter.record('requests', 1, { ...labels, outcome: event.outcome });
    else if (event.kind === 'retry') meter.record('retries', 1, labels);
    else {
      meter.record('rateLimitWaits', 1, labels);
      meter.record('rateLimitSeconds', event.ms / 1000, labels);
    }
  };
}
