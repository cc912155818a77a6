import { Readable } from 'node:stream';
import { shownBatchId } from '../../core/contract/write-back.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { findBatch } from '../../write-back/batch-file.js';
import { writeExpected } from '../../write-back/expected-states.js';
import { withTemporaryFile } from '../../write-back/input-source.js';
import { stageWriteBack } from '../../write-back/stage-input.js';
import {
  BatchUndo,
  checkUndo,
  snapshotForUndo,
  type UndoSummary,
  undoBatchId,
  WHY_TEXTS,
} from '../../write-back/undo-batch.js';
import { CellPrinter } from '../runs/cell-printer.js';
import { readLimit } from '../runs/diff-options.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { withTemporal } from '../shared/context.js';
import { readConnection } from '../shared/each-connection.js';
import { withLake } from '../shared/open-lake.js';
import { counted, output, printable, printJson } from '../shared/output.js';
import { finishBatch, orOutOfReach, type RunOptions, runInput, startAndFollowBatch } from './follow-batch.js';
import { readIncrement } from './read-increment.js';
import { confirmSending } from './resend-command.js';

interface UndoOptions extends GlobalOptions, RunOptions {
  readonly withNull?: boolean;
  readonly limit?: string;
  readonly yes?: boolean;
}

const RESOURCE = 'calendar-entries';

/** `worktrack write-back undo`: shows what a batch has changed, and sends the values from before as another batch. */
export async function runUndo(batch: string, options: UndoOptions): Promise<ExitCode> {
  const connection = readConnection(options);
  const maxCells = readLimit(options.limit);
  return withLake(connection, ({ store, retry }) =>
    orOutOfReach(async () => {
      const batchId = await retry(() => findBatch(store, batch));
      const kind = await checkUndo(store, connection, batchId);
      const failed = kind === 'upserts' ? await readIncrement(connection, RESOURCE, options) : null;
      if (failed !== null) return failed;
      const undo = new BatchUndo(store, batchId, { withNull: options.withNull === true, maxCells });
      const lines = undo.lines(await snapshotForUndo(store, connection, kind));
      return withTemporaryFile('undo.ndjson', Readable.from(lines), async (file) => {
        const summary = undo.summary();
        if (options.json !== true) {
          const { name } = connection;
          new CellPrinter(maxCells, false, 'would change').show(name, RESOURCE, undo.cells);
          printSummary(batchId, summary);
        }
        const { expected } = undo;
        if (summary.restored > 0)
          return send(connection, store, { batchId, summary, file, expected }, options);
        if (options.json === true) printJson(undoJson(batchId, summary, null));
        output.note('Nothing was sent.');
        return EXIT.done;
      });
    }),
  );
}

/** @param of the batch, the rows that undo it, and what their records must still be */
async function send(
  connection: ConnectionSettings,
  store: ObjectStore,
  of: {
    readonly batchId: string;
    readonly summary: UndoSummary;
    readonly file: string;
    readonly expected: readonly Buffer[];
  },
  options: UndoOptions,
): Promise<ExitCode> {
  const { batchId, summary, file } = of;
  await confirmSending(options);
  const id = await undoBatchId(store, batchId);
  const staged = await stageWriteBack(connection, { resource: RESOURCE, file, batchId: id });
  const expected = await writeExpected(store, id, of.expected);
  const input = { ...staged, expected, ...runInput(options) };
  const result = await withTemporal(options, (temporal) =>
    startAndFollowBatch(temporal, connection, input, options),
  );
  const { created, skipped } = result.counts;
  if (skipped > 0)
    output.note(
      `${counted(skipped, 'row')} not undone: the record has changed since the comparison. To compare again, run the same command.`,
    );
  if (created > 0)
    output.note(
      `warning: the service has created ${counted(created, 'record')}, which it had deleted since. Look at them there.`,
    );
  return finishBatch(result, store, options, 'file', (sent) => undoJson(batchId, summary, sent));
}

/** @param batch the batch that undoes it; `null` if no row is sent */
function undoJson(undoes: string, summary: UndoSummary, batch: object | null): object {
  return { undoes, ...summary, batch };
}

/** Row numbers in a line. */
const MAX_CHARS = 60;

function printSummary(batchId: string, { restored, same, left, fields, created }: UndoSummary): void {
  const shown = shownBatchId(batchId);
  output.note(`Batch ${shown}: ${counted(restored, 'row')} to undo`);
  if (same > 0) output.note(`${counted(same, 'row')} with the values from before already`);
  for (const { why, count, rows } of left)
    output.note(`${counted(count, 'row')} left out: ${WHY_TEXTS[why]} (${shortened(rows)})`);
  for (const { field, why, count, rows } of fields)
    output.note(
      printable(`${field} left out in ${counted(count, 'row')}: ${WHY_TEXTS[why]} (${shortened(rows)})`),
    );
  if (created.length === 0) return;
  output.note('The ids of the created records; delete them in the service, if they should go:');
  for (const id of created) output.out(printable(id));
}

/** `row 3`, or `rows 3,7-9,...` */
function shortened(rows: string): string {
  const end = rows.lastIndexOf(',', MAX_CHARS);
  const text = rows.length <= MAX_CHARS ? rows : `${rows.slice(0, end)},...`;
  return `${/^\d+$/.test(text) ? 'row' : 'rows'} ${text}`;
}
