import { batchCommand, type ResendOrder, shownBatchId } from '../../core/contract/write-back.js';
import { findBatch } from '../../write-back/batch-file.js';
import { type PreparedResend, prepareResend } from '../../write-back/prepare-resend.js';
import { canPrompt, withPrompter } from '../setup/prompt.js';
import { EXIT, type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { withTemporal } from '../shared/context.js';
import { readConnection } from '../shared/each-connection.js';
import { withLake } from '../shared/open-lake.js';
import { count, counted, output } from '../shared/output.js';
import { ofOthersLine } from './batch-lines.js';
import { finishBatch, orOutOfReach, type RunOptions, runInput, startAndFollowBatch } from './follow-batch.js';
import { receiptsCommand } from './receipts-command.js';
import { askedPolicy, askedSystem } from './written-policy.js';

interface ResendOptions extends GlobalOptions, RunOptions {
  readonly rejected?: boolean;
  readonly unknown?: boolean;
  readonly rows?: string;
  readonly newKey?: boolean;
  readonly reject?: boolean;
  readonly yesILooked?: boolean;
  readonly yes?: boolean;
  readonly again?: boolean;
  readonly sameSystem?: boolean;
  readonly otherSystem?: boolean;
}

/** `worktrack write-back resend`: sends rows of a batch again, or settles them, in a run of the same batch. */
export async function runResend(batch: string, options: ResendOptions): Promise<ExitCode> {
  const connection = readConnection(options);
  const order = orderOf(options);
  const again = askedPolicy(options) === 'again';
  const system = askedSystem(options);
  return withLake(connection, ({ store, retry }) =>
    orOutOfReach(async () => {
      const batchId = await retry(() => findBatch(store, batch));
      const named = { connection: connection.name, system, again };
      const prepared = await prepareResend(store, batchId, order, named);
      if (prepared.unsendable > 0) output.note(unsendableLine(batchId, prepared.unsendable));
      if (prepared.ofOthers > 0) {
        output.note(ofOthersLine(prepared.ofOthers));
        output.note(`Their receipts: ${receiptsCommand(batchId)}`);
      }
      if (prepared.rows === 0) {
        const other = prepared.ofOthers > 0 ? 'other ' : '';
        output.note(
          `No ${other}row of batch ${shownBatchId(batchId)} is ${String(order.rows)}. Nothing was sent.`,
        );
        return EXIT.done;
      }
      for (const line of orderLines(prepared, order)) output.note(line);
      await confirmSending(options);
      const input = { ...prepared.input, ...runInput(options) };
      const result = await withTemporal(options, (temporal) =>
        startAndFollowBatch(temporal, connection, input, options),
      );
      return finishBatch(result, store, options, 'resend');
    }),
  );
}

/** @throws UsageError */
function orderOf({ rejected, unknown, rows, newKey, reject, yesILooked }: ResendOptions): ResendOrder {
  const given = [rejected, unknown, rows].filter((one) => one !== undefined);
  if (given.length !== 1) throw new UsageError('Say which rows: --rejected, --unknown or --rows 3,7-9.');
  if (newKey && reject) throw new UsageError('--new-key and --reject exclude each other.');
  if (newKey && rows === undefined && !(unknown && yesILooked))
    throw new UsageError(
      '--new-key can write a row a second time. Look for the records in the service, then name the rows with --rows, or give --unknown --yes-i-looked.',
    );
  const action = newKey ? 'new-key' : reject ? 'reject' : 'send';
  if (rows !== undefined) return { rows: rowNumbers(rows), action };
  return { rows: rejected ? 'rejected' : 'unknown', action };
}

/** More numbers do not belong into the input of a workflow. */
const MAX_NAMED = 1000;

/** The numbers in a text such as `3,7-9`, in order. @throws UsageError */
export function rowNumbers(text: string): number[] {
  const numbers = new Set<number>();
  for (const part of text.split(',')) {
    const match = /^ *(\d{1,9})(?: *- *(\d{1,9}))? *$/.exec(part);
    const [from, to] = [Number(match?.[1]), Number(match?.[2] ?? match?.[1])];
    if (match === null || from < 1 || to < from)
      throw new UsageError(
        `--rows ${JSON.stringify(text.slice(0, 80))} is not a list of row numbers such as 3,7-9.`,
      );
    if (numbers.size + to - from >= MAX_NAMED)
      throw new UsageError(
        `--rows names more than ${count(MAX_NAMED)} rows. Use --rejected or --unknown, or several commands.`,
      );
    for (let row = from; row <= to; row++) numbers.add(row);
  }
  return [...numbers].sort((a, b) => a - b);
}

const DOES: Readonly<Record<ResendOrder['action'], string>> = {
  send: 'to send again with the same idempotency keys',
  'new-key': 'to send again with new idempotency keys',
  reject: 'to settle as rejected: the service gets no request',
};

const STAYS_IN_DOUBT =
  'Rows that may have been written stay in doubt: other files with the same rows do not send them.';

/** What the run will do, for stderr. */
function orderLines({ input, rows, first }: PreparedResend, { action }: ResendOrder): string[] {
  const more = rows > first.length ? ', ...' : '';
  const which = `${rows === 1 ? 'row' : 'rows'} ${first.join(', ')}${more}`;
  const what = `${counted(rows, 'row')} of batch ${shownBatchId(input.batchId)} ${DOES[action]}: ${which}`;
  if (action === 'reject') return [what, STAYS_IN_DOUBT];
  const isRepeated = action === 'new-key' || input.written === 'again';
  return isRepeated ? [what, 'A row whose record exists in the service is written a second time.'] : [what];
}

function unsendableLine(batchId: string, rows: number): string {
  return (
    `${counted(rows, 'row')} of batch ${shownBatchId(batchId)} cannot be sent: another row has the same key and other content. ` +
    `Print them to give each another key: ${batchCommand('receipts', batchId, '--rejected --csv > corrected.csv')}`
  );
}

/** Asks on a terminal. @throws UsageError elsewhere without `--yes`; DetachedError after Ctrl-C */
export async function confirmSending({ yes, json }: Pick<ResendOptions, 'yes' | 'json'>): Promise<void> {
  if (yes === true) return;
  if (json === true || !canPrompt()) throw new UsageError('Nothing was sent. To do this, add --yes.');
  await withPrompter('Nothing was sent.', (prompter) =>
    prompter.ask({
      text: 'Type yes to do this',
      check: (text) => (text === 'yes' ? null : 'type yes, or press Ctrl-C to send nothing'),
    }),
  );
}
