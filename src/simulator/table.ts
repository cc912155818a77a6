import { FixedTextColumn, NumberColumn } from './columns.js';
import { hashText } from './hash.js';
import { OrderIndex, type Position } from './order-index.js';
import { TextStore } from './text-store.js';
import { ID_LENGTH } from './ulid.js';

/** The order in which a list gives its records. */
export type ListOrder = 'id' | 'updatedAt' | 'random';

/** One state of a record. */
export interface RowVersion {
  /** The record's JSON text, on one line. */
  readonly text: string;
  /** Service clock, ms since 1970. */
  readonly updatedAt: number;
  /** The date that the window looks at, ms since 1970; NaN for a record without one, which is always listed. */
  readonly date: number;
  readonly deleted: boolean;
}

/** What a list asks of a table. */
export interface PageQuery {
  readonly after: Position | null;
  /** Listed rows to pass over after `after`: the offset cursor style. */
  readonly skip: number;
  readonly limit: number;
  /** Only rows with a larger `updatedAt` (ms). */
  readonly changedAfter: number;
  /** Only rows with this date (ms) or a later one. */
  readonly windowFrom: number;
}

interface LateChange {
  readonly due: number;
  readonly row: number;
  readonly version: RowVersion;
}

/**
 * The records of one resource of one organization. Rows are numbered in the order of their making and never reused; deleted
 * ones stay as tombstones. Changes may become visible in lists later than they are made (`visibleAt`).
 */
export class Table {
  #ids = new FixedTextColumn(ID_LENGTH);
  #updatedAt = new NumberColumn();
  #date = new NumberColumn();
  #deleted = new NumberColumn();
  #texts = new TextStore();
  #byId = new OrderIndex((row) => ({ key: 0, id: this.#ids.get(row) }));
  #order = this.#byId;
  #late: LateChange[] = [];
  #newest = new Map<number, RowVersion>();

  get size(): number {
    return this.#ids.length;
  }

  /** Adds a seeded row; ids must come in ascending order, and `setOrder` must follow the last one. */
  seed(id: string, version: RowVersion): void {
    this.#push(id, version);
  }

  /** Sorts the lists anew: a full sort, unless the order is by id. */
  setOrder(order: ListOrder): void {
    if (this.#byId.length < this.size) this.#byId.fill(this.size, true);
    this.#order = this.#byId;
    if (order === 'id') return;
    const key =
      order === 'updatedAt'
        ? (row: number) => this.#updatedAt.get(row)
        : (row: number) => hashText(this.id(row));
    this.#order = new OrderIndex((row) => ({ key: key(row), id: this.id(row) }));
    this.#order.fill(this.size, false);
  }

  id(row: number): string {
    return this.#ids.get(row);
  }

  /** The row of a record, deleted or not; -1 when there was never one. */
  find(id: string): number {
    const row = this.#byId.at(this.#byId.rankAfter({ key: 0, id }) - 1);
    return row !== undefined && this.size > 0 && this.id(row) === id ? row : -1;
  }

  /** The record as it is in truth, whether lists show it already or not. */
  truth(row: number): RowVersion {
    return (
      this.#newest.get(row) ?? {
        text: this.#texts.read(row),
        updatedAt: this.#updatedAt.get(row),
        date: this.#date.get(row),
        deleted: this.#deleted.get(row) === 1,
      }
    );
  }

  /** The record's text as lists show it. */
  listedText(row: number): string {
    return this.#texts.read(row);
  }

  /** Makes or replaces the record `id`; lists show it from `visibleAt` on (service clock, ms), or at once without it. */
  put(id: string, version: RowVersion, visibleAt?: number): number {
    let row = this.find(id);
    if (row === -1) {
      row = this.size;
      this.#push(id, visibleAt === undefined ? version : { ...version, deleted: true });
      this.#byId.insert(row);
      if (this.#order !== this.#byId) this.#order.insert(row);
    } else if (visibleAt === undefined) this.#apply(row, version);
    if (visibleAt !== undefined) {
      this.#newest.set(row, version);
      this.#late.push({ due: visibleAt, row, version });
    }
    return row;
  }

  /** Shows in lists what is due by `now` (ms). */
  settle(now: number): void {
    if (this.#late.length === 0) return;
    const waiting: LateChange[] = [];
    for (const change of this.#late) {
      if (change.due > now) waiting.push(change);
      else {
        this.#apply(change.row, change.version);
        if (this.#newest.get(change.row) === change.version) this.#newest.delete(change.row);
      }
    }
    this.#late = waiting;
  }

  /**
   * Up to `limit` listed rows and whether more follow. A chain of pages passes over each row once, filters
   * included, so a whole chain costs one scan of three number columns.
   */
  page(query: PageQuery): { rows: number[]; more: boolean } {
    const rows: number[] = [];
    let skip = query.skip;
    const from = query.after === null ? 0 : this.#order.rankAfter(query.after);
    for (let rank = from; rank < this.#order.length; rank++) {
      const row = this.#order.at(rank);
      if (this.#deleted.get(row) === 1 || this.#updatedAt.get(row) <= query.changedAfter) continue;
      if (this.#date.get(row) < query.windowFrom) continue;
      if (skip-- > 0) continue;
      if (rows.length === query.limit) return { rows, more: true };
      rows.push(row);
    }
    return { rows, more: false };
  }

  /** Where a row stands in the lists. */
  position(row: number): Position {
    return this.#order.position(row);
  }

  /** See `TextStore.gather`. */
  gather(rows: readonly number[], pieces: Buffer[]): void {
    this.#texts.gather(rows, pieces);
  }

  /** All rows by ascending id, deleted ones too. */
  *rowsById(): Generator<number> {
    for (let rank = 0; rank < this.#byId.length; rank++) yield this.#byId.at(rank);
  }

  #push(id: string, version: RowVersion): void {
    this.#ids.push(id);
    this.#updatedAt.push(version.updatedAt);
    this.#date.push(version.date);
    this.#deleted.push(version.deleted ? 1 : 0);
    this.#texts.push(version.text);
  }

  #apply(row: number, version: RowVersion): void {
    const moves = this.#order !== this.#byId;
    if (moves) this.#order.remove(row);
    this.#updatedAt.set(row, version.updatedAt);
    this.#date.set(row, version.date);
    this.#deleted.set(row, version.deleted ? 1 : 0);
    this.#texts.replace(row, version.text);
    if (moves) this.#order.insert(row);
  }
}
