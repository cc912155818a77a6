import { Context } from '@temporalio/activity';
import type { PublishedRun, RunRef } from '../../src/core/contract/index.js';
import { fromUtcSeconds } from '../../src/lake/run/watermark.js';
import type { ActivityDeps } from '../shared/deps.js';

/** Records what was published as metrics and a log line. */
export function recordPublished(
  { meter, now }: Pick<ActivityDeps, 'meter' | 'now'>,
  { connection, resource }: Pick<RunRef, 'connection' | 'resource'>,
  { counts, checkpoint, warnings, snapshot }: PublishedRun,
): void {
  const labels = { connection, resource };
  for (const outcome of ['inserted', 'updated', 'deleted'] as const)
    meter.record('changedRows', counts[outcome], { ...labels, outcome });
  meter.record('snapshotRows', counts.rows, labels);
  meter.record('neverPublished', 0, labels);
  meter.record('freshness', (now() - fromUtcSeconds(checkpoint.updatedSince)) / 1000, labels);
  Context.current().log.info('published', { ...counts, warnings: warnings.length, snapshot });
}
