import { NumberColumn } from './columns.js';

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
  #block = new NumberColumn();
  #start = new NumberColumn();
  #end = new NumberColumn();

  /** Adds the text of a row. Row numbers start at 0. */
  push(text: string): void {
    const [block, start, end] = this.#write(text);
    this.#block.push(block);
    this.#start.push(start);
    this.#end.push(end);
  }

  replace(row: number, text: string): void {
    const [block, start, end] = this.#write(text);
    this.#block.set(row, block);
    this.#start.set(row, start);
    this.#end.set(row, end);
  }

  read(row: number): string {
    const block = this.#blocks[this.#block.get(row)] as Buffer;
    return block.toString('utf8', this.#start.get(row), this.#end.get(row));
  }

  /** The texts of `rows`, separated by commas, in as few slices as possible. */
  slices(rows: readonly number[]): Buffer[] {
    const slices: Buffer[] = [];
    let at = 0;
    while (at < rows.length) {
      const first = rows[at] as number;
      const block = this.#block.get(first);
      let end = this.#end.get(first);
      for (at++; at < rows.length; at++) {
        const next = rows[at] as number;
        if (this.#block.get(next) !== block || this.#start.get(next) !== end + 1) break;
        end = this.#end.get(next);
      }
      const withComma = at < rows.length ? 1 : 0;
      slices.push((this.#blocks[block] as Buffer).subarray(this.#start.get(first), end + withComma));
    }
    return slices;
  }

  #write(text: string): [block: number, start: number, end: number] {
    const maxBytes = text.length * 3 + 1;
    let block = this.#blocks[this.#blocks.length - 1] as Buffer;
    if (this.#used + maxBytes > block.length) {
      block = Buffer.allocUnsafeSlow(Math.max(Math.min(block.length * 2, MAX_BLOCK_BYTES), maxBytes));
      this.#blocks.push(block);
      this.#used = 0;
    }
    const start = this.#used;
    const end = start + block.write(text, start, 'utf8');
    block[end] = COMMA;
    this.#used = end + 1;
    return [this.#blocks.length - 1, start, end];
  }
}
