import { HashTable } from '../hash-table.js';
import type { Field } from '../json-fields.js';
import { cellsHash, keyHash, RowHashes } from './row-hashes.js';

/** The hashes of a file's rows, collected while it is read. Needs about 60 bytes of memory per row. */
export class FileRows {
  readonly hashes: RowHashes;
  readonly #keyColumn: string | null;
  readonly #seen = new HashTable();
  #repeated = 0;
  #firstRepeated = 0;

  constructor(keyColumn: string | null) {
    this.hashes = new RowHashes(keyColumn !== null);
    this.#keyColumn = keyColumn;
  }

  /** @param key the value in the key column; `null` without a key column */
  add(fields: readonly Field[], key: string | null): void {
    const cells = cellsHash(fields);
    const keyed = key === null || this.#keyColumn === null ? null : keyHash(this.#keyColumn, key);
    const entry = this.#seen.entry(keyed ?? cells);
    const isRepeated = this.#seen.get(entry) === 1;
    this.#seen.set(entry, 0, 1);
    // Of several rows with a key, the first one is sent.
    this.hashes.add(keyed, cells, isRepeated && keyed !== null ? 'unsent' : 'open');
    if (isRepeated && this.#repeated++ === 0) this.#firstRepeated = this.hashes.rows;
  }

  /** How many rows have the key, or without keys the cells, of an earlier row of the file; and the first such row, from 1. */
  get repeated(): { readonly rows: number; readonly first: number } {
    return { rows: this.#repeated, first: this.#firstRepeated };
  }
}
