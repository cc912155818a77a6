import { proxyActivities } from '@temporalio/workflow';
import type { Activities, WatchInput } from '../../src/core/contract/index.js';
import { priorityOf } from '../shared/priority.js';

/**
 * Looks once whether the data of a connection have become stale, and whether its Schedule is behind
 * (docs/how-to/alerts.md#the-watcher). A Schedule starts this workflow.
 */
export async function watchWorkflow({ connection }: WatchInput): Promise<void> {
  const { 'worktrack.watch': watch } = proxyActivities<Activities>({
    startToCloseTimeout: '5 minutes',
    scheduleToCloseTimeout: '2 hours',
    retry: { initialInterval: '5 seconds', maximumInterval: '1 minute', maximumAttempts: 6 },
    priority: priorityOf(connection, 'background'),
  });
  await watch({ connection });
}
