import { JsonScanner } from '../api/json/scanner.js';
import { type ByteString, fromByteString } from '../core/brands.js';
import type { InputColumn } from './columns.js';
import { InputError } from './input-error.js';

const INTEGER = /^-?(?:0|[1-9]\d*)$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * A cell as JSON. Numbers keep the literal that was written: none goes through a double.
 *
 * @throws InputError for a cell that is not of its column's type
 */
export function typedCell(cell: ByteString, column: InputColumn, line: number): ByteString {
  switch (column.type) {
    case 'string':
      return JSON.stringify(cell) as ByteString;
    case 'integer':
      if (INTEGER.test(cell)) return cell;
      throw mistyped(column, line, 'an integer');
    case 'number':
      if (NUMBER.test(cell)) return cell;
      throw mistyped(column, line, 'a JSON number');
    case 'boolean': {
      // Spreadsheets write them in capitals.
      const word = cell.toLowerCase();
      if (word === 'true' || word === 'false') return word as ByteString;
      throw mistyped(column, line, 'true or false');
    }
    case 'json':
      return compactJson(cell) ?? fail(mistyped(column, line, 'JSON'));
  }
}

function compactJson(cell: ByteString): ByteString | null {
  const scanner = new JsonScanner(cell);
  try {
    scanner.peek();
    const json = scanner.nested();
    return scanner.peek() === -1 ? json : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

const SAYS: Readonly<Record<InputColumn['from'], string>> = {
  header: 'as its header says',
  batch: 'as when the batch began',
  published: 'as in the published snapshot',
  pair: '',
  nothing: '',
};

function mistyped({ name, type, from }: InputColumn, line: number, wanted: string): InputError {
  const text = fromByteString(name);
  const remedy =
    from === 'published'
      ? `Correct the cell, or name the column \`${text}:string\` to send it as text.`
      : 'Correct the cell.';
  return new InputError(
    `the cell of ${text} is not ${wanted}, ${SAYS[from]} (${type})`.trim(),
    { line },
    `${remedy} An empty cell without quotes leaves the field out.`,
  );
}

function fail(error: Error): never {
  throw error;
}
