import { type ByteString, type Cells, fromByteString } from '../../core/brands.js';
import { ConfigurationError } from '../../core/errors.js';
import { shownName } from '../../core/text-budget.js';
import { JsonType, type MutableFacts, noteNumber, noteString } from '../../core/value-facts.js';
import type { JsonScanner } from '../../json/scanner.js';

/** The columns that records are read into. A new field name adds a column. */
export interface FieldColumns {
  /** The column of a field, added if it is new; -1 for a field that is left out. */
  columnOf(field: ByteString): number;
  /** For each column, the `JsonType` bits seen so far. The reader adds to them. */
  readonly types: number[];
  /** For each column, what is known about its values. The reader adds to it. */
  readonly facts: MutableFacts[];
}

interface Step {
  /** `"name":` as written in the previous record. */
  readonly literal: string;
  readonly field: ByteString;
  /** Number of lone surrogates in it that were replaced. */
  readonly replaced: number;
  /** The field's column, once it is known. */
  column: number | undefined;
}

/** Two fields of one record have the same flattened name and different values, and a row could hold only one of them. */
export class SameColumnError extends ConfigurationError {
  constructor(field: ByteString) {
    super(`two fields of a record both become the column "${shownName(fromByteString(field))}" and differ`, {
      remedy: 'Set another `csv.separator`, or `csv: { nested: json }`, for the resource.',
    });
  }
}

/** Objects below this level are not flattened but kept as one cell. It bounds column names and the stack. */
const MAX_FLATTENED_LEVELS = 32;

/**
 * Reads records into cells. Records of one list nearly always have the same fields in the same order, so the reader
 * compares each name with the previous record and looks it up only if it differs.
 */
export class RecordReader {
  readonly #scanner: JsonScanner;
  readonly #columns: FieldColumns;
  readonly #flatten: ByteString | null;
  #steps: (Step | undefined)[] = [];
  /** For each column, the field that it was last read from, with the names of the enclosing fields, if objects are flattened. */
  readonly #paths: string[] = [];

  constructor(scanner: JsonScanner, columns: FieldColumns, flatten: ByteString | null) {
    this.#scanner = scanner;
    this.#columns = columns;
    this.#flatten = flatten;
  }

  /** Reads the object at the scanner's position. The last value of a repeated field counts. */
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
        scanner.replaced += step.replaced;
        this.#known(cells, step);
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
    const { pos: start, breaks, replaced: before } = scanner;
    const field = scanner.string();
    const replaced = scanner.replaced - before;
    scanner.expect(0x3a);
    const literal = scanner.text.slice(start, scanner.pos);
    // The scanner counts line breaks between tokens, so a literal that contains one is not remembered.
    this.#steps[at] = scanner.breaks === breaks ? { literal, field, replaced, column: undefined } : undefined;
    this.#value(cells, field);
  }

  /** Reads the value of a field whose column was looked up for an earlier record. */
  #known(cells: Cells, step: Step): void {
    const scanner = this.#scanner;
    const code = scanner.peek();
    if (code === 0x7b && this.#flatten !== null) {
      this.#value(cells, step.field);
      return;
    }
    step.column ??= this.#columns.columnOf(step.field);
    if (step.column < 0) scanner.skip();
    else this.#put(cells, step.column, this.#cell(code, step.column), step);
  }

  #value(cells: Cells, field: ByteString, path: string = field, level = 0): void {
    const scanner = this.#scanner;
    const code = scanner.peek();
    if (code === 0x7b && this.#flatten !== null && this.#flattened(cells, field, path, level)) return;
    const column = this.#columns.columnOf(field);
    if (column < 0) {
      scanner.skip();
      return;
    }
    this.#put(cells, column, this.#cell(code, column), { field, path });
  }

  /**
   * The last value of a repeated field counts. But `a.b` can be a field and the field `b` of `a`: neither may get lost.
   *
   * @throws SameColumnError
   */
  #put(
    cells: Cells,
    column: number,
    cell: ByteString | null,
    { field, path = field }: { readonly field: ByteString; readonly path?: string },
  ): void {
    if (this.#flatten !== null) {
      const before = cells[column] ?? null;
      const isOther = before !== null && this.#paths[column] !== path;
      if (isOther && cell === null) return;
      if (isOther && cell !== before) throw new SameColumnError(field);
      this.#paths[column] = path;
    }
    cells[column] = cell;
  }

  #cell(code: number, column: number): ByteString | null {
    const scanner = this.#scanner;
    const { types, facts } = this.#columns;
    switch (code) {
      case 0x22: {
        types[column]! |= JsonType.string;
        const from = scanner.pos + 1;
        const text = scanner.string();
        // Without escapes, the string is the text between the quotes.
        if (scanner.pos - 1 - from === text.length)
          noteString(facts[column]!, scanner.text, from, scanner.pos - 1);
        else noteString(facts[column]!, text);
        return text;
      }
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
        types[column]! |= noteNumber(facts[column]!, literal) ? JsonType.integer : JsonType.number;
        return literal;
      }
    }
  }

  /** Reads an object into one column for each field. Returns false for an empty object, which is kept as one cell. */
  #flattened(cells: Cells, field: ByteString, path: string, level: number): boolean {
    const scanner = this.#scanner;
    const { pos: start, breaks } = scanner;
    if (level === MAX_FLATTENED_LEVELS) return false;
    let isEmpty = true;
    for (const [name] of scanner.members()) {
      isEmpty = false;
      this.#value(cells, `${field}${this.#flatten}${name}` as ByteString, `${path}\0${name}`, level + 1);
    }
    if (isEmpty) {
      scanner.pos = start;
      scanner.breaks = breaks;
    }
    return !isEmpty;
  }
}
