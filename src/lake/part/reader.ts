import type { ByteString, ObjectKey } from '../../core/brands.js';
import { BufferPool } from '../../core/buffer-pool.js';
import { type DamagedError, damagedObject } from '../damaged-error.js';
import type { Block } from '../documents/block-index.js';
import { crc32 } from '../store/crc32.js';
import type { ObjectStore } from '../store/index.js';
import { BlockRows } from './block-rows.js';
import { type Framing, type PackedBlocks, plainFraming } from './framing.js';

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

/** The blocks of one request. */
interface Batch {
  readonly from: number;
  readonly to: number;
  /** Their bytes, without those that were taken. */
  readonly packed: Promise<(Buffer | null)[]>;
}

/**
 * For blocks that were read. Each has its own buffer, which is used for another one when its rows were read: with one buffer for a whole
 * request, a merge of many chunks would have twice as much in memory.
 */
const pool = new BufferPool({ least: 8 * 1024, most: 256 * 1024, count: 64 });

/** Frees the bytes of blocks, which nothing may use any more. */
export function releaseBlocks({ bytes }: PackedBlocks): void {
  for (const one of bytes) pool.giveBack(one);
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
    leave(this.#current);
    leave(this.#next);
    this.#current = null;
    this.#next = null;
    this.#requested = this.blocks.length;
  }

  /**
   * Returns a block and the following blocks of the same request that `isWanted` accepts, as stored in the object. Blocks must be taken in
   * ascending order, each once; blocks can be skipped. Each block is checked against its CRC-32 first, so damage is never copied into
   * another part. The caller can release them.
   *
   * @throws DamagedError if a block does not match the CRC-32 of its index after a second read
   */
  async packedBlocks(at: number, isWanted: (block: Block) => boolean): Promise<PackedBlocks> {
    const { from, to, packed } = this.#batchOf(at);
    let end = at + 1;
    while (end < to && isWanted(this.blocks[end]!)) end++;
    const all = await packed;
    const bytes = all.slice(at - from, end - from) as Buffer[];
    all.fill(null, at - from, end - from);
    for (const [index, one] of bytes.entries())
      if (isDamaged(this.blocks[at + index]!, one)) bytes[index] = await this.#readAgain(at + index);
    return { blocks: this.blocks.slice(at, end), bytes, framing: this.part.framing };
  }

  /** The bytes may have been damaged in transit, and the object may be intact. */
  async #readAgain(at: number): Promise<Buffer> {
    const [bytes] = await this.#read([this.blocks[at]!]);
    if (!isDamaged(this.blocks[at]!, bytes!)) return bytes!;
    throw this.damagedBlock(at, 'does not match the CRC32 of its index');
  }

  #batchOf(at: number): Batch {
    if (this.#current === null || at >= this.#current.to) {
      const next = this.#next;
      this.#next = null;
      leave(this.#current);
      const isNext = next !== null && at >= next.from && at < next.to;
      if (!isNext) leave(next);
      this.#current = isNext ? next : this.#fetch(at);
      this.options.readAhead?.fill();
    }
    return this.#current;
  }

  /** Reads the rows of a block. @throws DamagedError if they do not match the block index */
  async rows(at: number): Promise<ByteString> {
    const raw = await this.#unpacked(at);
    const rows = raw.toString('latin1') as ByteString;
    pool.giveBack(raw);
    return rows;
  }

  /** As `rows`, but only a few of them are in memory as text. The caller can release them. */
  async openRows(at: number): Promise<BlockRows> {
    const raw = await this.#unpacked(at);
    return new BlockRows(raw, () => pool.giveBack(raw));
  }

  /** The rows of a block as bytes. */
  async #unpacked(at: number): Promise<Buffer> {
    const block = this.blocks[at]!;
    const taken = await this.packedBlocks(at, () => false);
    const packed = taken.bytes[0]!;
    const raw = await this.part.framing.unpack(packed, block.rawBytes).catch((cause: unknown) => {
      throw this.damagedBlock(at, 'cannot be decompressed', cause);
    });
    // Plain rows are stored unchanged, so `packedBlocks` has already checked this checksum.
    const isChecked = this.part.framing === plainFraming && block.crc32 === block.rawCrc32;
    if (raw.length !== block.rawBytes || !(isChecked || crc32(raw) === block.rawCrc32)) {
      throw this.damagedBlock(at, 'does not contain the rows of its index');
    }
    if (raw !== packed) releaseBlocks(taken);
    return raw;
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
    const packed: Batch['packed'] = this.#read(this.blocks.slice(from, to));
    packed.catch(() => {});
    return { from, to, packed };
  }

  /** Reads adjacent blocks with one request. */
  async #read(blocks: readonly Block[]): Promise<Buffer[]> {
    const { key } = this.part;
    const [first, last] = [blocks[0]!, blocks.at(-1)!];
    const range = { offset: first.offset, length: last.offset + last.bytes - first.offset };
    const read = blocks.map(({ bytes }) => pool.take(bytes));
    let missing = range.length;
    let [block, at] = [0, 0];
    for await (const chunk of this.store.stream(key, { range, signal: this.options.signal })) {
      missing -= chunk.length;
      for (let from = 0; from < chunk.length && block < read.length; ) {
        const copied = chunk.copy(read[block]!, at, from);
        from += copied;
        at += copied;
        if (at === read[block]!.length) [block, at] = [block + 1, 0];
      }
    }
    if (missing !== 0) throw damagedObject(key, 'it is shorter than its index says');
    return read;
  }
}

function isDamaged({ crc32: expected }: Block, bytes: Buffer): boolean {
  return expected !== null && crc32(bytes) !== expected;
}

/** Frees what is left of a request's blocks when it has ended. */
function leave(batch: Batch | null): void {
  batch?.packed.then(
    (packed) => {
      for (const bytes of packed) if (bytes !== null) pool.giveBack(bytes);
    },
    () => {},
  );
}
