import type { Framing } from '../part/framing.js';
import type { Block, PartIndex } from '../part/index-file.js';
import { crc32 } from '../store/crc32.js';
import type { Findings } from './findings.js';

/** The manifest values that a block index must match. */
interface IndexedPart {
  readonly bytes: number;
  readonly rows: number;
  /** Data columns of the header. */
  readonly columns: number;
}

/** The problem of a block index; `null` for none. Its blocks must be consecutive and cover the part. */
export function indexProblem({ columns, blocks }: PartIndex, part: IndexedPart): string | null {
  if (columns !== part.columns) return `it has ${columns} columns, but the manifest has ${part.columns}`;
  let end = blocks[0]?.offset ?? 0;
  let rows = 0;
  for (const [n, block] of blocks.entries()) {
    const numbers = [block.rows, block.offset, block.bytes, block.rawBytes];
    if (!numbers.every((number) => Number.isSafeInteger(number) && number > 0))
      return `block ${n} has an invalid size`;
    if (block.offset !== end) return `block ${n} does not begin where the previous block ends`;
    if (n > 0 && block.first <= blocks[n - 1]!.last)
      return `block ${n} does not begin after the last key of the previous block`;
    end += block.bytes;
    rows += block.rows;
  }
  if (end > part.bytes) return `its blocks extend past the part's ${part.bytes} bytes`;
  if (rows !== part.rows) return `it has ${rows} rows, but the manifest has ${part.rows}`;
  return null;
}

/**
 * Decompresses every block separately while the object is streamed, as a merge does, and checks it against the index. It
 * holds one compressed block in memory. The blocks must have passed `indexProblem`.
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
        this.#findings.add('block', `${this.#at}: block ${this.#block} does not match its index`);
      }
      this.#block++;
    }
  }

  async #isWhole(packed: Buffer, block: Block): Promise<boolean> {
    try {
      const raw = await this.#framing.unpack(packed, block.rawBytes);
      return raw.length === block.rawBytes && crc32(raw) === block.rawCrc32;
    } catch {
      // zlib's message (such as `invalid distance code`) is less useful than the number of the block.
      return false;
    }
  }
}
