import { crc32 } from '../crc32.js';
import type { Framing } from '../part/framing.js';
import type { Block, PartIndex } from '../part/index-file.js';
import type { Findings } from './findings.js';

/** What an index must agree with. */
export interface IndexedPart {
  readonly bytes: number;
  readonly rows: number;
  /** Data columns of the header. */
  readonly columns: number;
}

/** What is wrong with an index as such: blocks must follow one another and fill the part; `null` for nothing. */
export function indexProblem({ columns, blocks }: PartIndex, part: IndexedPart): string | null {
  if (columns !== part.columns) return `it says ${columns} columns and the manifest ${part.columns}`;
  let end = blocks[0]?.offset ?? 0;
  let rows = 0;
  for (const [n, block] of blocks.entries()) {
    const numbers = [block.rows, block.offset, block.bytes, block.rawBytes];
    if (!numbers.every((number) => Number.isSafeInteger(number) && number > 0))
      return `block ${n} has no true size`;
    if (block.offset !== end) return `block ${n} does not begin where the block before ends`;
    if (n > 0 && block.first <= blocks[n - 1]!.last)
      return `block ${n} begins with a key of the block before`;
    end += block.bytes;
    rows += block.rows;
  }
  if (end > part.bytes) return `its blocks reach beyond the part's ${part.bytes} bytes`;
  if (rows !== part.rows) return `it counts ${rows} rows and the manifest ${part.rows}`;
  return null;
}

/**
 * Unpacks every block by itself while the object streams by, as a merge would, and holds it against the index.
 * Holds one packed block. The blocks must have passed `indexProblem`.
 */
export class BlockCheck {
  readonly #at: string;
  readonly #blocks: readonly Block[];
  readonly #framing: Framing;
  readonly #findings: Findings;
  #block = 0;
  #position = 0;
  #pieces: Buffer[] = [];

  constructor(at: string, blocks: readonly Block[], framing: Framing, findings: Findings) {
    this.#at = at;
    this.#blocks = blocks;
    this.#framing = framing;
    this.#findings = findings;
  }

  async push(chunk: Buffer): Promise<void> {
    const start = this.#position;
    const end = start + chunk.length;
    this.#position = end;
    for (
      let block = this.#blocks[this.#block];
      block !== undefined && block.offset < end;
      block = this.#blocks[this.#block]
    ) {
      const blockEnd = block.offset + block.bytes;
      this.#pieces.push(
        chunk.subarray(Math.max(0, block.offset - start), Math.min(chunk.length, blockEnd - start)),
      );
      if (blockEnd > end) return;
      const packed = Buffer.concat(this.#pieces);
      this.#pieces = [];
      if (!(await this.#isWhole(packed, block))) {
        this.#findings.add('block', `${this.#at}: block ${this.#block} is not what its index says`);
      }
      this.#block++;
    }
  }

  async #isWhole(packed: Buffer, block: Block): Promise<boolean> {
    try {
      const raw = await this.#framing.unpack(packed, block.rawBytes);
      return raw.length === block.rawBytes && crc32(raw) === block.rawCrc32;
    } catch {
      // zlib's own words (`invalid distance code`) say less than the number of the block.
      return false;
    }
  }
}
