import type { WriteBackResult } from '../../core/contract/write-back.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { followWriteBack } from '../../temporal/follow/follow-write-back.js';
import { batchProgressOn } from '../progress/views.js';
import { openFollowSession } from '../runs/follow-session.js';

/**
 * Shows the progress of a batch until it ends.
 *
 * @throws DetachedError after Ctrl-C; OutOfReachError
 */
export async function followBatch(
  temporal: TemporalClient,
  workflowId: string,
  connection: ConnectionSettings,
): Promise<WriteBackResult> {
  const progress = batchProgressOn(process.stderr);
  const session = openFollowSession(temporal, {
    ...{ what: 'batch', connection, waitMs: null, endDisplay: () => progress.end() },
    next: () => 'To follow it again, run the same command.',
    kept: 'Rows already sent keep their receipts.',
  });
  session.started(workflowId);
  const { timeoutMs, onOutage, signal } = session;
  try {
    return await followWriteBack(temporal, workflowId, {
      ...{ timeoutMs, onOutage, signal },
      onView(view) {
        progress.show(view);
        session.look([view]);
      },
    });
  } catch (error) {
    throw session.failure(error, workflowId);
  } finally {
    session.close();
  }
}
