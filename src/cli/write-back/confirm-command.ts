import { WorkflowFailedError } from '@temporalio/client';
import {
  batchCommand,
  type ConfirmationCounts,
  type ConfirmResult,
  shownBatchId,
  type WritableResource,
} from '../../core/contract/write-back.js';
import { WorktrackError } from '../../core/errors.js';
import { InputError } from '../../core/input-error.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { reasonOf } from '../../temporal/client/export-result.js';
import { confirmationResult, startConfirmation } from '../../temporal/follow/batch-confirmation.js';
import { findBatch, readBatch } from '../../write-back/batch-file.js';
import { readConfirmations } from '../../write-back/confirmations.js';
import { valuesText } from '../../write-back/record-differences.js';
import { summarizedPlan } from '../../write-back/results.js';
import { openFollowSession } from '../runs/follow-session.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { reachTemporal, withTemporal } from '../shared/context.js';
import { readConnection } from '../shared/each-connection.js';
import { withLake } from '../shared/open-lake.js';
import { count, output, printable, printJson } from '../shared/output.js';

/** Rows that are named for a person at a terminal. */
const SHOWN_ROWS = 5;

/** `worktrack write-back confirm`: looks once for the written rows of a batch, after an increment. */
export async function runConfirm(batch: string, options: GlobalOptions): Promise<ExitCode> {
  const connection = readConnection(options);
  return withLake(connection, async ({ store, retry }) => {
    const batchId = await retry(() => findBatch(store, batch));
    const begun = await retry(() => readBatch(store, batchId));
    if (begun === null)
      throw new InputError(`the state of batch ${shownBatchId(batchId)} was removed from the lake`);
    const { resource } = begun.file;
    if (connection.resources.every(({ name }) => name !== resource))
      throw new InputError(`${resource} are not mirrored, so their rows cannot be looked for`, {
        remedy: `Add ${resource} to \`resources\`.`,
      });
    const result = await lookOnce(connection, { batchId, resource }, options);
    return printConfirmed(store, result, options);
  });
}

function lookOnce(
  connection: ConnectionSettings,
  batch: { readonly batchId: string; readonly resource: WritableResource },
  options: GlobalOptions,
): Promise<ConfirmResult> {
  const { giveUpAfterMs } = connection.retries;
  const input = { connection: connection.name, ...batch, forMs: 0, giveUpAfterMs, alerts: false };
  return withTemporal(options, async (temporal) => {
    const workflowId = await reachTemporal(temporal, () =>
      startConfirmation(temporal, input, options.taskQueue),
    );
    output.note(`Workflow: ${workflowId.replace(batch.batchId, shownBatchId(batch.batchId))}`);
    const session = openFollowSession(temporal, {
      ...{ what: 'confirmation', connection, waitMs: null, display: { end: () => {} } },
      next: () => `To see it again: ${batchCommand('confirm', batch.batchId)}`,
    });
    return session
      .follow(workflowId, (reach) => confirmationResult(temporal, workflowId, reach))
      .catch((error: unknown) => {
        throw error instanceof WorkflowFailedError ? new ConfirmationError(error) : error;
      })
      .finally(session.close);
  });
}

/** The look for written rows ended without a result. */
class ConfirmationError extends WorktrackError {
  readonly code: 'RUN_REFUSED' | 'RUN_FAILED';

  constructor({ cause }: WorkflowFailedError) {
    const { type, message } = reasonOf(cause, 'the confirmation', 'run the command again');
    super(message);
    this.code = type === 'Refused' ? 'RUN_REFUSED' : 'RUN_FAILED';
  }
}

async function printConfirmed(
  store: ObjectStore,
  { batchId, counts, warnings }: ConfirmResult,
  { json }: GlobalOptions,
): Promise<ExitCode> {
  const isProblem = counts.differs + counts.notSeen > 0;
  if (json === true) printJson({ batchId, counts });
  else output.out(`Batch ${shownBatchId(batchId)}: ${countsText(counts)}`);
  for (const text of warnings) output.note(`warning: ${text}`);
  // A log must not hold values of records.
  if (isProblem && process.stderr.isTTY)
    for (const line of await firstProblems(store, batchId)) output.note(printable(line));
  if (isProblem) output.note(`What was found of each row: ${batchCommand('receipts', batchId)}`);
  return isProblem ? EXIT.failed : EXIT.done;
}

/** `97 confirmed, 2 differ, 1 not seen` */
function countsText({ confirmed, differs, notSeen, notListed }: ConfirmationCounts): string {
  const parts = [
    [confirmed, 'confirmed'],
    [differs, differs === 1 ? 'differs' : 'differ'],
    [notSeen, 'not seen'],
    [notListed, 'not listed'],
  ] as const;
  const texts = parts.flatMap(([rows, what]) => (rows === 0 ? [] : [`${count(rows)} ${what}`]));
  return texts.length === 0 ? 'no written rows' : texts.join(', ');
}

/** The first rows that are not confirmed, with the values that differ. */
async function firstProblems(store: ObjectStore, batchId: string): Promise<string[]> {
  const plan = await summarizedPlan(store, batchId);
  if (plan === null) return [];
  const { found } = await readConfirmations(store, batchId, plan.file.input);
  const differ = found.rowsOf('differs').map((row) => {
    const values = found.differencesOf(row).map((one) => `${one.field} (${valuesText(one)})`);
    return `  row ${row} differs: ${values.join(', ')}`;
  });
  const missing = found.rowsOf('notSeen').map((row) => `  row ${row} was not seen`);
  return [...differ, ...missing].slice(0, SHOWN_ROWS);
}
