import type { ByteString, Cells } from '../../core/brands.js';
import { writeRow } from '../rows/csv.js';
import type { DeletedRule, recordJudge } from '../rows/deletion-mark.js';
import { cellRule, type ReadyProfile } from '../rows/profile.js';
import { ABSENT_CELL, type SortKey, sortKey } from '../rows/row.js';

const FIRST_BYTES = 64 * 1024;
/** Address space of a buffer, which takes memory only as far as it has grown. Beyond it, a buffer is copied into a larger one. */
const SPAN_BYTES = 32 * 1024 * 1024;

/**
 * Holds rows as CSV text in one buffer outside the JavaScript heap. Millions of small heap values would spend more time
 * in garbage collection than in all other work. The buffer grows without a copy, and `release` gives its memory back immediately:
 * V8 frees a buffer that is no longer used only when it next collects its old generation.
 */
export class RowBuffer {
  readonly keys: SortKey[] = [];
  /** Number of data cells in each row. Columns added after the row was written are missing at its end. */
  readonly widths: number[] = [];
  /** The first row of each page. */
  readonly #pages: number[] = [];
  /** End offset of each row, after its LF. */
  readonly #ends: number[] = [];
  #memory = new ArrayBuffer(FIRST_BYTES, { maxByteLength: SPAN_BYTES });
  #bytes = Buffer.from(this.#memory);
  #ascending = true;

  /** Number of rows. */
  get rows(): number {
    return this.#ends.length;
  }

  /** Whether each key is greater than the key before it. */
  get ascending(): boolean {
    return this.#ascending;
  }

  get size(): number {
    return this.offset(this.rows);
  }

  /** Start offset of a row in bytes. For `rows`, the offset is `size`. */
  offset(row: number): number {
    return row === 0 ? 0 : this.#ends[row - 1]!;
  }

  /** The text of rows `from` up to, but not including, `to`, without a copy. It is valid until `add`, `clear` or `release`. */
  bytes(from: number, to: number): Buffer {
    return this.#bytes.subarray(this.offset(from), this.offset(to));
  }

  /** Copies the rows `from` up to, but not including, `to`. Returns their size in bytes. */
  copy(from: number, to: number, target: Buffer, at: number): number {
    return this.#bytes.copy(target, at, this.offset(from), this.offset(to));
  }

  /** The text of one row, with its LF. */
  row(at: number): ByteString {
    return this.#bytes.toString('latin1', this.offset(at), this.offset(at + 1)) as ByteString;
  }

  /**
   * Adds rows of one width.
   *
   * @param text the rows, each with its LF
   * @param ends the end of each row in the text, after its LF
   */
  add(keys: readonly SortKey[], text: string, ends: readonly number[], width: number): void {
    const from = this.size;
    this.#reserve(text.length);
    this.#bytes.write(text, from, 'latin1');
    for (const [at, key] of keys.entries()) this.#note(key, width, from + ends[at]!);
  }

  /** Notes that the rows added from now on are of another page. */
  beginPage(): void {
    this.#pages.push(this.rows);
  }

  /** Whether two rows, the first one first, were on one page. */
  areOnePage(first: number, then: number): boolean {
    return !this.#pages.some((from) => first < from && from <= then);
  }

  /** Adds the rows of a page. */
  addAll(other: RowBuffer): void {
    this.beginPage();
    const from = this.size;
    this.#reserve(other.size);
    other.copy(0, other.rows, this.#bytes, from);
    for (let at = 0; at < other.rows; at++) {
      this.#note(other.keys[at]!, other.widths[at]!, from + other.#ends[at]!);
    }
  }

  /** Adds one row of another buffer. */
  addRow(other: RowBuffer, at: number): void {
    const from = this.size;
    const bytes = other.offset(at + 1) - other.offset(at);
    this.#reserve(bytes);
    other.copy(at, at + 1, this.#bytes, from);
    this.#note(other.keys[at]!, other.widths[at]!, from + bytes);
  }

  #note(key: SortKey, width: number, end: number): void {
    if (this.#ascending && this.rows > 0) this.#ascending = this.keys[this.rows - 1]! < key;
    this.keys.push(key);
    this.widths.push(width);
    this.#ends.push(end);
  }

  /** Removes all rows and keeps the memory for the next ones. */
  clear(): void {
    this.keys.length = 0;
    this.widths.length = 0;
    this.#pages.length = 0;
    this.#ends.length = 0;
    this.#ascending = true;
  }

  /** Removes all rows and gives their memory back. */
  release(): void {
    this.clear();
    this.#memory.resize(0);
    this.#bytes = Buffer.from(this.#memory);
  }

  #reserve(bytes: number): void {
    const needed = this.size + bytes;
    if (needed <= this.#bytes.length) return;
    const length = Math.max(needed, 2 * this.#bytes.length);
    const { maxByteLength } = this.#memory;
    if (needed <= maxByteLength) {
      this.#memory.resize(Math.min(length, maxByteLength));
      this.#bytes = Buffer.from(this.#memory);
    } else {
      const memory = new ArrayBuffer(length, { maxByteLength: 2 * length });
      const larger = Buffer.from(memory);
      this.#bytes.copy(larger, 0, 0, this.size);
      this.#memory.resize(0);
      this.#memory = memory;
      this.#bytes = larger;
    }
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
    into.add(detachAll(keys), text, ends, names.length);
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

/** Copies the keys into one new string. In V8 a slice keeps its whole parent string alive, here the body of a page. */
function detachAll(keys: readonly SortKey[]): SortKey[] {
  const text = Buffer.from(keys.join(''), 'latin1').toString('latin1');
  let end = 0;
  return keys.map((key) => {
    const from = end;
    end += key.length;
    return text.slice(from, end) as SortKey;
  });
}
