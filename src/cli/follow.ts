import { WorkflowNotFoundError } from '@temporalio/client';
import type { ExportResult } from '../core/contract.js';
import type { ConnectionSettings } from '../core/settings.js';
import type { TemporalClient } from '../temporal/connect.js';
import { followExport } from '../temporal/follow.js';
import { listenForInterrupts } from './interrupt.js';
import { type GlobalOptions, reachTimeoutMs } from './options.js';
import { output } from './output.js';
import { progressOn } from './progress/screen.js';
import { watchStore } from './store-watch.js';
import { DetachedError, UsageError } from './usage-error.js';

/** Time for a second Ctrl-C. */
const SECOND_PRESS_MS = 3_000;

export interface Followed {
  readonly workflowId: string;
  readonly options: GlobalOptions;
  readonly connection: ConnectionSettings;
  /** Absent: all that are configured. */
  readonly resources?: readonly string[] | undefined;
  /** For messages: what is followed. */
  readonly what: 'export' | 'backfill' | 'rollback' | 'purge';
  /** The server and the worker end with this command (`--local`); what they know stays on disk. */
  readonly local?: boolean;
}

/**
 * Follows an export on the screen until it ends.
 *
 * @throws DetachedError after Ctrl-C; OutOfReachError
 */
export async function followToEnd(temporal: TemporalClient, followed: Followed): Promise<ExportResult> {
  const { workflowId, connection, what } = followed;
  const reachOptions = { timeoutMs: reachTimeoutMs(process.env), onTrouble: output.note };
  const progress = progressOn(process.stderr);
  const store = watchStore(connection, reachOptions);
  const again = followed.local === true ? 'the same command again' : followCommand(followed);
  const left = `The ${what} ${followed.local === true ? 'is broken off' : 'goes on'}`;
  const resume = `${followed.local === true ? 'To go on with it' : 'To follow it again'}: ${again}`;
  let told = false;
  const interrupts = listenForInterrupts({
    windowMs: SECOND_PRESS_MS,
    onFirst() {
      told = true;
      progress.end();
      output.note(`Leaving in ${SECOND_PRESS_MS / 1000} s. Ctrl-C again cancels the ${what}.`);
      output.note(`${left}. ${resume}`);
    },
    onCancel() {
      output.note(`Cancelling the ${what}. Ctrl-C again leaves without waiting for it.`);
      temporal.client.workflow
        .getHandle(workflowId)
        .cancel()
        .catch((error: unknown) => output.note(`It could not be cancelled: ${String(error)}`));
    },
  });
  try {
    return await followExport(temporal, workflowId, {
      ...reachOptions,
      resources: followed.resources ?? connection.resources.map(({ name }) => name),
      signal: AbortSignal.any([interrupts.detach, store.signal]),
      onView(view) {
        progress.show(view);
        store.look(view);
      },
    });
  } catch (error) {
    if (store.signal.aborted) throw withHint(store.signal.reason, `${left}. ${resume}`);
    if (interrupts.detach.aborted) throw new DetachedError(`${left}. ${told ? '' : resume}`.trim());
    if (error instanceof WorkflowNotFoundError) {
      const where = `the namespace "${temporal.namespace}" of Temporal at ${temporal.address}`;
      throw new UsageError(`There is no ${what} "${workflowId}" in ${where}. Correct --follow.`);
    }
    throw withHint(error, `${left}. ${resume}`);
  } finally {
    interrupts.release();
    store.close();
    progress.end();
  }
}

/** Adds how to come back to the run, which goes on whatever becomes of this command (DESIGN 5). */
function withHint(error: unknown, hint: string): unknown {
  if (error instanceof Error && 'code' in error && error.code === 'OUT_OF_REACH') {
    error.message += `\n${hint}`;
  }
  return error;
}

/** The command that follows the same export again. */
export function followCommand({
  workflowId,
  options,
  connection,
}: Pick<Followed, 'workflowId' | 'options' | 'connection'>): string {
  const given = [
    ['--config', options.config],
    ['--connection', options.connection ?? connection.name],
    ['--address', options.address],
    ['--namespace', options.namespace],
    ['--follow', workflowId],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${quoted(value)}`]));
  return `worktrack export ${given.join(' ')}`;
}

function quoted(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
