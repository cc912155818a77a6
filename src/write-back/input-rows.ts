import { toByteString } from '../core/brands.js';
import type { InputFormat, InputReading } from '../core/contract/write-back.js';
import { CsvRows } from './csv-rows.js';
import type { DateReader } from './dates.js';
import type { InputRow } from './fields.js';
import type { InputColumn, TypeSources } from './input-columns.js';
import { decodeInput } from './input-format.js';
import { JsonRows } from './json-rows.js';
import { InputFacts, PLAIN_READING } from './reading.js';

interface ReadRowsOptions {
  readonly format: InputFormat;
  readonly types: TypeSources;
  /** Default: UTF-8, commas, and cells as they are. */
  readonly reading?: InputReading | undefined;
  readonly keyColumn?: string | null | undefined;
  /** Called with a CSV's columns before the first row, and with those of an export in JSON at the end. */
  readonly onColumns?: ((columns: readonly InputColumn[]) => void) | undefined;
  /** Collects what is seen, and also compares cells with the published form. */
  readonly facts?: InputFacts | undefined;
}

/**
 * Parses the rows of an input and yields those of each chunk. An empty cell omits its field. Lines without any value, and
 * rows of an export that are deleted, are not rows.
 *
 * @throws InputError for an input that does not match its format, with line and column
 */
export async function* readInputRows(
  chunks: AsyncIterable<Uint8Array>,
  options: ReadRowsOptions,
): AsyncGenerator<readonly InputRow[]> {
  const { types, onColumns = () => {} } = options;
  const { facts = new InputFacts() } = options;
  const compares = options.facts !== undefined;
  const reading = options.reading ?? PLAIN_READING;
  const keyColumn = options.keyColumn == null ? null : toByteString(options.keyColumn);
  const context = { types, reading, keyColumn, onColumns, facts, compares, dates: await datesOf(reading) };
  const rows = options.format === 'csv' ? new CsvRows(context) : new JsonRows(options.format, context);
  for await (const text of decodeInput(chunks, reading.encoding)) yield rows.read(text, 'open');
  yield rows.read('', 'end');
}

/** Loads the library for dates only if it is needed. */
async function datesOf({ dates }: InputReading): Promise<DateReader | null> {
  if (dates === null) return null;
  const { DateReader } = await import('./dates.js');
  return new DateReader(dates.formats, dates.timezone);
}
