import { type ByteString, fromByteString, toByteString } from '../core/brands.js';
import {
  batchCommand,
  type CorrectedInput,
  type InputFormat,
  type InputReading,
  type ResendOrder,
  type WritableResource,
} from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import type { ConnectionSettings } from '../core/settings.js';
import type { ObjectStore } from '../lake/store/index.js';
import { findBatch, readBatch, textColumns } from './batch-file.js';
import { inputKey } from './batch-layout.js';
import { readBytes, type WriteBackSource, writableResource } from './check-write-back.js';
import { CsvParser } from './csv-parser.js';
import { CORRECTION_COLUMNS, type Correction, correctionOf, textOf } from './fields.js';
import { publishedSnapshotOf } from './input-columns.js';
import { decodeInput } from './input-format.js';
import { readInputRows } from './input-rows.js';
import type { InputSource } from './input-source.js';
import { JsonArrayParser, NdjsonParser } from './json-parser.js';
import { openInput } from './open-input.js';
import { type BatchFile, batchKind } from './plan-file.js';
import { inputRowKey } from './planner.js';
import { checkForms } from './published-checks.js';
import { InputFacts, PLAIN_READING } from './reading.js';
import { type ReadingOptions, textReading } from './resolve-reading.js';
import { summarizedPlan } from './results.js';
import { copySource } from './stage-input.js';

/** A file whose rows replace rows of a batch. It was read completely and is valid. */
export interface CheckedCorrections {
  readonly batchId: string;
  readonly order: Extract<ResendOrder, { readonly rows: 'corrected' }>;
  /** The numbers of the rows that it replaces. */
  readonly rows: readonly number[];
  /** Copies the file into the lake. @throws InputError if it has changed; StoreError */
  copy(): Promise<void>;
}

/** A plan holds the corrections of a batch in memory. */
const MAX_CORRECTED = 20_000;

/**
 * Reads a file that was made by `receipts --csv` and corrected. Apart from delimiter and encoding, which a spreadsheet can
 * change, it is read like the input of its batch.
 *
 * @returns `null` for any other file
 * @throws InputError for a file that does not match its format or its batch, with the line; StoreError
 */
export async function checkCorrections(
  connection: Pick<ConnectionSettings, 'lake' | 'writeBack'>,
  store: ObjectStore,
  request: WriteBackSource,
): Promise<CheckedCorrections | null> {
  const resource = writableResource(request.resource);
  const opened = await openInput(request, connection, resource);
  const { format, given } = opened;
  let { source } = opened;
  try {
    const found = await findCorrection(source, given, format);
    if (found === null) return null;
    const { first, delimiter, encoding } = found;
    const batchId = await findBatch(store, first.batch);
    const batch = await batchOf(store, batchId, { resource, format, request });
    const open = () => openInput(likeBatch(request, batch), connection, resource);
    // Only cells that the batch sends can have a problem.
    const { source: again, sheet } = opened.sheet === null ? opened : await open();
    source = again;
    const [problem] = sheet?.problems.kinds ?? [];
    if (problem !== undefined) throw problem.first;
    const { lines: _, ...asBatch } = batch.reading;
    const reading: InputReading = { ...asBatch, delimiter, encoding, ...(sheet && { lines: 'records' }) };
    const rows = await readRows(store, source, { ...batch, first, format, reading });
    const { sha256 } = await readBytes(source, resource);
    const input = inputKey(batchId, { sha256, format, settings: JSON.stringify(reading) });
    const corrections: CorrectedInput = { input, format, reading };
    const copy = async (): Promise<void> => {
      const { source } = await open();
      await copySource(store, input, { source, sha256 }).finally(() => source.close());
    };
    return { batchId, rows, copy, order: { rows: 'corrected', action: 'send', corrections } };
  } finally {
    source.close();
  }
}

/** Of a sheet, the batch decides which columns are sent. */
function likeBatch(
  request: WriteBackSource,
  { file, reading }: { readonly file: BatchFile; readonly reading: InputReading },
): WriteBackSource {
  const { drop: dropColumns, map } = reading;
  return { ...request, keyColumn: file.keyColumn ?? undefined, dropColumns, map };
}

/** How the text of a file of corrections is read; `null` for any other file, and for one with an error, which its check reports. */
async function findCorrection(source: InputSource, given: ReadingOptions, format: InputFormat) {
  try {
    const { delimiter, encoding } = await textReading(source, given, format, ',');
    const first = await firstCorrection(source, { format, delimiter, encoding });
    return first && { first, delimiter, encoding };
  } catch (error) {
    if (error instanceof InputError) return null;
    throw error;
  }
}

interface TextReading {
  readonly format: InputFormat;
  readonly delimiter: string;
  readonly encoding: string | null;
}

/** What the first row of a file replaces; `null` if the file has no such rows. */
async function firstCorrection(source: InputSource, reading: TextReading): Promise<Correction | null> {
  const firstOf = reading.format === 'csv' ? csvReader(reading.delimiter) : jsonReader(reading.format);
  for await (const text of decodeInput(source.open(), reading.encoding)) {
    const found = firstOf(text, 'open');
    if (found !== 'more') return found;
  }
  const found = firstOf('', 'end');
  return found === 'more' ? null : found;
}

type FirstOf = (text: string, state: 'open' | 'end') => Correction | null | 'more';

function csvReader(delimiter: string): FirstOf {
  const parser = new CsvParser(delimiter);
  let header: readonly string[] | null = null;
  const cellText = (cell: ByteString | null): string => (cell === null ? '' : fromByteString(cell).trim());
  return (text, state) => {
    for (const { cells } of parser.parse(text, state)) {
      if (header === null) header = cells.map(cellText);
      else if (cells.some((cell) => cellText(cell) !== ''))
        return correctionOf(new Map(header.map((name, at) => [name, cellText(cells[at] ?? null)])));
      if (!header.includes(CORRECTION_COLUMNS[0])) return null;
    }
    return 'more';
  };
}

function jsonReader(format: InputFormat): FirstOf {
  const parser = format === 'json' ? new JsonArrayParser() : new NdjsonParser();
  return (text, state) => {
    const [first] = parser.parse(text, state);
    if (first === undefined) return 'more';
    const cells = first.fields.map((field) => [field.name, textOf(field) ?? field.json] as const);
    return correctionOf(new Map<string, string>(cells));
  };
}

/** The batch of a correction. @throws InputError if the file does not belong to it */
async function batchOf(
  store: ObjectStore,
  batchId: string,
  {
    resource,
    format,
    request: { keyColumn },
  }: { readonly resource: WritableResource; readonly format: InputFormat; readonly request: WriteBackSource },
) {
  const batch = await readBatch(store, batchId);
  const plan = await summarizedPlan(store, batchId);
  if (batch === null || plan === null)
    throw new InputError('the state of the batch that these rows are from was removed from the lake', {
      remedy: `Remove the columns ${CORRECTION_COLUMNS.join(', ')} to send the rows as a separate batch.`,
    });
  const { file } = batch;
  const expected = (what: string): InputError =>
    new InputError(`the rows replace rows of a batch with ${what}`, { remedy: 'Correct the command.' });
  if (file.resource !== resource) throw expected(`the resource ${file.resource}`);
  if (file.kind !== batchKind(format)) throw expected(file.kind === 'csv' ? 'a CSV' : 'JSON');
  if (keyColumn !== undefined && keyColumn !== file.keyColumn)
    throw expected(file.keyColumn === null ? 'no key column' : `the key column ${file.keyColumn}`);
  return { file, reading: plan.file.reading ?? PLAIN_READING };
}

/** Reads the rows, and checks what they replace. Returns the row numbers. */
async function readRows(
  store: ObjectStore,
  source: InputSource,
  {
    file,
    first,
    format,
    reading,
  }: Pick<CorrectedInput, 'format' | 'reading'> & { readonly file: BatchFile; readonly first: Correction },
): Promise<number[]> {
  const { resource, keyColumn, types: fixed } = file;
  const published = await publishedSnapshotOf(store, resource);
  const types = { published: published?.columns ?? [], fixed, text: textColumns(resource) };
  const facts = new InputFacts();
  const waived = new Set<string>();
  const lines = new Map<number, number>();
  const keyField = keyColumn === null ? null : toByteString(keyColumn);
  for await (const rows of readInputRows(source.open(), { format, types, reading, keyColumn, facts })) {
    for (const row of rows) {
      const number = rowNumber(row.correction ?? null, first, row.line);
      const before = lines.get(number);
      if (before !== undefined)
        throw new InputError(`lines ${before} and ${row.line} replace the same row ${number}`, {
          line: row.line,
          remedy: 'Keep one of them.',
        });
      if (keyField !== null) inputRowKey(row, keyField);
      lines.set(number, row.line);
      if (lines.size > MAX_CORRECTED)
        throw new InputError(`the file corrects more than ${MAX_CORRECTED} rows`, {
          remedy: 'Send it in several parts.',
        });
    }
    if (published !== null) await checkForms(store, published, facts, waived);
  }
  return [...lines.keys()];
}

function rowNumber(correction: Correction | null, first: Correction, line: number): number {
  const [batchColumn, rowColumn] = CORRECTION_COLUMNS;
  if (correction === null || correction.batch !== first.batch)
    throw new InputError(
      `the row does not replace a row of batch ${first.batch}, as the first row of the file does`,
      {
        line,
        remedy: `Send rows of one batch in a file, and new rows in a file without the columns ${batchColumn} and ${rowColumn}.`,
      },
    );
  if (/^[1-9]\d{0,8}$/.test(correction.row)) return Number(correction.row);
  throw new InputError(`${rowColumn} is not the number of a row`, {
    line,
    remedy: `Take it from the output of this command: ${batchCommand('receipts', first.batch, '--rejected --csv')}`,
  });
}
