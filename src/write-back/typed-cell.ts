import { type ByteString, fromByteString } from '../core/brands.js';
import { JsonScanner } from '../json/scanner.js';
import type { InputColumn } from './columns.js';
import { InputError } from './input-error.js';

const INTEGER = /^-?(?:0|[1-9]\d*)$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Converts a cell to JSON. Numbers keep their original literal and are never converted to a double.
 *
 * @param given the cell as the file has it, for the error
 * @throws InputError for a cell that does not match its column's type
 */
export function typedCell(
  cell: ByteString,
  column: InputColumn,
  line: number,
  given: ByteString = cell,
): ByteString {
  switch (column.type) {
    case 'string':
      return JSON.stringify(cell) as ByteString;
    case 'integer':
      if (INTEGER.test(cell)) return cell;
      throw mistyped(cell, column, line, 'an integer', given);
    case 'number':
      if (NUMBER.test(cell)) return cell;
      throw mistyped(cell, column, line, 'a JSON number', given);
    case 'boolean': {
      // Spreadsheets write TRUE and FALSE.
      const word = cell.toLowerCase();
      if (word === 'true' || word === 'false') return word as ByteString;
      throw mistyped(cell, column, line, 'true or false', given);
    }
    case 'json':
      return compactJson(cell) ?? fail(mistyped(cell, column, line, 'JSON', given));
  }
}

function compactJson(cell: ByteString): ByteString | null {
  const scanner = new JsonScanner(cell);
  try {
    scanner.peek();
    const json = scanner.nested();
    scanner.end();
    return json;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

const TYPE_ORIGINS: Readonly<Record<InputColumn['from'], string>> = {
  header: 'the type in the header',
  batch: 'the type when the batch started',
  published: 'the type in the published snapshot',
  pair: '',
  nothing: '',
};

/** An error about a cell that does not match its column's type. @param given the cell as the file has it */
export function mistyped(
  cell: ByteString,
  { name, type, from }: Pick<InputColumn, 'name' | 'type' | 'from'>,
  line: number,
  wanted: string,
  given: ByteString = cell,
): InputError {
  const text = fromByteString(name);
  const value = fromByteString(cell);
  const comma = /^-?[\d.]+,\d+$/.test(value) ? ' If the file has decimal commas, set --decimal-comma.' : '';
  const remedy =
    from === 'published'
      ? `Correct the cell, or name the column \`${text}:string\` to send it as text.${comma}`
      : `Correct the cell.${comma}`;
  return new InputError(
    `the cell of ${text} is not ${wanted}, ${TYPE_ORIGINS[from]} (${type})`.trim(),
    { line },
    `${remedy} An empty unquoted cell omits the field.`,
    { value: fromByteString(given) },
  );
}

function fail(error: Error): never {
  throw error;
}
