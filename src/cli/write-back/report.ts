import { ROW_OUTCOMES, type WriteBackResult } from '../../core/write-back-contract.js';
import { count, counted } from '../text.js';

/** What became of a batch, for stdout. */
export function resultLines(
  { batchId, outcome, counts, results, unsent }: WriteBackResult,
  lakeUrl: string,
): string[] {
  const said = ROW_OUTCOMES.filter((one) => counts[one] > 0).map((one) => `${count(counts[one])} ${one}`);
  if (unsent > 0) said.push(`${count(unsent)} not sent`);
  return [
    `Batch ${batchId}: ${outcome}`,
    `  ${said.length === 0 ? 'no rows' : said.join(', ')}`,
    ...(results === null ? [] : [`  ${lakeUrl}/${results}`]),
  ];
}

/** What is to be done, for stderr. */
export function troubleLines({
  outcome,
  counts,
  unsent,
  warnings,
  error,
  results,
}: WriteBackResult): string[] {
  const lines = warnings.map((text) => `warning: ${text}`);
  if (error !== null && outcome !== 'cancelled') lines.push(`${outcome}: ${error.message}`);
  if (outcome === 'cancelled') lines.push('The batch was cancelled. The same command again goes on with it.');
  else if (unsent > 0)
    lines.push(`${counted(unsent, 'row')} not sent; the same command again goes on with them.`);
  if (counts.rejected > 0) {
    lines.push(
      `${counted(counts.rejected, 'row')} rejected; results.csv says why. Correct them in a file of their own: the others are written.`,
    );
  }
  if (counts.unknown > 0 && outcome === 'incomplete') {
    lines.push(
      `${counted(counts.unknown, 'row')} unknown: sent, but so long ago without an answer that the service may not know their keys any more. ` +
        'Look for them in the service; then the same command with --unknown resend sends them again, with --unknown skip leaves them.',
    );
  } else if (counts.unknown > 0 && results !== null) {
    lines.push(
      `${counted(counts.unknown, 'row')} in doubt; the same command again settles them, with the same keys.`,
    );
  }
  return lines;
}
