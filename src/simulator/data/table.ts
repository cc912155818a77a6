import type { ListOrder } from '../simulator-options.js';
import { hashText, ID_LENGTH } from './deterministic.js';
import { OrderIndex, type Position, TextStore } from './row-storage.js';

/** One state of a record. */
export interface RowVersion {
  /** The record's JSON text, on one line. */
  readonly text: string;
  /** Service clock, ms since 1970. */
  readonly updatedAt: number;
  /** The date of the window field, ms since 1970; NaN for a record without one, which is always listed. */
  readonly date: number;
  readonly deleted: boolean;
}

interface PageQuery {
  readonly after: Position | null;
  /** Number of listed rows to skip after `after` (cursor style `offset`). */
  readonly skip: number;
  readonly limit: number;
  /** Only rows with a larger `updatedAt` (ms). */
  readonly changedAfter: number;
  /** Only rows with this date (ms) or a later one. */
  readonly windowFrom: number;
}

interface DelayedChange {
  readonly due: number;
  readonly row: number;
  readonly version: RowVersion;
}

/**
 * The records of one resource of one organization. Row numbers follow the order of creation and are never reused;
 * deleted rows stay as tombstones. A change can appear in lists after a delay (`visibleAt`).
 */
export class Table {
  readonly #ids: string[] = [];
  readonly #updatedAt: number[] = [];
  readonly #date: number[] = [];
  readonly #deleted: number[] = [];
  readonly #texts = new TextStore();
  #byId = new OrderIndex((row) => ({ key: 0, id: this.id(row) }));
  #order = this.#byId;
  #delayed: DelayedChange[] = [];
  #newest = new Map<number, RowVersion>();

  get size(): number {
    return this.#ids.length;
  }

  /** Adds a seeded row. Ids must be in ascending order; call `setOrder` after the last row. */
  seed(id: string, version: RowVersion): void {
    if (id.length !== ID_LENGTH || /[^\x21-\x7e]/.test(id))
      throw new RangeError(`${JSON.stringify(id)} is not an id: an id has ${ID_LENGTH} ASCII characters`);
    this.#ids.push(id);
    this.#updatedAt.push(version.updatedAt);
    this.#date.push(version.date);
    this.#deleted.push(version.deleted ? 1 : 0);
    this.#texts.write(this.size - 1, version.text);
  }

  /** Sets the order of lists. Takes a full sort, unless the order is `id`. */
  setOrder(order: ListOrder): void {
    if (this.#byId.length < this.size) this.#byId.fill(this.size, true);
    this.#order = this.#byId;
    if (order === 'id') return;
    const keys = {
      updatedAt: (row: number) => this.#updatedAt[row]!,
      '-updatedAt': (row: number) => -this.#updatedAt[row]!,
      random: (row: number) => hashText(this.id(row)),
    };
    const key = keys[order];
    this.#order = new OrderIndex((row) => ({ key: key(row), id: this.id(row) }));
    this.#order.fill(this.size, false);
  }

  id(row: number): string {
    return this.#ids[row]!;
  }

  /** The row of a record, deleted or not; -1 if it never existed. */
  find(id: string): number {
    const row = this.#byId.at(this.#byId.rankAfter({ key: 0, id }) - 1);
    return row !== undefined && this.id(row) === id ? row : -1;
  }

  /** The latest version of a record, even if lists do not show it yet. */
  latest(row: number): RowVersion {
    return (
      this.#newest.get(row) ?? {
        text: this.#texts.read(row),
        updatedAt: this.#updatedAt[row]!,
        date: this.#date[row]!,
        deleted: this.#deleted[row]! === 1,
      }
    );
  }

  /** The text of a record as shown in lists. */
  listedText(row: number): string {
    return this.#texts.read(row);
  }

  /** Creates or replaces the record `id`. Lists show it from `visibleAt` (service clock, ms), or immediately without it. */
  put(id: string, version: RowVersion, visibleAt?: number): number {
    let row = this.find(id);
    if (row === -1) {
      row = this.size;
      this.seed(id, visibleAt === undefined ? version : { ...version, deleted: true });
      this.#byId.insert(row);
      if (this.#order !== this.#byId) this.#order.insert(row);
    } else if (visibleAt === undefined) this.#apply(row, version);
    if (visibleAt !== undefined) {
      this.#newest.set(row, version);
      this.#delayed.push({ due: visibleAt, row, version });
    }
    return row;
  }

  /** Applies the delayed changes that are due at `now` (ms) to lists. */
  applyDue(now: number): void {
    if (this.#delayed.length === 0) return;
    const waiting: DelayedChange[] = [];
    for (const change of this.#delayed) {
      if (change.due > now) waiting.push(change);
      else {
        this.#apply(change.row, change.version);
        if (this.#newest.get(change.row) === change.version) this.#newest.delete(change.row);
      }
    }
    this.#delayed = waiting;
  }

  /**
   * Up to `limit` listed rows, and whether more follow. A chain of pages visits each row once, so a complete chain costs
   * one scan of three lists of numbers.
   */
  page(query: PageQuery): { rows: number[]; more: boolean } {
    const rows: number[] = [];
    let skip = query.skip;
    const from = query.after === null ? 0 : this.#order.rankAfter(query.after);
    for (let rank = from; rank < this.#order.length; rank++) {
      const row = this.#order.at(rank)!;
      if (this.#deleted[row]! === 1 || this.#updatedAt[row]! <= query.changedAfter) continue;
      if (this.#date[row]! < query.windowFrom) continue;
      if (skip-- > 0) continue;
      if (rows.length === query.limit) return { rows, more: true };
      rows.push(row);
    }
    return { rows, more: false };
  }

  /** The position of a row in lists. */
  position(row: number): Position {
    return this.#order.position(row);
  }

  /** See `TextStore.slices`. */
  slices(rows: readonly number[]): Buffer[] {
    return this.#texts.slices(rows);
  }

  /** All rows in ascending order of their ids, including deleted ones. */
  *rowsById(): Generator<number> {
    for (let rank = 0; rank < this.#byId.length; rank++) yield this.#byId.at(rank)!;
  }

  #apply(row: number, version: RowVersion): void {
    const moves = this.#order !== this.#byId;
    if (moves) this.#order.remove(row);
    this.#updatedAt[row] = version.updatedAt;
    this.#date[row] = version.date;
    this.#deleted[row] = version.deleted ? 1 : 0;
    this.#texts.write(row, version.text);
    if (moves) this.#order.insert(row);
  }
}
