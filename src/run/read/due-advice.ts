import { formatDuration } from '../../core/duration.js';
import type { RunFile } from '../../lake/documents/run-file.js';

/**
 * What the failure of a run adds that reads everything only because that is due (docs/explanation/guarantees.md#full-reads): the next runs
 * fail in the same way, although increments may work. Empty for other runs.
 */
export function dueAdvice({ isOnlyDue, sync }: Pick<RunFile, 'isOnlyDue' | 'sync'>): string {
  if (isOnlyDue !== true || sync.reconcileEveryMs === null) return '';
  return (
    ` The run read everything because that is due once per \`sync.reconcileEvery\` (${formatDuration(sync.reconcileEveryMs)}), as are the ` +
    'next ones. With `sync.reconcileEvery: never`, increments continue, but no run detects deletes by absence or finds rows that a ' +
    'shifting list has hidden.'
  );
}
