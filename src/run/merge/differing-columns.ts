import type { ByteString } from '../../core/brands.js';
import { readRow } from '../../lake/rows/csv.js';
import { META_COLUMNS } from '../../lake/rows/data-columns.js';

/** Rows that are compared. With more, nearly all columns that can change have changed, and splitting rows takes time. */
const MOST_ROWS = 1000;
/** Columns that are named: each part of a manifest has them. With more, so much is written that it costs little to find them again. */
const MOST_COLUMNS = 20;

/**
 * Finds the columns where rows of the change log differ from the rows of the base snapshot, so that a table writes only these again.
 * Both rows have the same columns.
 */
export class DifferingColumns {
  readonly #names: readonly string[];
  readonly #found = new Set<number>();
  #rows = 0;

  /** @param names of the data columns, in the order of the header */
  constructor(
    names: readonly string[],
    private readonly delimiter: string,
  ) {
    this.#names = [...META_COLUMNS, ...names];
  }

  compare(before: ByteString, row: ByteString): void {
    this.#rows++;
    if (this.#isTooMuch) return;
    const [earlier, now] = [readRow(before, this.delimiter), readRow(row, this.delimiter)];
    for (const at of this.#names.keys()) if (earlier[at] !== now[at]) this.#found.add(at);
  }

  /** Names of the columns; `null` if there are too many, or not all rows were compared. */
  get names(): readonly string[] | null {
    if (this.#isTooMuch) return null;
    return this.#names.filter((_, at) => this.#found.has(at));
  }

  get #isTooMuch(): boolean {
    return this.#rows > MOST_ROWS || this.#found.size > MOST_COLUMNS;
  }
}
