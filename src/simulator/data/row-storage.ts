const FIRST_BLOCK_BYTES = 64 * 1024;
const MAX_BLOCK_BYTES = 4 * 1024 * 1024;
const COMMA = 0x2c;

/**
 * The encoded JSON texts of a table's rows, packed into blocks with a comma after each text, so that adjacent rows are
 * served as one slice. The bytes of a replaced text are not reclaimed.
 */
export class TextStore {
  #blocks: Buffer[] = [Buffer.allocUnsafeSlow(FIRST_BLOCK_BYTES)];
  #used = 0;
  readonly #block: number[] = [];
  readonly #start: number[] = [];
  readonly #end: number[] = [];

  /** Sets the text of a row: of one that exists, or of the next one. Row numbers start at 0. */
  write(row: number, text: string): void {
    const maxBytes = text.length * 3 + 1;
    let block = this.#blocks[this.#blocks.length - 1] as Buffer;
    if (this.#used + maxBytes > block.length) {
      block = Buffer.allocUnsafeSlow(Math.max(Math.min(block.length * 2, MAX_BLOCK_BYTES), maxBytes));
      this.#blocks.push(block);
      this.#used = 0;
    }
    const end = this.#used + block.write(text, this.#used, 'utf8');
    block[end] = COMMA;
    this.#block[row] = this.#blocks.length - 1;
    this.#start[row] = this.#used;
    this.#end[row] = end;
    this.#used = end + 1;
  }

  read(row: number): string {
    const block = this.#blocks[this.#block[row]!] as Buffer;
    return block.toString('utf8', this.#start[row]!, this.#end[row]!);
  }

  /** The texts of `rows`, separated by commas, in as few slices as possible. */
  slices(rows: readonly number[]): Buffer[] {
    const slices: Buffer[] = [];
    let at = 0;
    while (at < rows.length) {
      const first = rows[at] as number;
      const block = this.#block[first]!;
      let end = this.#end[first]!;
      for (at++; at < rows.length; at++) {
        const next = rows[at] as number;
        if (this.#block[next]! !== block || this.#start[next]! !== end + 1) break;
        end = this.#end[next]!;
      }
      const withComma = at < rows.length ? 1 : 0;
      slices.push((this.#blocks[block] as Buffer).subarray(this.#start[first]!, end + withComma));
    }
    return slices;
  }
}

/** The sort key of a row: a number, and the id for ties. */
export interface Position {
  readonly key: number;
  readonly id: string;
}

/** The rows of a table in list order. */
export class OrderIndex {
  #rows: number[] = [];

  /** @param position returns the current sort key of a row; remove a row before its sort key changes */
  constructor(readonly position: (row: number) => Position) {}

  get length(): number {
    return this.#rows.length;
  }

  at(rank: number): number | undefined {
    return this.#rows[rank];
  }

  insert(row: number): void {
    this.#rows.splice(this.rankAfter(this.position(row)), 0, row);
  }

  remove(row: number): void {
    const rank = this.rankAfter(this.position(row)) - 1;
    if (this.#rows[rank] === row) this.#rows.splice(rank, 1);
  }

  /** Replaces the content with rows 0 to `count` - 1. `sorted`: they are already in order. */
  fill(count: number, sorted: boolean): void {
    this.#rows = Array.from({ length: count }, (_, row) => row);
    if (!sorted) this.#rows.sort((a, b) => comparePositions(this.position(a), this.position(b)));
  }

  /** The rank of the first row after `position`. */
  rankAfter(position: Position): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (comparePositions(this.position(this.#rows[middle]!), position) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function comparePositions(a: Position, b: Position): number {
  if (a.key !== b.key) return a.key - b.key;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
