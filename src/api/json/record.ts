import type { ByteString } from '../../core/brands.js';
import type { Cells } from '../../core/cells.js';
import type { JsonScanner } from './scanner.js';

/** Observed JSON types, one bit each, so that a column's mixture is one number. */
export const JsonType = {
  null: 1,
  boolean: 2,
  integer: 4,
  number: 8,
  string: 16,
  object: 32,
  array: 64,
} as const;

/** The columns that records are read into; new field names become new columns as they are met. */
export interface FieldColumns {
  /** The column of a field, made if it is new; -1 for a field that must not be kept. */
  columnOf(field: ByteString): number;
  /** By column, the `JsonType` bits seen so far; the reader adds to them. */
  readonly types: number[];
}

interface Step {
  /** `"name":` as it stood in the record before. */
  readonly literal: string;
  readonly field: ByteString;
}

/** Deeper than this a flattened object stays a cell: a column's name has to stay readable, and the stack finite. */
const MAX_FLATTENED_LEVELS = 32;

/**
 * Reads records into cells. Records of one list nearly always have the same fields in the same order, so the
 * reader compares with the record before and looks a name up only where they differ.
 */
export class RecordReader {
  readonly #scanner: JsonScanner;
  readonly #columns: FieldColumns;
  readonly #flatten: ByteString | null;
  #steps: Step[] = [];

  constructor(scanner: JsonScanner, columns: FieldColumns, flatten: ByteString | null) {
    this.#scanner = scanner;
    this.#columns = columns;
    this.#flatten = flatten;
  }

  /** Reads the object at the scanner's position. A field that comes twice keeps its last value. */
  read(): Cells {
    const scanner = this.#scanner;
    const { text } = scanner;
    const cells: Cells = [];
    scanner.pos++;
    if (scanner.peek() === 0x7d) {
      scanner.pos++;
      return cells;
    }
    for (let at = 0; ; at++) {
      const step = this.#steps[at];
      if (step !== undefined && text.startsWith(step.literal, scanner.pos)) {
        scanner.pos += step.literal.length;
        this.#value(cells, step.field);
      } else {
        this.#member(cells, at);
      }
      const code = scanner.peek();
      if (code === 0x7d) {
        scanner.pos++;
        return cells;
      }
      if (code !== 0x2c) scanner.fail('expected "," or "}"');
      scanner.pos++;
      scanner.peek();
    }
  }

  #member(cells: Cells, at: number): void {
    const scanner = this.#scanner;
    const start = scanner.pos;
    const field = scanner.string();
    scanner.expect(0x3a);
    const literal = scanner.text.slice(start, scanner.pos);
    this.#steps[at] = { literal, field };
    this.#value(cells, field);
  }

  #value(cells: Cells, field: ByteString, level = 0): void {
    const scanner = this.#scanner;
    const code = scanner.peek();
    if (code === 0x7b && this.#flatten !== null && this.#flattened(cells, field, level)) return;
    const column = this.#columns.columnOf(field);
    if (column < 0) {
      scanner.skip();
      return;
    }
    cells[column] = this.#cell(code, column);
  }

  #cell(code: number, column: number): ByteString | null {
    const scanner = this.#scanner;
    const { types } = this.#columns;
    switch (code) {
      case 0x22:
        types[column]! |= JsonType.string;
        return scanner.string();
      case 0x6e:
        scanner.word('null');
        types[column]! |= JsonType.null;
        return null;
      case 0x74:
        scanner.word('true');
        types[column]! |= JsonType.boolean;
        return 'true' as ByteString;
      case 0x66:
        scanner.word('false');
        types[column]! |= JsonType.boolean;
        return 'false' as ByteString;
      case 0x7b:
        types[column]! |= JsonType.object;
        return scanner.nested();
      case 0x5b:
        types[column]! |= JsonType.array;
        return scanner.nested();
      default: {
        const literal = scanner.number();
        types[column]! |= isInteger(literal) ? JsonType.integer : JsonType.number;
        return literal;
      }
    }
  }

  /** Spreads an object over columns of its own; an empty one has none to spread to and stays a cell. */
  #flattened(cells: Cells, field: ByteString, level: number): boolean {
    const scanner = this.#scanner;
    const start = scanner.pos;
    if (level === MAX_FLATTENED_LEVELS) return false;
    scanner.pos++;
    if (scanner.peek() === 0x7d) {
      scanner.pos = start;
      return false;
    }
    for (;;) {
      scanner.peek();
      const name = `${field}${this.#flatten}${scanner.string()}` as ByteString;
      scanner.expect(0x3a);
      this.#value(cells, name, level + 1);
      if (scanner.peek() === 0x7d) {
        scanner.pos++;
        return true;
      }
      scanner.expect(0x2c);
    }
  }
}

function isInteger(literal: string): boolean {
  for (let at = 0; at < literal.length; at++) {
    const code = literal.charCodeAt(at);
    if (code === 0x2e || (code | 0x20) === 0x65) return false;
  }
  return true;
}
