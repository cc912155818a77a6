import {
  batchCommand,
  ROW_OUTCOMES,
  shownBatchId,
  type WriteBackResult,
} from '../../core/contract/write-back.js';
import { type FieldExample, valuesText } from '../../write-back/record-differences.js';
import type { RefusalText } from '../../write-back/results.js';
import { count, counted } from '../shared/output.js';

/** The result of a batch in one line, for stdout: `Batch 3b860e3713d2: written, 1,200 created`. */
export function resultLine({ batchId, outcome, counts, unsent }: WriteBackResult): string {
  const parts = ROW_OUTCOMES.filter((one) => counts[one] > 0).map((one) => `${count(counts[one])} ${one}`);
  if (unsent > 0) parts.push(`${count(unsent)} not sent`);
  return [`Batch ${shownBatchId(batchId)}: ${outcome}`, ...(parts.length === 0 ? ['no rows'] : parts)].join(
    ', ',
  );
}

/**
 * Warnings, errors and what to do next, for stderr.
 *
 * @param command what the user has run: the command of a file, or `resend`
 */
export function batchDiagnostics(result: WriteBackResult, command: 'file' | 'resend' = 'file'): string[] {
  const { batchId, outcome, counts, unsent, ofOthers = 0, warnings, error } = result;
  const lines = warnings.map((text) => `warning: ${text}`);
  if (error !== null && outcome !== 'cancelled') lines.push(`${outcome}: ${error.message}`);
  if (outcome === 'cancelled')
    lines.push('The batch was cancelled. To continue it, run the same command again.');
  else if (unsent > 0) {
    const which = command === 'file' ? 'the same command' : 'the command of the file';
    lines.push(`${counted(unsent, 'row')} not sent. To send them, run ${which} again.`);
  }
  if (counts.rejected > 0) lines.push(...rejectedLines(batchId, counts.rejected));
  if (outcome === 'cancelled') return lines;
  if (counts.unknown > ofOthers) lines.push(...unknownLines(batchId, counts.unknown - ofOthers));
  if (ofOthers > 0) lines.push(ofOthersLine(ofOthers));
  return lines;
}

function rejectedLines(batchId: string, rows: number): string[] {
  return [
    `${counted(rows, 'row')} rejected. If the cause is gone in the service, send them again:`,
    `  ${batchCommand('resend', batchId, '--rejected')}`,
    'If the rows are wrong, print them, correct them, and send the file like the first one:',
    `  ${batchCommand('receipts', batchId, '--rejected --csv > corrected.csv')}`,
  ];
}

function unknownLines(batchId: string, rows: number): string[] {
  return [
    `${counted(rows, 'row')} unknown: no response showed whether they were written. Look for them in the service. To send them again with the same idempotency keys:`,
    `  ${batchCommand('resend', batchId, '--unknown')}`,
    'If the receipts say that the service repeats a failure, follow their advice. To settle the rows without sending them, which leaves the same rows of other files unknown:',
    `  ${batchCommand('resend', batchId, '--unknown --reject')}`,
  ];
}

/** About unknown rows that `resend --unknown` does not send. */
export function ofOthersLine(rows: number): string {
  const [are, were, them] = rows === 1 ? ['is', 'was', 'it'] : ['are', 'were', 'them'];
  return `${counted(rows, 'row')} ${are} unknown and ${were} not sent, because another batch or an earlier run may have written ${them}. The receipts say what settles ${them}.`;
}

/**
 * What the service's records say other than the rows, for stderr.
 *
 * @param examples values of fields that differ, for a person at a terminal; empty for a log, which must not hold values
 */
export function differenceLines(
  { differs, absent, counts }: Pick<WriteBackResult, 'differs' | 'absent' | 'counts'>,
  examples: readonly FieldExample[],
): string[] {
  const written = count(counts.created + counts.updated);
  const lines = differs.map(({ field, rows }) => {
    const found = examples.find((one) => one.field === field);
    const values = found === undefined ? '' : ` (${valuesText(found)})`;
    return `warning: ${field} differs in ${count(rows)} of ${written} rows${values}`;
  });
  if (absent.length === 0) return lines;
  const named = absent.map(({ field, rows }) => `${field} (${counted(rows, 'row')})`);
  return [...lines, `Not in the service's responses, so not compared: ${named.join(', ')}`];
}

const MAX_TEXTS = 5;

/** What the service said when it refused rows that have no outcome, for stderr. */
export function refusalLines(texts: readonly RefusalText[]): string[] {
  const lines = texts.slice(0, MAX_TEXTS).map(({ status, message, rows, first }) => {
    const which = rows === 1 ? `row ${first}` : `${counted(rows, 'row')}, the first is row ${first}`;
    return `  ${status ?? 'refused'} (${which})${message === null ? '' : `: ${message}`}`;
  });
  const more = texts.length - lines.length;
  return ['The service says:', ...lines, ...(more > 0 ? [`  and ${count(more)} more texts`] : [])];
}
