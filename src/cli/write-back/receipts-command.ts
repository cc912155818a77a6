import { fromByteString } from '../../core/brands.js';
import { batchCommand, type ConfirmationVerdict, shownBatchId } from '../../core/contract/write-back.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { findBatch } from '../../write-back/batch-file.js';
import { rejectedRows } from '../../write-back/rejected-rows.js';
import { NOT_WRITTEN, type Receipt, readReceipts } from '../../write-back/results.js';
import { EXIT, type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { readConnection } from '../shared/each-connection.js';
import { withLake } from '../shared/open-lake.js';
import { escapedBreaks, jsonWithRows, output, printable, printableJson, writeAll } from '../shared/output.js';

/** Rows that are shown at the end of a batch. */
const SHOWN_ROWS = 5;

/** `worktrack write-back receipts`: the receipts of a batch, one line each. */
export async function runReceipts(
  batch: string,
  options: GlobalOptions & { readonly rejected?: boolean; readonly csv?: boolean },
): Promise<ExitCode> {
  const connection = readConnection(options);
  await withLake(connection, async ({ store, retry }) => {
    const batchId = await retry(() => findBatch(store, batch));
    if (options.csv === true) return printRejected(store, batchId, options);
    const outcomes = options.rejected === true ? NOT_WRITTEN : undefined;
    const receipts = readReceipts(store, batchId, { outcomes });
    if (options.json === true) {
      const toJson = (receipt: Receipt): string => printableJson(JSON.stringify(receipt));
      return writeAll(jsonWithRows({ batchId }, receipts, toJson));
    }
    let lines = 0;
    await writeAll(asLines());
    async function* asLines(): AsyncGenerator<string> {
      for await (const receipt of receipts) {
        lines++;
        yield `${printable(escapedBreaks(receiptLine(receipt)))}\n`;
      }
    }
    if (lines === 0)
      output.note(
        options.rejected === true
          ? `No row of batch ${shownBatchId(batchId)} was rejected or is unknown.`
          : `Batch ${shownBatchId(batchId)} has no receipts yet.`,
      );
  });
  return EXIT.done;
}

/** Prints the rejected rows of a batch as its input has them. */
async function printRejected(
  store: ObjectStore,
  batchId: string,
  { rejected, json }: { readonly rejected?: boolean; readonly json?: boolean },
): Promise<void> {
  if (rejected !== true || json === true)
    throw new UsageError('--csv needs --rejected, and excludes --json.');
  let pieces = 0;
  await writeAll(
    (async function* () {
      for await (const piece of rejectedRows(store, batchId)) {
        pieces++;
        yield fromByteString(piece);
      }
    })(),
  );
  if (pieces === 0) output.note(`No row of batch ${shownBatchId(batchId)} was rejected.`);
}

/** The first rows that were not written, for a person at a terminal; a log must not hold the keys of records. */
export async function firstNotWritten(store: ObjectStore, batchId: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const receipt of readReceipts(store, batchId, { outcomes: NOT_WRITTEN })) {
    lines.push(`  ${receiptLine(receipt)}`);
    if (lines.length === SHOWN_ROWS) break;
  }
  return lines;
}

/** The command that prints the rows that were not written. */
export function receiptsCommand(batchId: string): string {
  return batchCommand('receipts', batchId, '--rejected');
}

const CONFIRMED: Readonly<Record<ConfirmationVerdict, string>> = {
  confirmed: 'confirmed',
  differs: 'found with other values',
  notSeen: 'not seen',
  notListed: 'not listed',
};

/** A receipt in one line: `row 7, line 8  key ab12-1  rejected  422  the project is closed`. */
function receiptLine({ line, row, key, outcome, httpStatus, id, message, confirmation }: Receipt): string {
  const where = line === null ? `row ${row}` : `row ${row}, line ${line}`;
  const found = confirmation === null ? null : CONFIRMED[confirmation];
  const parts = [where, `key ${key}`, outcome, httpStatus, id === null ? null : `id ${id}`, found, message];
  return parts.filter((part) => part !== null && part !== '').join('  ');
}
