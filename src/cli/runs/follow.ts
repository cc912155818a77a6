import { WorkflowNotFoundError } from '@temporalio/client';
import type { ExportResult } from '../../core/contract/index.js';
import { formatDuration } from '../../core/duration.js';
import { OutOfReachError } from '../../core/reach.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { followExport } from '../../temporal/follow/follow-export.js';
import { progressOn } from '../progress/screen.js';
import { listenForInterrupts } from '../shared/interrupt.js';
import { type GlobalOptions, optionWords, reachTimeoutMs, shellWord } from '../shared/options.js';
import { output } from '../shared/output.js';
import { watchStore } from '../shared/store-watch.js';
import { DetachedError, UsageError } from '../shared/usage-error.js';
import { readWait, type WaitOptions } from './wait.js';

/** Time limit for a second Ctrl-C, which cancels. */
export const SECOND_PRESS_MS = 3_000;

export interface Followed {
  readonly workflowId: string;
  readonly options: GlobalOptions & WaitOptions & { readonly json?: boolean };
  readonly connection: ConnectionSettings;
  /** Default: all configured resources. */
  readonly resources?: readonly string[] | undefined;
  /** The kind of workflow, for messages. */
  readonly what: 'export' | 'backfill' | 'rollback' | 'purge';
  /** The server and the worker end with this command (`--local`); their state stays on disk. */
  readonly local?: boolean;
}

/**
 * Shows the progress of an export until it ends.
 *
 * @throws DetachedError after Ctrl-C; OutOfReachError
 */
export async function followToEnd(temporal: TemporalClient, followed: Followed): Promise<ExportResult> {
  const { workflowId, connection, what } = followed;
  const reachOptions = { timeoutMs: reachTimeoutMs(process.env), onOutage: output.note };
  const progress = progressOn(process.stderr);
  const store = watchStore(connection, reachOptions);
  const [state, next] =
    followed.local === true
      ? [`The ${what} is interrupted.`, 'To continue it, run the same command again.']
      : [`The ${what} continues.`, `To follow it again: ${followCommand(followed)}`];
  const hint = `${state} ${next}`;
  const waitMs = readWait(followed.options);
  const expired = waitMs === null ? null : AbortSignal.timeout(waitMs);
  let hintShown = false;
  const interrupts = listenForInterrupts({
    windowMs: SECOND_PRESS_MS,
    onFirst() {
      hintShown = true;
      progress.end();
      output.note(`Leaving in ${SECOND_PRESS_MS / 1000} s. Press Ctrl-C again to cancel the ${what}.`);
      output.note(hint);
    },
    onCancel() {
      output.note(`Cancelling the ${what}. Press Ctrl-C again to leave without waiting.`);
      temporal.client.workflow
        .getHandle(workflowId)
        .cancel()
        .catch((error: unknown) => output.note(`The ${what} could not be cancelled: ${String(error)}`));
    },
  });
  try {
    return await followExport(temporal, workflowId, {
      ...reachOptions,
      resources: followed.resources ?? connection.resources.map(({ name }) => name),
      signal: AbortSignal.any([interrupts.detach, store.signal, ...(expired === null ? [] : [expired])]),
      onView(view) {
        progress.show(view);
        store.look(view);
      },
    });
  } catch (error) {
    if (store.signal.aborted) throw withHint(store.signal.reason, hint);
    if (expired?.aborted === true)
      throw new DetachedError(
        `The ${what} did not end within ${formatDuration(waitMs!)}, the time limit of --timeout. ${hint}`,
      );
    if (interrupts.detach.aborted) throw new DetachedError(hintShown ? state : hint);
    if (error instanceof WorkflowNotFoundError) {
      const where = `the namespace "${temporal.namespace}" of Temporal at ${temporal.address}`;
      throw new UsageError(`There is no ${what} "${workflowId}" in ${where}. Correct --follow.`);
    }
    throw withHint(error, hint);
  } finally {
    interrupts.release();
    store.close();
    progress.end();
  }
}

/** Adds to an unreachable-server error how to follow the run again; the run continues without this command. */
export function withHint(error: unknown, hint: string): unknown {
  if (error instanceof OutOfReachError) error.message += `\n${hint}`;
  return error;
}

/** The command that follows the same export again. */
export function followCommand({
  workflowId,
  options,
  connection,
}: Pick<Followed, 'workflowId' | 'options' | 'connection'>): string {
  const given = { ...options, connection: options.connection ?? connection.name };
  const words = optionWords(given, ['config', 'connection', 'address', 'namespace']);
  return `worktrack export${words} --follow ${shellWord(workflowId)}`;
}
