import { fromByteString } from '../core/brands.js';
import type { InputFormat } from '../core/contract/write-back.js';
import { type InputColumn, inputColumns, type TypeSources } from './columns.js';
import { CsvParser, type CsvRecord } from './csv-parser.js';
import { decodeInput } from './format.js';
import { InputError } from './input-error.js';
import type { Field } from './json-fields.js';
import { JsonArrayParser, type JsonRecord, NdjsonParser } from './json-parser.js';
import { typedCell } from './typed-cell.js';

/** A row of an input in any format. */
export interface InputRow {
  /** Its first line in the file, from 1. */
  readonly line: number;
  readonly fields: readonly Field[];
}

interface ReadRowsOptions {
  readonly format: InputFormat;
  readonly types: TypeSources;
  /** Called with a CSV's columns before the first row. */
  readonly onColumns?: ((columns: readonly InputColumn[]) => void) | undefined;
}

/**
 * Parses the rows of an input and yields those of each chunk. An empty cell omits its field.
 *
 * @throws InputError for an input that does not match its format, with line and column
 */
export async function* readRows(
  chunks: AsyncIterable<Uint8Array>,
  options: ReadRowsOptions,
): AsyncGenerator<readonly InputRow[]> {
  const parser = parserOf(options);
  for await (const text of decodeInput(chunks)) yield parser.push(text);
  yield parser.finish();
}

interface RowParser {
  push(text: string): readonly InputRow[];
  finish(): readonly InputRow[];
}

function parserOf(options: ReadRowsOptions): RowParser {
  if (options.format === 'csv') return new CsvRows(options);
  const parser: { push(text: string): JsonRecord[]; finish(): JsonRecord[] } =
    options.format === 'json' ? new JsonArrayParser() : new NdjsonParser();
  return parser;
}

/** Converts CSV records to rows. The first record is the header. */
class CsvRows implements RowParser {
  readonly #parser = new CsvParser();
  readonly #options: ReadRowsOptions;
  #columns: InputColumn[] | null = null;

  constructor(options: ReadRowsOptions) {
    this.#options = options;
  }

  push(text: string): InputRow[] {
    return this.#rows(this.#parser.push(text));
  }

  finish(): InputRow[] {
    return this.#rows(this.#parser.finish());
  }

  #rows(records: readonly CsvRecord[]): InputRow[] {
    const rows: InputRow[] = [];
    for (const record of records) {
      if (this.#columns === null) this.#columns = this.#header(record);
      else rows.push(toRow(record, this.#columns));
    }
    return rows;
  }

  #header({ cells, line }: CsvRecord): InputColumn[] {
    const columns = inputColumns(cells, line, this.#options.types);
    const [only] = columns;
    if (columns.length === 1 && only !== undefined && /[;\t]/.test(only.name)) {
      throw new InputError('the header has no comma', { line }, 'Save the file with commas as separators.');
    }
    this.#options.onColumns?.(columns);
    return columns;
  }
}

function toRow({ cells, line }: CsvRecord, columns: readonly InputColumn[]): InputRow {
  if (cells.length !== columns.length) {
    throw new InputError(
      `the row has ${cells.length} cells, but the header has ${columns.length}`,
      { line },
      'Check for a missing or extra comma, and for an unquoted value with a comma.',
    );
  }
  const fields: Field[] = [];
  for (const [at, column] of columns.entries()) {
    const cell = cells[at]!;
    if (cell === null) continue;
    fields.push({ name: column.name, content: cell, json: typedCell(cell, column, line) });
  }
  return { line, fields };
}

/** The text of a string field, for keys and pairs; `null` for any other value. */
export function textOf({ json }: Field): string | null {
  if (!json.startsWith('"')) return null;
  return JSON.parse(fromByteString(json)) as string;
}
