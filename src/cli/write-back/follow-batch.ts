import { shownBatchId, type WriteBackInput, type WriteBackResult } from '../../core/contract/write-back.js';
import { errorMessage } from '../../core/errors.js';
import { OutOfReachError } from '../../core/reachability.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { type ObjectStore, StoreError } from '../../lake/store/index.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { startWriteBack } from '../../temporal/client/start.js';
import { followWriteBack, type WriteBackView } from '../../temporal/follow/follow-write-back.js';
import { readDifferences, readRefusals } from '../../write-back/results.js';
import { batchProgressOn } from '../progress/progress-views.js';
import { openFollowSession } from '../runs/follow-session.js';
import { type ExitCode, writeBackExitCode } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { reachTemporal } from '../shared/context.js';
import { output, printable, printJson } from '../shared/output.js';
import { batchDiagnostics, differenceLines, refusalLines, resultLine } from './batch-lines.js';
import { firstNotWritten, receiptsCommand } from './receipts-command.js';

/** Options of every run of a batch. */
export interface RunOptions {
  readonly readBack?: boolean;
  readonly sameOrganization?: boolean;
}

/** What these options say to the run. */
export function runInput(options: RunOptions): Pick<WriteBackInput, 'readBack' | 'sameOrganization'> {
  return {
    ...(options.readBack === false ? { readBack: false } : {}),
    ...(options.sameOrganization === true ? { sameOrganization: true } : {}),
  };
}

/** Starts a batch, and follows it to its end. If it runs with another input, that run ends first. */
export async function startAndFollowBatch(
  temporal: TemporalClient,
  connection: ConnectionSettings,
  input: WriteBackInput,
  options: GlobalOptions,
): Promise<WriteBackResult> {
  for (;;) {
    const { workflowId, isOther } = await reachTemporal(temporal, () =>
      startWriteBack(temporal, input, { taskQueue: options.taskQueue }),
    );
    const shown = shownBatchId(input.batchId);
    output.note(`Workflow: ${workflowId.replace(input.batchId, shown)}`);
    if (isOther)
      output.note(
        'This batch is already running with another input or other options. Waiting for it to end first.',
      );
    const result = await followBatch(temporal, workflowId, connection);
    if (!isOther) return result;
  }
}

/** The JSON of a batch. */
function batchJson({ batchId, outcome, unsent, counts, results, differs }: WriteBackResult): object {
  return { batchId, outcome, counts: { ...counts, notSent: unsent }, results, differs };
}

/** Prints the result of a batch. @param toJson what `--json` prints; default: the batch alone */
export async function finishBatch(
  result: WriteBackResult,
  store: ObjectStore,
  { json }: Pick<GlobalOptions, 'json'>,
  command: 'file' | 'resend' = 'file',
  toJson: (batch: object) => object = (batch) => batch,
): Promise<ExitCode> {
  const { batchId, results, counts, differences } = result;
  if (json === true) printJson(toJson(batchJson(result)));
  else output.out(resultLine(result));
  if (results !== null && counts.rejected + counts.unknown > 0) {
    if (process.stderr.isTTY) for (const line of await firstNotWritten(store, batchId)) output.note(line);
    output.note(`Their receipts: ${receiptsCommand(batchId)}`);
  }
  const isShown = differences !== null && process.stderr.isTTY;
  const examples = isShown ? await readDifferences(store, differences) : [];
  for (const line of differenceLines(result, examples)) output.note(printable(line));
  for (const line of batchDiagnostics(result, command)) output.note(line);
  if (result.refusals !== null)
    for (const line of refusalLines(await readRefusals(store, result.refusals))) output.note(line);
  return writeBackExitCode(result);
}

/** Runs work without a time limit; the store's client retries on its own. @throws OutOfReachError */
export async function orOutOfReach<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'unreachable')
      throw new OutOfReachError(errorMessage(error));
    throw error;
  }
}

/**
 * Shows the progress of a batch until it ends.
 *
 * @throws DetachedError after Ctrl-C; OutOfReachError
 */
async function followBatch(
  temporal: TemporalClient,
  workflowId: string,
  connection: ConnectionSettings,
): Promise<WriteBackResult> {
  const progress = batchProgressOn(process.stderr);
  const session = openFollowSession(temporal, {
    ...{ what: 'batch', connection, waitMs: null, display: progress },
    next: () => 'To follow it again, run the same command.',
    kept: 'Rows already sent keep their receipts.',
  });
  const onView = (view: WriteBackView): void => {
    progress.show(view);
    session.look([view]);
  };
  return session
    .follow(workflowId, (reach) => followWriteBack(temporal, workflowId, { ...reach, onView }))
    .finally(session.close);
}
