import type { Cells } from '../../core/cells.js';
import { eachRow } from '../csv.js';
import { type CellRule, cellRule, type Profile } from '../profile.js';
import { type SortKey, sortKey } from '../row.js';
import type { RowBuffer } from './row-buffer.js';

/** A record that lacks its key, with its position among those that it came with. */
export interface Keyless {
  readonly at: number;
  readonly cells: Cells;
}

/** Writes records as rows of CSV, by the rules of their columns. */
export class RowWriter {
  readonly #profile: Profile;
  readonly #prefix: string;
  readonly #rules: CellRule[] = [];

  /** @param prefix text in front of every row (see `rowPrefix`) */
  constructor(profile: Profile, prefix: string) {
    this.#profile = profile;
    this.#prefix = prefix;
  }

  /**
   * Returns the records that lack their key and were left out (DESIGN 3.2).
   *
   * @param names the data columns by position, the key's first; they only ever grow
   */
  write(records: readonly Cells[], names: readonly string[], into: RowBuffer): Keyless[] {
    this.#prepareRules(names);
    const keyless: Keyless[] = [];
    const good: Cells[] = [];
    const keys: SortKey[] = [];
    for (const [at, cells] of records.entries()) {
      this.#applyRules(cells);
      const key = this.#keyOf(cells);
      if (key === null) {
        keyless.push({ at, cells });
        continue;
      }
      // All of them have the header's length.
      cells.length = names.length;
      good.push(cells);
      keys.push(key);
    }
    const own = allDetached(keys);
    let at = 0;
    eachRow(good, this.#profile.csv.delimiter, (row) => {
      into.add(own[at++]!, this.#prefix + row, names.length);
    });
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
    for (let at = this.#rules.length; at < names.length; at++)
      this.#rules.push(cellRule(this.#profile, names[at]!));
  }

  #applyRules(cells: Cells): void {
    for (const [at, rule] of this.#rules.entries()) {
      if (rule === null) continue;
      const cell = cells[at];
      if (cell !== null && cell !== undefined) cells[at] = rule(cell);
    }
  }
}

/** The same keys in memory of their own: V8 lets a part of a string, here of a page's body, hold on to the whole. */
function allDetached(keys: readonly SortKey[]): SortKey[] {
  const text = Buffer.from(keys.join(''), 'latin1').toString('latin1');
  let end = 0;
  return keys.map((key) => {
    const from = end;
    end += key.length;
    return text.slice(from, end) as SortKey;
  });
}
