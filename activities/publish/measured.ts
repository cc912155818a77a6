import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Activities } from '../../src/core/contract.js';
import { fromUtcSeconds } from '../../src/lake/watermark.js';
import type { ActivityDeps } from '../deps.js';

/** Publishes, and measures and logs what came of it. */
export function measured(
  { meter, now }: ActivityDeps,
  publish: Activities['worktrack.publish'],
): Activities['worktrack.publish'] {
  return async (input) => {
    const labels = { connection: input.connection, resource: input.resource };
    try {
      const published = await publish(input);
      const { counts, checkpoint, warnings } = published;
      meter.record('publishes', 1, { ...labels, outcome: 'published' });
      for (const outcome of ['inserted', 'updated', 'deleted'] as const) {
        meter.record('changedRows', counts[outcome], { ...labels, outcome });
      }
      meter.record('snapshotRows', counts.rows, labels);
      meter.record('freshness', (now() - fromUtcSeconds(checkpoint.updatedSince)) / 1000, labels);
      Context.current().log.info('published', { ...counts, warnings: warnings.length });
      return published;
    } catch (error) {
      const displaced = error instanceof ApplicationFailure && error.type === 'Displaced';
      meter.record('publishes', 1, { ...labels, outcome: displaced ? 'displaced' : 'failed' });
      throw error;
    }
  };
}
