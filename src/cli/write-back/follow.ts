import type { ConnectionSettings } from '../../core/settings.js';
import type { WriteBackInput, WriteBackResult } from '../../core/write-back-contract.js';
import type { TemporalClient } from '../../temporal/connect.js';
import { waitingView } from '../../temporal/export-view.js';
import { followWriteBack } from '../../temporal/follow-write-back.js';
import { listenForInterrupts } from '../interrupt.js';
import { reachTimeoutMs } from '../options.js';
import { output } from '../output.js';
import { watchStore } from '../store-watch.js';
import { DetachedError } from '../usage-error.js';
import { BatchProgress } from './progress.js';

/** Time for a second Ctrl-C. */
const SECOND_PRESS_MS = 3_000;
const GOES_ON = 'The batch goes on. The same command again follows it.';

export interface FollowedBatch {
  readonly workflowId: string;
  readonly connection: ConnectionSettings;
  readonly input: WriteBackInput;
}

/**
 * Follows a batch on the screen until it ends.
 *
 * @throws DetachedError after Ctrl-C; OutOfReachError
 */
export async function followBatch(
  temporal: TemporalClient,
  { workflowId, connection, input }: FollowedBatch,
): Promise<WriteBackResult> {
  const reachOptions = { timeoutMs: reachTimeoutMs(process.env), onTrouble: output.note };
  const progress = new BatchProgress(process.stderr);
  const store = watchStore(connection, reachOptions);
  const interrupts = listenForInterrupts({
    windowMs: SECOND_PRESS_MS,
    onFirst() {
      progress.end();
      output.note(`Leaving in ${SECOND_PRESS_MS / 1000} s. Ctrl-C again cancels the batch. ${GOES_ON}`);
    },
    onCancel() {
      output.note(
        'Cancelling the batch; what was sent keeps its receipt. Ctrl-C again leaves without waiting for it.',
      );
      temporal.client.workflow
        .getHandle(workflowId)
        .cancel()
        .catch((error: unknown) => output.note(`It could not be cancelled: ${String(error)}`));
    },
  });
  try {
    return await followWriteBack(temporal, workflowId, {
      ...reachOptions,
      signal: AbortSignal.any([interrupts.detach, store.signal]),
      onView(view) {
        progress.show(view);
        const { taskQueue, worker, trouble } = view;
        const resource = { ...waitingView(input.resource), rows: view.done, trouble };
        store.look({ workflowId, worker, taskQueue, resources: [resource] });
      },
    });
  } catch (error) {
    if (store.signal.aborted) throw withHint(store.signal.reason);
    if (interrupts.detach.aborted) throw new DetachedError(GOES_ON);
    throw withHint(error);
  } finally {
    interrupts.release();
    store.close();
    progress.end();
  }
}

function withHint(error: unknown): unknown {
  if (error instanceof Error && 'code' in error && error.code === 'OUT_OF_REACH')
    error.message += `\n${GOES_ON}`;
  return error;
}
