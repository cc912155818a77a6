/** The sort key of a row: a number, and the id for ties. */
export interface Position {
  readonly key: number;
  readonly id: string;
}

/** The rows of a table in list order. Inserting and removing move at most four bytes per row. */
export class OrderIndex {
  #rows = new Uint32Array(64);
  length = 0;

  /** @param position returns the current sort key of a row; remove a row before its sort key changes */
  constructor(readonly position: (row: number) => Position) {}

  at(rank: number): number {
    return this.#rows[rank] as number;
  }

  insert(row: number): void {
    if (this.length === this.#rows.length) {
      const wider = new Uint32Array(this.length * 2);
      wider.set(this.#rows);
      this.#rows = wider;
    }
    const rank = this.rankAfter(this.position(row));
    this.#rows.copyWithin(rank + 1, rank, this.length);
    this.#rows[rank] = row;
    this.length++;
  }

  remove(row: number): void {
    const rank = this.rankAfter(this.position(row)) - 1;
    if (rank < 0 || this.#rows[rank] !== row) return;
    this.#rows.copyWithin(rank, rank + 1, this.length);
    this.length--;
  }

  /** Replaces the content with rows 0 to `count` - 1. `sorted`: they are already in order. */
  fill(count: number, sorted: boolean): void {
    this.#rows = new Uint32Array(Math.max(64, count));
    for (let row = 0; row < count; row++) this.#rows[row] = row;
    this.length = count;
    if (sorted) return;
    this.#rows.subarray(0, count).sort((a, b) => comparePositions(this.position(a), this.position(b)));
  }

  /** The rank of the first row after `position`. */
  rankAfter(position: Position): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (comparePositions(this.position(this.at(middle)), position) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function comparePositions(a: Position, b: Position): number {
  if (a.key !== b.key) return a.key - b.key;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
