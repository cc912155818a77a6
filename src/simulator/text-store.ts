import { NumberColumn } from './columns.js';

const FIRST_BLOCK = 64 * 1024;
const LARGEST_BLOCK = 4 * 1024 * 1024;
const COMMA = 0x2c;

/**
 * The JSON texts of a table's rows, encoded once, packed into blocks with a comma after each: rows that lie side by side
 * are served as one slice. A replaced text leaves its old bytes behind; no simulator lives long enough to mind.
 */
export class TextStore {
  #blocks: Buffer[] = [Buffer.allocUnsafeSlow(FIRST_BLOCK)];
  #used = 0;
  #block = new NumberColumn();
  #start = new NumberColumn();
  #end = new NumberColumn();

  /** Adds a row's text; rows are numbered from 0 in the order in which they are added. */
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

  /** Appends the texts of `rows`, separated by commas, to `pieces` as slices of as many neighbours as possible. */
  gather(rows: readonly number[], pieces: Buffer[]): void {
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
      pieces.push((this.#blocks[block] as Buffer).subarray(this.#start.get(first), end + withComma));
    }
  }

  #write(text: string): [block: number, start: number, end: number] {
    const most = text.length * 3 + 1;
    let block = this.#blocks[this.#blocks.length - 1] as Buffer;
    if (this.#used + most > block.length) {
      block = Buffer.allocUnsafeSlow(Math.max(Math.min(block.length * 2, LARGEST_BLOCK), most));
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
