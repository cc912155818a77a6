import type { Cells } from '../../core/brands.js';
import { writeRow } from '../rows/csv.js';
import { cellRule, type Profile } from '../rows/profile.js';
import { type SortKey, sortKey } from '../rows/row.js';
import type { RowBuffer } from './row-buffer.js';

/** A record without a key, with its position in the batch of records. */
interface Keyless {
  readonly at: number;
  readonly cells: Cells;
}

/** Writes records as CSV rows and applies the rules of their columns (masking, escaping). */
export class RowWriter {
  readonly #profile: Profile;
  readonly #prefix: string;
  /** The few columns that have a rule. */
  readonly #rules: { readonly at: number; readonly rule: NonNullable<ReturnType<typeof cellRule>> }[] = [];
  /** Number of columns whose rules have been looked up. */
  #known = 0;

  /** @param prefix text at the start of every row (see `rowPrefix`) */
  constructor(profile: Profile, prefix: string) {
    this.#profile = profile;
    this.#prefix = prefix;
  }

  /**
   * Writes all records that have a key, and returns those that have none (docs/explanation/guarantees.md#key).
   *
   * @param names the data columns by position, key columns first; later calls may add names at the end
   */
  write(records: readonly Cells[], names: readonly string[], into: RowBuffer): Keyless[] {
    this.#prepareRules(names);
    const { delimiter } = this.#profile.csv;
    const keyless: Keyless[] = [];
    const keys: SortKey[] = [];
    const ends: number[] = [];
    let text = '';
    for (const [at, cells] of records.entries()) {
      this.#applyRules(cells);
      const key = this.#keyOf(cells);
      if (key === null) {
        keyless.push({ at, cells });
        continue;
      }
      // `writeRow` expects one cell for each column of the header.
      cells.length = names.length;
      text += this.#prefix + writeRow(cells, delimiter);
      keys.push(key);
      ends.push(text.length);
    }
    into.add(detachAll(keys), text, ends, names.length);
    return keyless;
  }

  #keyOf(cells: Cells): SortKey | null {
    const { length } = this.#profile.key;
    const first = cells[0];
    if (first === null || first === undefined || first === '') return null;
    if (length === 1) return first as SortKey;
    const values: string[] = [];
    for (let at = 0; at < length; at++) {
      const value = cells[at];
      if (value === null || value === undefined || value === '') return null;
      values.push(value);
    }
    return sortKey(values);
  }

  #prepareRules(names: readonly string[]): void {
    for (; this.#known < names.length; this.#known++) {
      const rule = cellRule(this.#profile, names[this.#known]!);
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
