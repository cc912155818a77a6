import type { ByteString, ObjectKey } from '../../core/brands.js';
import { type DamagedError, damagedObject } from '../damaged-error.js';
import type { Block } from '../documents/block-index.js';
import { crc32 } from '../store/crc32.js';
import type { ObjectStore } from '../store/index.js';
import { blockBytes, type Framing, type PackedBlocks, plainFraming, sliceBlocks } from './framing.js';

/** What makes a reader request blocks before they are needed. */
export type AheadReader = Pick<BlockReader, 'isAhead' | 'nextAhead' | 'requestAhead'>;

/** The most readers that are ahead. It hides the latency of the store without a second buffer for each reader. */
export const READ_AHEAD = 8;

/**
 * Reads ahead for readers whose rows are merged by key. The merge needs blocks in the order of their first keys, so the next
 * request is for the reader whose next block has the smallest one (forecasting: Knuth, The Art of Computer Programming, 5.4.6).
 */
export class ReadAhead {
  readonly #readers: AheadReader[] = [];

  add(reader: AheadReader): void {
    this.#readers.push(reader);
  }

  /** Makes requests until `READ_AHEAD` readers are ahead. Call it after a reader has taken what was requested ahead. */
  fill(): void {
    let ahead = this.#readers.filter((reader) => reader.isAhead).length;
    for (; ahead < READ_AHEAD; ahead++) {
      let next: AheadReader | null = null;
      let first: Block | null = null;
      for (const reader of this.#readers) {
        const block = reader.nextAhead;
        if (block === null || (first !== null && first.first <= block.first)) continue;
        next = reader;
        first = block;
      }
      if (next === null) return;
      next.requestAhead();
    }
  }
}

interface Batch {
  readonly from: number;
  readonly to: number;
  readonly packed: Promise<PackedBlocks>;
}

interface ReaderOptions {
  /** Bytes in one request. A request ends with the block that reaches them. Default: one block. */
  readonly batchBytes?: number;
  /** Bytes in the first request. Default: `batchBytes`. */
  readonly firstBytes?: number;
  /** Makes requests before they are needed, for all readers of a merge. Default: the reader reads nothing ahead. */
  readonly readAhead?: ReadAhead | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface ReadablePart {
  readonly key: ObjectKey;
  readonly blocks: readonly Block[];
  readonly framing: Framing;
}

/**
 * Reads blocks of one part in order, a few in each request: a request for each block would cost more than the transfer.
 * Holds at most two requests' blocks.
 */
export class BlockReader {
  readonly blocks: readonly Block[];
  #current: Batch | null = null;
  #next: Batch | null = null;
  /** Position of the first block that has not been requested. */
  #requested = 0;

  constructor(
    private readonly store: ObjectStore,
    private readonly part: ReadablePart,
    private readonly options: ReaderOptions = {},
  ) {
    this.blocks = part.blocks;
    options.readAhead?.add(this);
  }

  /** Whether blocks that were requested ahead have not been taken yet. */
  get isAhead(): boolean {
    return this.#next !== null;
  }

  /** The first block that has not been requested; `null` if there is none, or if the reader is ahead. */
  get nextAhead(): Block | null {
    return this.isAhead ? null : (this.blocks[this.#requested] ?? null);
  }

  requestAhead(): void {
    this.#next = this.#fetch(this.#requested);
  }

  /** Frees the buffers. No block may be read afterwards. */
  release(): void {
    this.#current = null;
    this.#next = null;
    this.#requested = this.blocks.length;
  }

  /** A block's bytes as stored in the object. Blocks must be read in ascending order; blocks can be skipped. */
  async packed(at: number): Promise<Buffer> {
    return (await this.packedBlocks(at, () => false)).bytes;
  }

  /**
   * Returns a block and the following blocks of the same request that `isWanted` accepts. Each block is checked against its
   * CRC-32 first, so damage is never copied into another part.
   *
   * @throws DamagedError if a block does not match the CRC-32 of its index after a second read
   */
  async packedBlocks(at: number, isWanted: (block: Block) => boolean): Promise<PackedBlocks> {
    const { from, to, packed } = this.#batchOf(at);
    let end = at + 1;
    while (end < to && isWanted(this.blocks[end]!)) end++;
    const taken = sliceBlocks(await packed, at - from, end - from);
    const wrong = firstDamaged(taken);
    if (wrong === -1) return taken;
    // Read again: the bytes may have been damaged in transit, and the object may be intact.
    const last = this.blocks[end - 1]!;
    const { offset } = this.blocks[at]!;
    const again = {
      ...taken,
      bytes: await this.#read(offset, last.offset + last.bytes - offset),
    };
    const stillDamaged = firstDamaged(again);
    if (stillDamaged === -1) return again;
    throw this.damagedBlock(at + stillDamaged, 'does not match the CRC32 of its index');
  }

  #batchOf(at: number): Batch {
    if (this.#current === null || at >= this.#current.to) {
      const next = this.#next;
      this.#next = null;
      this.#current = next !== null && at >= next.from && at < next.to ? next : this.#fetch(at);
      this.options.readAhead?.fill();
    }
    return this.#current;
  }

  /** Reads the rows of a block. @throws DamagedError if they do not match the block index */
  async rows(at: number): Promise<ByteString> {
    const block = this.blocks[at]!;
    const packed = await this.packed(at);
    const raw = await this.part.framing.unpack(packed, block.rawBytes).catch((cause: unknown) => {
      throw this.damagedBlock(at, 'cannot be decompressed', cause);
    });
    // Plain rows are stored unchanged, so `packedBlocks` has already checked this checksum.
    const isChecked = this.part.framing === plainFraming && block.crc32 === block.rawCrc32;
    if (raw.length !== block.rawBytes || !(isChecked || crc32(raw) === block.rawCrc32)) {
      throw this.damagedBlock(at, 'does not contain the rows of its index');
    }
    return raw.toString('latin1') as ByteString;
  }

  /** The error for a damaged block. A reader may have only some of the part's blocks, so it names the block's offset. */
  damagedBlock(at: number, problem: string, cause?: unknown): DamagedError {
    return damagedObject(this.part.key, `the block at byte ${this.blocks[at]!.offset} ${problem}`, cause);
  }

  #fetch(from: number): Batch {
    const { batchBytes = 1, firstBytes = batchBytes } = this.options;
    const wanted = from === 0 ? firstBytes : batchBytes;
    const start = this.blocks[from]!.offset;
    let to = from;
    let end = start;
    do {
      const block = this.blocks[to]!;
      // Blocks are adjacent unless the caller passed only some of them. A gap ends the batch.
      if (to > from && block.offset !== end) break;
      end = block.offset + block.bytes;
      to++;
    } while (to < this.blocks.length && end - start < wanted);
    this.#requested = to;
    const blocks = this.blocks.slice(from, to);
    const { framing } = this.part;
    const packed = this.#read(start, end - start).then((bytes) => ({ blocks, bytes, framing }));
    packed.catch(() => {});
    return { from, to, packed };
  }

  async #read(offset: number, length: number): Promise<Buffer> {
    const bytes = await this.store.read(this.part.key, {
      range: { offset, length },
      signal: this.options.signal,
    });
    if (bytes.length !== length) throw damagedObject(this.part.key, 'it is shorter than its index says');
    return bytes;
  }
}

/** Position of the first block whose bytes do not match its CRC-32; -1 for none. */
function firstDamaged(packed: PackedBlocks): number {
  return packed.blocks.findIndex(
    (block) => block.crc32 !== null && crc32(blockBytes(packed, block)) !== block.crc32,
  );
}
