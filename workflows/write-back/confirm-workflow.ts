import { condition, isCancellation, log, setHandler } from '@temporalio/workflow';
import type { ConfirmedRows, ConfirmInput, ConfirmResult } from '../../src/core/contract/write-back.js';
import { HOUR_MS } from '../../src/core/duration.js';
import { runSpec } from '../../src/core/mirror-requests.js';
import { type Warning, warningText } from '../../src/core/warnings.js';
import { MirrorRequester } from '../export/mirror-requester.js';
import { activity } from '../shared/activity-options.js';
import { reportAlerts } from '../shared/alert-reports.js';
import { rowsWritten } from '../shared/messages.js';
import { toRunError } from '../shared/run-errors.js';

/** The increments that ask from before the batch. The read-back of the batch is the first of four. */
const MAX_INCREMENTS = 3;

/**
 * Looks for the written rows of a batch until each is confirmed (docs/how-to/written-rows.md#confirmations): immediately, then an hour after
 * each look and after an increment from before the batch, and once more at the end of its time. A batch starts it when its rows are
 * written, and its time begins again when a later run of the batch writes rows; `write-back confirm` starts it to look once, after an
 * increment.
 */
export async function confirmWriteBackWorkflow(input: ConfirmInput): Promise<ConfirmResult> {
  const { connection, resource, batchId, forMs, giveUpAfterMs, alerts, once, readFirst } = input;
  const look = activity('worktrack.confirmRows', connection, once === true ? 'manual' : 'background');
  const requester = new MirrorRequester(connection);
  let until = Date.now() + forMs;
  /** Since the rows were written last. */
  let increments = 0;
  let requests = 0;
  /** Whether rows were written that no look can have found. */
  let isNew = false;
  setHandler(rowsWritten, () => {
    until = Date.now() + forMs;
    increments = 0;
    isNew = true;
  });
  const warnings: Warning[] = [];
  if (readFirst === true) await increment(null, 'first');
  let found: ConfirmedRows = await look({ connection, resource, batchId });
  do {
    while (found.open > 0 || isNew) {
      const next = increments === MAX_INCREMENTS ? until : Math.min(Date.now() + HOUR_MS, until);
      if (once !== true && !isNew) {
        if (next <= Date.now()) break;
        await condition(() => isNew, next - Date.now());
      }
      isNew = false;
      const isLast = increments++ === MAX_INCREMENTS;
      if (!isLast) await increment(found.since, `${requests++}`);
      found = await lookAgain(found);
      if ((isLast || once === true) && !isNew) break;
    }
    const { counts } = found;
    log.info('confirmation ended', { connection, resource, batchId, ...counts });
    if (alerts) await reportAlerts({ connection, runs: [], confirmation: { resource, batchId, ...counts } });
    // Rows can be written during the report, too.
  } while (isNew);
  return { batchId, counts: found.counts, warnings: warnings.map(warningText) };

  /** Looks again. A failure is a warning, and leaves what was found before to another look. */
  async function lookAgain(before: ConfirmedRows): Promise<ConfirmedRows> {
    try {
      return await look({ connection, resource, batchId });
    } catch (error) {
      if (isCancellation(error)) throw error;
      warnings.push({ kind: 'look-failed', message: toRunError(error).message });
      return { ...before, open: Math.max(before.open, 1) };
    }
  }

  /** Lets the mirror read what changed since before the batch; `null`: since its checkpoint. A failure is a warning. */
  async function increment(since: ConfirmedRows['since'] | null, number: string): Promise<void> {
    try {
      const spec = runSpec(Date.now(), { since });
      const report = await requester.request(resource, spec, `confirm-${number}`, giveUpAfterMs);
      const { outcome } = report;
      const message = report.error?.message ?? null;
      if (outcome !== 'published') warnings.push({ kind: 'increment-not-published', outcome, message });
    } catch (error) {
      await requester.withdrawAll();
      if (isCancellation(error)) throw error;
      const { message } = toRunError(error);
      warnings.push({ kind: 'increment-not-published', outcome: 'unanswered', message });
    }
  }
}
