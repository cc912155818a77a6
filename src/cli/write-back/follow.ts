import type { WriteBackInput, WriteBackResult } from '../../core/contract/write-back.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { waitingView } from '../../temporal/follow/export-view.js';
import { followWriteBack } from '../../temporal/follow/follow-write-back.js';
import { SECOND_PRESS_MS, withHint } from '../runs/follow.js';
import { listenForInterrupts } from '../shared/interrupt.js';
import { reachTimeoutMs } from '../shared/options.js';
import { output } from '../shared/output.js';
import { watchStore } from '../shared/store-watch.js';
import { DetachedError } from '../shared/usage-error.js';
import { BatchProgress } from './progress.js';

const CONTINUES = 'The batch continues. To follow it again, run the same command.';

interface FollowedBatch {
  readonly workflowId: string;
  readonly connection: ConnectionSettings;
  readonly input: WriteBackInput;
}

/**
 * Shows the progress of a batch until it ends.
 *
 * @throws DetachedError after Ctrl-C; OutOfReachError
 */
export async function followBatch(
  temporal: TemporalClient,
  { workflowId, connection, input }: FollowedBatch,
): Promise<WriteBackResult> {
  const reachOptions = { timeoutMs: reachTimeoutMs(process.env), onOutage: output.note };
  const progress = new BatchProgress(process.stderr);
  const store = watchStore(connection, reachOptions);
  const interrupts = listenForInterrupts({
    windowMs: SECOND_PRESS_MS,
    onFirst() {
      progress.end();
      output.note(
        `Leaving in ${SECOND_PRESS_MS / 1000} s. Press Ctrl-C again to cancel the batch. ${CONTINUES}`,
      );
    },
    onCancel() {
      output.note(
        'Cancelling the batch. Rows already sent keep their receipts. Press Ctrl-C again to leave without waiting.',
      );
      temporal.client.workflow
        .getHandle(workflowId)
        .cancel()
        .catch((error: unknown) => output.note(`The batch could not be cancelled: ${String(error)}`));
    },
  });
  try {
    return await followWriteBack(temporal, workflowId, {
      ...reachOptions,
      signal: AbortSignal.any([interrupts.detach, store.signal]),
      onView(view) {
        progress.show(view);
        const { taskQueue, worker, failure } = view;
        const resource = { ...waitingView(input.resource), rows: view.done, failure };
        store.look({ workflowId, worker, taskQueue, resources: [resource] });
      },
    });
  } catch (error) {
    if (store.signal.aborted) throw withHint(store.signal.reason, CONTINUES);
    if (interrupts.detach.aborted) throw new DetachedError(CONTINUES);
    throw withHint(error, CONTINUES);
  } finally {
    interrupts.release();
    store.close();
    progress.end();
  }
}
