import { Context } from '@temporalio/activity';
import type { Activities } from '../../src/core/contract/index.js';
import { fromUtcSeconds } from '../../src/lake/run/watermark.js';
import type { ActivityDeps } from '../shared/deps.js';

/** Wraps `publish` and records its result as metrics and a log line. */
export function withPublishMetrics(
  { meter, now }: ActivityDeps,
  publish: Activities['worktrack.publish'],
): Activities['worktrack.publish'] {
  return async (input) => {
    const labels = { connection: input.connection, resource: input.resource };
    const published = await publish(input);
    const { counts, checkpoint, warnings } = published;
    for (const outcome of ['inserted', 'updated', 'deleted'] as const) {
      meter.record('changedRows', counts[outcome], { ...labels, outcome });
    }
    meter.record('snapshotRows', counts.rows, labels);
    meter.record('neverPublished', 0, labels);
    meter.record('freshness', (now() - fromUtcSeconds(checkpoint.updatedSince)) / 1000, labels);
    Context.current().log.info('published', { ...counts, warnings: warnings.length });
    return published;
  };
}
