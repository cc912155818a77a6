import { type ByteString, fromByteString } from '../core/brands.js';
import { InputError } from '../core/input-error.js';
import { type CellReader, type CellReaderOptions, cellReader } from './cell-reader.js';
import { CsvParser } from './csv-parser.js';
import { correctionOf, type Field, type FlatField, type InputRow, nestedFields } from './fields.js';
import { type InputColumn, inputColumns, isExport, type TypeSources } from './input-columns.js';

/** What the rows of an input are read with. */
export interface RowContext extends Omit<CellReaderOptions, 'isEscaped'> {
  readonly types: TypeSources;
  readonly keyColumn: ByteString | null;
  readonly onColumns: (columns: readonly InputColumn[]) => void;
}

/** Converts CSV records to rows. The first record is the header. */
export class CsvRows {
  readonly #parser: CsvParser;
  readonly #context: RowContext;
  #cells: CellsReader | null = null;
  /** The texts that repeat the header, by column: its cell, and the name of the field. */
  #header: readonly ReadonlySet<string>[] = [];

  constructor(context: RowContext) {
    const { reading, facts } = context;
    this.#parser = new CsvParser(reading.delimiter, { lines: reading.lines, problems: facts.problems });
    this.#context = context;
  }

  read(text: string, state: 'open' | 'end'): InputRow[] {
    const { types, reading, onColumns, facts } = this.#context;
    const rows: InputRow[] = [];
    for (const { cells, line } of this.#parser.parse(text, state)) {
      if (this.#cells === null) {
        const columns = inputColumns(cells, line, types, reading);
        this.#cells = new CellsReader(columns, this.#context);
        this.#header = columns.map(({ name }, at) => new Set([headerText(cells[at]), headerText(name)]));
        onColumns(columns);
      } else if (this.#repeatsHeader(cells)) {
        facts.headerLines++;
      } else {
        const reader = this.#cells;
        const row =
          facts.problems === null ? reader.row(cells, line) : facts.attempt(() => reader.row(cells, line));
        if (row != null) rows.push(row);
      }
    }
    return rows;
  }

  /** Whether a line is the header again, as in files that were joined. */
  #repeatsHeader(cells: readonly (ByteString | null)[]): boolean {
    const header = this.#header;
    // Almost every row ends here.
    if (cells.length < header.length || !header[0]!.has(headerText(cells[0]))) return false;
    return cells.every((cell, at) => {
      const text = headerText(cell);
      return header[at] === undefined ? text === '' : header[at].has(text);
    });
  }
}

/** A cell of a header without the space around it, and without the byte order mark of a file that was appended. */
function headerText(cell: ByteString | null | undefined): string {
  return cell == null
    ? ''
    : fromByteString(cell)
        .replace(/^\ufeff/, '')
        .trim();
}

/** Makes rows of cells. */
export class CellsReader {
  readonly #readers: readonly CellReader[];
  readonly #context: RowContext;
  readonly #isNested: boolean;
  /** Index of the column `_deleted_at`; -1 without one. */
  readonly #deletedAt: number;

  constructor(columns: readonly InputColumn[], context: RowContext) {
    const isEscaped = isExport(columns.map(({ name }) => name));
    this.#readers = columns.map((column) => cellReader(column, { ...context, isEscaped }));
    this.#context = context;
    this.#isNested = this.#readers.some(({ path, column }) => column.role === 'field' && path.length > 1);
    this.#deletedAt = columns.findIndex(({ name, role }) => role === 'metadata' && name === '_deleted_at');
    for (const { name, role, header } of columns) {
      if (role === 'dropped') context.facts.dropped.add(fromByteString(name));
      if (header !== undefined) context.facts.mapped.add(header);
    }
  }

  /** The row of some cells; `null` for a line without any value, and for a row that is deleted in the service. @throws InputError */
  row(cells: readonly (ByteString | null)[], line: number): InputRow | null {
    const readers = this.#readers;
    const { facts, keyColumn } = this.#context;
    if (!hasValue(cells)) {
      facts.blankLines++;
      return null;
    }
    if (cells.length !== readers.length && !this.#isFilledUp(cells))
      throw new InputError(`the row has ${cells.length} cells, but the header has ${readers.length}`, {
        line,
        remedy: 'Check for a missing or extra delimiter, and for an unquoted value that contains it.',
      });
    if (this.#deletedAt !== -1 && cells[this.#deletedAt] !== null) {
      facts.deletedRows++;
      return null;
    }
    const fields: Field[] = [];
    let key: Field | undefined;
    let named: Map<string, string> | undefined;
    /** Its errors are collected, so it is no row. */
    let hasProblem = false;
    for (let at = 0; at < readers.length; at++) {
      const cell = cells[at]!;
      if (cell === null) continue;
      const reader = readers[at]!;
      const { role, name } = reader.column;
      if (role === 'field') {
        const json =
          facts.problems === null ? reader.read(cell, line) : facts.attempt(() => reader.read(cell, line));
        if (json === undefined) {
          hasProblem = true;
          continue;
        }
        const field = this.#isNested ? { name, json, path: reader.path } : { name, json };
        fields.push(field);
        if (name === keyColumn && reader.path.length > 1) key = field;
      } else if (role === 'correction') {
        named ??= new Map();
        named.set(name, fromByteString(cell).trim());
      } else if (role === 'dropped') {
        if (name === keyColumn) key = { name, json: reader.read(cell, line) };
      } else if (role === 'unnamed' && cell.trim() !== '') {
        throw new InputError(`the row has a value in column ${at + 1}, which is not in the header`, {
          line,
          remedy: 'Name the column in the header, or remove its values.',
        });
      }
    }
    if (hasProblem) return null;
    const sent = this.#isNested ? nestedFields(fields as FlatField[], line) : fields;
    return inputRow({ line, fields: sent, key, named }, facts);
  }

  /** Whether a row has more cells than the header, and these are empty. */
  #isFilledUp(cells: readonly (ByteString | null)[]): boolean {
    const { length } = this.#readers;
    return cells.length > length && !hasValue(cells.slice(length));
  }
}

/** A row, and what it replaces. A row with no other value than that is a line without any. */
export function inputRow(
  {
    line,
    fields,
    key,
    named,
  }: Pick<InputRow, 'line' | 'fields'> & {
    readonly key: Field | undefined;
    readonly named: ReadonlyMap<string, string> | undefined;
  },
  facts: RowContext['facts'],
): InputRow | null {
  const row = key === undefined ? { line, fields } : { line, fields, key };
  if (named === undefined) return row;
  if (fields.length === 0) {
    facts.blankLines++;
    return null;
  }
  const correction = correctionOf(named);
  return correction === null ? row : { ...row, correction };
}

/** Whether a line has a value: a cell that is neither empty nor only white space. `""` is a value, the empty string. */
function hasValue(cells: readonly (ByteString | null)[]): boolean {
  for (const cell of cells) {
    if (cell === null) continue;
    const code = cell.charCodeAt(0);
    // Almost every line ends here. The rest may be a no-break space, which has two bytes.
    if (code > 0x20 && code < 0x80) return true;
    if (cell === '' || fromByteString(cell).trim() !== '') return true;
  }
  return false;
}
