import type { ByteString, Cells } from '../../core/brands.js';
import { GrowingMemory } from '../../core/growing-memory.js';
import { writeRow } from '../rows/csv.js';
import type { DeletedRule, recordJudge } from '../rows/deletion-mark.js';
import { cellRule, type ReadyProfile } from '../rows/profile.js';
import { ABSENT_CELL, type SortKey, sortKey } from '../rows/row.js';

/** What is noted of a row: the end of its text, that of its key, and its number of data cells. */
const NOTES = 3;

/**
 * Holds rows as CSV text, with their keys, outside the JavaScript heap. Millions of small heap values would spend more time in
 * garbage collection than in all other work, and V8 would keep those of a chunk until it next collects its old generation.
 */
export class RowBuffer {
  readonly #text = new GrowingMemory((memory) => Buffer.from(memory));
  readonly #keys = new GrowingMemory((memory) => Buffer.from(memory));
  readonly #notes = new GrowingMemory((memory) => new Uint32Array(memory));
  /** The first row of each page. */
  readonly #pages: number[] = [];
  #rows = 0;
  #ascending = true;

  /** Number of rows. */
  get rows(): number {
    return this.#rows;
  }

  /** Whether each key is greater than the key before it. */
  get ascending(): boolean {
    return this.#ascending;
  }

  get size(): number {
    return this.offset(this.#rows);
  }

  /** Start offset of a row in bytes. For `rows`, the offset is `size`. */
  offset(row: number): number {
    return row === 0 ? 0 : this.#notes.view[NOTES * (row - 1)]!;
  }

  /** Number of data cells in a row. Columns added after the row was written are missing at its end. */
  width(row: number): number {
    return this.#notes.view[NOTES * row + 2]!;
  }

  /** The text of rows `from` up to, but not including, `to`, without a copy. It is valid until `add`, `clear` or `release`. */
  bytes(from: number, to: number): Buffer {
    return this.#text.view.subarray(this.offset(from), this.offset(to));
  }

  /** Copies the rows `from` up to, but not including, `to`. Returns their size in bytes. */
  copy(from: number, to: number, target: Buffer, at: number): number {
    return this.#text.view.copy(target, at, this.offset(from), this.offset(to));
  }

  /** The text of one row, with its LF. */
  row(at: number): ByteString {
    return this.#text.view.toString('latin1', this.offset(at), this.offset(at + 1)) as ByteString;
  }

  key(at: number): SortKey {
    return this.#keys.view.toString('latin1', this.keyOffset(at), this.keyOffset(at + 1)) as SortKey;
  }

  /** All keys, as parts of one text. */
  keys(): SortKey[] {
    const text = this.#keys.view.toString('latin1', 0, this.keyOffset(this.#rows));
    return Array.from(
      { length: this.#rows },
      (_, at) => text.slice(this.keyOffset(at), this.keyOffset(at + 1)) as SortKey,
    );
  }

  /** The bytes of all keys, without gaps (`keyOffset`). They are valid until `add`, `clear` or `release`. */
  get keyBytes(): Buffer {
    return this.#keys.view;
  }

  /** Start offset of a key in `keyBytes`. For `rows`, the offset is the end of the last key. */
  keyOffset(row: number): number {
    return row === 0 ? 0 : this.#notes.view[NOTES * (row - 1) + 1]!;
  }

  /**
   * Adds rows of one width.
   *
   * @param text the rows, each with its LF
   * @param ends the end of each row in the text, after its LF
   */
  add(keys: readonly SortKey[], text: string, ends: readonly number[], width: number): void {
    const from = this.size;
    let keyEnd = this.keyOffset(this.#rows);
    const joined = keys.join('');
    this.#reserve(text.length, joined.length, keys.length);
    this.#text.view.write(text, from, 'latin1');
    this.#keys.view.write(joined, keyEnd, 'latin1');
    let before = this.#ascending && this.#rows > 0 ? this.key(this.#rows - 1) : null;
    for (let at = 0; at < keys.length; at++) {
      const key = keys[at]!;
      if (this.#ascending && before !== null) this.#ascending = before < key;
      before = key;
      keyEnd += key.length;
      this.#note(from + ends[at]!, keyEnd, width);
    }
  }

  /** Notes that the rows added from now on are of another page. */
  beginPage(): void {
    this.#pages.push(this.#rows);
  }

  /** Whether two rows, the first one first, were on one page. */
  areOnePage(first: number, then: number): boolean {
    return !this.#pages.some((from) => first < from && from <= then);
  }

  /** Adds the rows of a page. */
  addAll(other: RowBuffer): void {
    this.beginPage();
    this.#addRange(other, 0, other.rows);
    this.#ascending &&= other.ascending;
  }

  /** Adds one row of another buffer. */
  addRow(other: RowBuffer, at: number): void {
    this.#addRange(other, at, at + 1);
  }

  #addRange(other: RowBuffer, from: number, to: number): void {
    if (from === to) return;
    if (this.#ascending && this.#rows > 0) this.#ascending = this.key(this.#rows - 1) < other.key(from);
    const [text, keys] = [this.size, this.keyOffset(this.#rows)];
    const [otherText, otherKeys] = [other.offset(from), other.keyOffset(from)];
    const [textEnd, keyEnd] = [other.offset(to), other.keyOffset(to)];
    this.#reserve(textEnd - otherText, keyEnd - otherKeys, to - from);
    other.#text.view.copy(this.#text.view, text, otherText, textEnd);
    other.#keys.view.copy(this.#keys.view, keys, otherKeys, keyEnd);
    for (let at = from; at < to; at++)
      this.#note(
        text + other.offset(at + 1) - otherText,
        keys + other.keyOffset(at + 1) - otherKeys,
        other.width(at),
      );
  }

  #note(end: number, keyEnd: number, width: number): void {
    const notes = this.#notes.view;
    const at = NOTES * this.#rows++;
    notes[at] = end;
    notes[at + 1] = keyEnd;
    notes[at + 2] = width;
  }

  #reserve(text: number, keys: number, rows: number): void {
    this.#text.reserve(this.size + text);
    this.#keys.reserve(this.keyOffset(this.#rows) + keys);
    this.#notes.reserve(NOTES * (this.#rows + rows));
  }

  /** Removes all rows and keeps the memory for the next ones. */
  clear(): void {
    this.#rows = 0;
    this.#pages.length = 0;
    this.#ascending = true;
  }

  /** Removes all rows and gives their memory back. */
  release(): void {
    this.clear();
    for (const memory of [this.#text, this.#keys, this.#notes]) memory.release();
  }
}

/** A record without a key, with its position in the batch of records. */
interface Keyless {
  readonly at: number;
  readonly cells: Cells;
}

/** What `RowWriter` does with records that say that they are deleted. */
interface Deletions {
  readonly stateOf: ReturnType<typeof recordJudge>;
  /** Text at the start of their rows (see `rowPrefix`); `null`: they are not written (`deletes: keep`). */
  readonly prefix: string | null;
}

/** A record about a deletion alone, which says nothing of the other fields, and the setting that would name its mark. */
export interface Thin {
  readonly cells: Cells;
  readonly rule: NonNullable<DeletedRule>;
}

/** What became of records that were not written as live rows. */
interface Written {
  readonly keyless: readonly Keyless[];
  readonly thin: readonly Thin[];
  /** Records that say that they are deleted and were not written. */
  readonly ignored: number;
}

/** Writes records as CSV rows and applies the rules of their columns (masking, escaping). */
export class RowWriter {
  /** The few columns that have a rule. */
  readonly #rules: { readonly at: number; readonly rule: NonNullable<ReturnType<typeof cellRule>> }[] = [];
  /** Number of columns whose rules have been looked up. */
  #known = 0;

  /** @param prefix text at the start of every row (see `rowPrefix`) */
  constructor(
    private readonly profile: ReadyProfile,
    private readonly prefix: string,
    private readonly deletions: Deletions | null = null,
  ) {}

  /**
   * Writes all records that have a key, and returns those that have none (docs/explanation/guarantees.md#key), or that are
   * only a mark of a deletion. A tombstone is a row with `_deleted_at`, where `ABSENT_CELL` stands for an absent field.
   *
   * @param names the data columns by position, key columns first; later calls may add names at the end
   */
  write(records: readonly Cells[], names: readonly string[], into: RowBuffer): Written {
    this.#prepareRules(names);
    const { delimiter } = this.profile.csv;
    const keyless: Keyless[] = [];
    const thin: Thin[] = [];
    let ignored = 0;
    const keys: SortKey[] = [];
    const ends: number[] = [];
    let text = '';
    for (const [at, cells] of records.entries()) {
      // Before the rules: the hash of an empty key is not empty.
      const hasKey = this.#hasKey(cells);
      const state = this.deletions?.stateOf(cells, names) ?? 'live';
      this.#applyRules(cells);
      if (!hasKey) {
        keyless.push({ at, cells });
        continue;
      }
      if (typeof state === 'object') {
        thin.push({ cells, rule: state });
        continue;
      }
      // `writeRow` expects one cell for each column of the header.
      cells.length = names.length;
      if (state === 'live') {
        text += this.prefix + writeRow(cells, delimiter);
      } else if (this.deletions!.prefix === null) {
        ignored++;
        continue;
      } else {
        text += this.deletions!.prefix + writeTombstone(cells, delimiter);
      }
      keys.push(this.#keyOf(cells));
      ends.push(text.length);
    }
    into.add(keys, text, ends, names.length);
    return { keyless, thin, ignored };
  }

  #hasKey(cells: Cells): boolean {
    for (let at = 0; at < this.profile.key.length; at++) {
      const value = cells[at];
      if (value === null || value === undefined || value === '') return false;
    }
    return true;
  }

  #keyOf(cells: Cells): SortKey {
    const { length } = this.profile.key;
    return length === 1 ? (cells[0] as SortKey) : sortKey(cells.slice(0, length) as ByteString[]);
  }

  #prepareRules(names: readonly string[]): void {
    for (; this.#known < names.length; this.#known++) {
      const rule = cellRule(this.profile, names[this.#known]!);
      if (rule !== null) this.#rules.push({ at: this.#known, rule });
    }
  }

  #applyRules(cells: Cells): void {
    for (const { at, rule } of this.#rules) {
      const cell = cells[at];
      if (cell !== null && cell !== undefined) cells[at] = rule(cell);
    }
  }
}

function writeTombstone(cells: Cells, delimiter: string): string {
  const written = Array.from(cells, (cell) =>
    cell === undefined ? ABSENT_CELL : writeRow([cell], delimiter).slice(0, -1),
  );
  return `${written.join(delimiter)}\n`;
}
