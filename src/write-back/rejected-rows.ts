import { type ByteString, fromByteString, toByteString } from '../core/brands.js';
import { type InputFormat, type InputReading, shownBatchId } from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import { escapeFormula } from '../lake/rows/escaping.js';
import { peopleCsv } from '../lake/rows/people-csv.js';
import type { ObjectStore } from '../lake/store/index.js';
import { readBatch, textColumns } from './batch-file.js';
import { CsvParser, type CsvRecord, isStored, withoutStoredMark } from './csv-parser.js';
import { CORRECTION_COLUMNS, type InputRow } from './fields.js';
import { publishedSnapshotOf } from './input-columns.js';
import { decodeInput } from './input-format.js';
import { readInputRows } from './input-rows.js';
import type { BatchFile, PlanFile } from './plan-file.js';
import { PLAIN_READING } from './reading.js';
import { type Receipt, readResults, summarizedPlan } from './results.js';

/** A file of a batch: its input, or corrections of it. */
type BatchInput = Pick<NonNullable<PlanFile['corrections']>[number], 'input' | 'format' | 'reading'>;

/**
 * The rejected rows of a batch as the input has them, with the columns `CORRECTION_COLUMNS`: a CSV for a batch from CSV,
 * otherwise NDJSON. Corrected and sent, each replaces its row (`checkCorrections`).
 *
 * @returns pieces of text, in UTF-8 with one byte per character; nothing if no row was rejected
 * @throws InputError if the batch has no receipts, or its state was removed; StoreError
 */
export async function* rejectedRows(store: ObjectStore, batchId: string): AsyncGenerator<ByteString> {
  const batch = await readBatch(store, batchId);
  const plan = await summarizedPlan(store, batchId);
  const rejected = rejectedReceipts(store, batchId);
  const first = await rejected.next();
  if (first.done === true) return;
  if (batch === null || plan === null)
    throw new InputError(`the state of batch ${shownBatchId(batchId)} was removed from the lake`, {
      remedy: 'Take the rows from your own file.',
    });
  const { input, reading = PLAIN_READING, corrections = [] } = plan.file;
  const format = input.slice(input.lastIndexOf('.') + 1) as InputFormat;
  const all = {
    ...{ store, batchId, batch: batch.file, corrections, main: { input, format, reading } },
    receipts: (async function* () {
      yield first.value;
      yield* rejected;
    })(),
  };
  yield* format === 'csv' ? asCsv(all) : asNdjson(all);
}

interface Rejected {
  readonly store: ObjectStore;
  readonly batchId: string;
  readonly batch: BatchFile;
  readonly main: BatchInput;
  readonly corrections: readonly BatchInput[];
  readonly receipts: AsyncGenerator<Receipt>;
}

async function* rejectedReceipts(store: ObjectStore, batchId: string): AsyncGenerator<Receipt> {
  for await (const { receipt, planned } of readResults(store, batchId, { outcomes: ['rejected'] }))
    if (planned?.receipt?.byHand !== true) yield receipt;
}

async function* asCsv({ store, batchId, main, corrections, receipts }: Rejected): AsyncGenerator<ByteString> {
  const corrected = new Map<string, ReadonlyMap<string, ByteString | null>>();
  for (const one of corrections) {
    for await (const { cells, header } of records(store, one)) {
      const named = new Map(header.map((name, at) => [name, cells[at] ?? null]));
      corrected.set(nameText(named.get(CORRECTION_COLUMNS[1])), named);
    }
  }
  let next = await receipts.next();
  let isBegun = false;
  for await (const { cells, line, header, names } of records(store, main)) {
    if (next.done === true) return;
    if (!isBegun)
      yield peopleCsv([[...names, ...CORRECTION_COLUMNS.map(toByteString)]], main.reading.delimiter);
    isBegun = true;
    if (line !== next.value.line) continue;
    const named = corrected.get(String(next.value.row));
    const own = header.map((name, at) => (named?.has(name) ? named.get(name) : cells[at]) ?? null);
    const asText = own.map((cell) => cell && storedAsText(cell, main.reading));
    const { row, message } = next.value;
    const more = [shownBatchId(batchId), String(row)].map(toByteString);
    const said = message === null ? null : escapeFormula(toByteString(message));
    yield peopleCsv([[...asText, ...more, said]], main.reading.delimiter);
    next = await receipts.next();
  }
}

/** The records of a CSV after its header. @member header the trimmed names @member names as they are in the file */
async function* records(store: ObjectStore, { input, reading }: BatchInput) {
  const parser = new CsvParser(reading.delimiter, { lines: reading.lines });
  let names: CsvRecord['cells'] | null = null;
  let header: readonly string[] = [];
  const read = function* (found: readonly CsvRecord[]) {
    for (const record of found) {
      if (names !== null) yield { ...record, header, names };
      else {
        names = record.cells;
        header = names.map(nameText);
      }
    }
  };
  for await (const text of decodeInput(store.stream(input), reading.encoding))
    yield* read(parser.parse(text, 'open'));
  yield* read(parser.parse('', 'end'));
}

/** A stored number of a sheet as the text that is read as this number. */
function storedAsText(cell: ByteString, { decimalComma }: InputReading): ByteString {
  const text = withoutStoredMark(cell);
  return decimalComma && isStored(cell) ? (text.replace('.', ',') as ByteString) : text;
}

function nameText(cell: ByteString | null | undefined): string {
  return cell == null ? '' : fromByteString(cell).trim();
}

async function* asNdjson({ batchId, receipts, ...batch }: Rejected): AsyncGenerator<ByteString> {
  const corrected = new Map<number, InputRow>();
  for (const one of batch.corrections)
    for await (const row of inputRows(batch, one)) corrected.set(Number(row.correction?.row), row);
  let next = await receipts.next();
  let number = 0;
  for await (const row of inputRows(batch, batch.main)) {
    if (next.done === true) return;
    if (++number !== next.value.row) continue;
    const { fields, key } = corrected.get(number) ?? row;
    const own = [
      ...fields,
      ...(key === undefined || fields.some(({ name }) => name === key.name) ? [] : [key]),
    ];
    const values = [shownBatchId(batchId), number, next.value.message];
    const members = [
      ...own.map(({ name, json }) => `${JSON.stringify(name)}:${json}`),
      ...CORRECTION_COLUMNS.map((name, at) =>
        toByteString(`${JSON.stringify(name)}:${JSON.stringify(values[at])}`),
      ),
    ];
    yield `{${members.join(',')}}\n` as ByteString;
    next = await receipts.next();
  }
}

async function* inputRows(
  { store, batch: { resource, keyColumn, types: fixed } }: Pick<Rejected, 'store' | 'batch'>,
  { input, format, reading }: BatchInput,
): AsyncGenerator<InputRow> {
  const published = (await publishedSnapshotOf(store, resource))?.columns ?? [];
  const types = { published, fixed, text: textColumns(resource) };
  const options = { format, types, reading, keyColumn };
  for await (const rows of readInputRows(store.stream(input), options)) yield* rows;
}
