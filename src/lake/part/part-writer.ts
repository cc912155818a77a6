import type { ByteString, ObjectKey } from '../../core/brands.js';
import { BufferPool } from '../../core/buffer-pool.js';
import { fairness } from '../../core/fairness.js';
import { allDone } from '../../core/in-parallel.js';
import { DamagedError } from '../damaged-error.js';
import { type Block, encodeIndex, indexKey } from '../documents/block-index.js';
import type { PublishedPart } from '../documents/manifest.js';
import { detached, type SortKey } from '../rows/row.js';
import { checkBlock } from '../size-limits.js';
import { crc32, crc32Combine } from '../store/crc32.js';
import type { ObjectStore, ObjectWriter, WrittenObject } from '../store/index.js';
import { type Framing, type PackedBlocks, plainFraming } from './framing.js';

/** Target size of a block before compression. It is small, so that a merge can copy most blocks of a part unchanged. */
export const BLOCK_BYTES = 64 * 1024;

/** The most blocks that wait for compression or upload. It bounds memory and keeps zlib's threads busy. */
const IN_FLIGHT = 6;

export interface PartOptions {
  readonly framing: Framing;
  /** The header row, with its LF. */
  readonly header: ByteString;
  /** Number of data columns in the header. */
  readonly columns: number;
  /** Whether to write a block index next to the part. Merges need it; change logs do not. Default: `beside`. */
  readonly index?: 'beside' | 'none';
  readonly signal?: AbortSignal | undefined;
  /** Bytes of all rows before compression, if they are known. */
  readonly rowBytes?: number | undefined;
}

/** Text that is not in one piece yet. */
interface ScatteredText {
  readonly bytes: number;
  /** Writes the text to the beginning of the buffer. */
  fill(into: Buffer): void;
}

/** Sorted rows whose keys are greater than all keys before them. */
export interface RowRun {
  /** A buffer must not be changed until the part is finished. */
  readonly text: ByteString | Buffer | ScatteredText;
  readonly rows: number;
  readonly first: SortKey;
  readonly last: SortKey;
}

/** A block that is not compressed yet. */
type NewBlock = Omit<Block, 'offset' | 'bytes' | 'crc32'>;

/** A block that is being compressed. */
interface Pending {
  readonly block: NewBlock;
  readonly raw: Buffer;
  readonly packed: Promise<Buffer>;
}

/**
 * Writes one part and its block index. Keys must be in strictly ascending order, which makes them unique. The order is
 * checked here for every block (docs/explanation/guarantees.md#verification).
 */
export class PartWriter {
  readonly #writer: ObjectWriter;
  readonly #blocks: Block[] = [];
  readonly #pending: Pending[] = [];
  #offset = 0;
  #rows = 0;
  #rawBytes = 0;
  #rawCrc32 = 0;
  #lineBreaks = 0;
  #first: SortKey | null = null;
  #last: SortKey | null = null;

  constructor(
    private readonly store: ObjectStore,
    readonly key: ObjectKey,
    private readonly options: PartOptions,
  ) {
    const { framing, header, rowBytes, signal } = options;
    const bytes = framing === plainFraming && rowBytes !== undefined ? header.length + rowBytes : undefined;
    this.#writer = store.openWriter(key, { signal, bytes });
  }

  /** Bytes received so far, before compression, without the header. */
  get rawBytes(): number {
    return this.#rawBytes;
  }

  /** Compresses and writes rows. Resolves when the writer accepts more. */
  async append(run: RowRun): Promise<void> {
    const raw = inOnePiece(run.text);
    checkBlock('write', this.key, raw.length);
    const block = {
      // A slice would keep its page or block in memory for as long as the index exists.
      first: detached(run.first),
      last: detached(run.last),
      rows: run.rows,
      rawBytes: raw.length,
      rawCrc32: crc32(raw),
      lineBreaks: countLineBreaks(raw) - run.rows,
    };
    await this.#pack(raw, block);
  }

  /** Copies blocks of another part: in compressed form if both have the same framing. Their bytes are not used after it. */
  async take(taken: PackedBlocks): Promise<void> {
    const { framing } = this.options;
    if (taken.framing.extension === framing.extension) {
      for (const block of taken.blocks) this.#track(block);
      await fairness.giveWay();
      await this.#drainAll();
      for (const [at, block] of taken.blocks.entries()) {
        // The checksum was compared when the block was read.
        await this.#writer.write(taken.bytes[at]!, block.crc32);
        this.#addBlock(block);
      }
      return;
    }
    for (const [at, block] of taken.blocks.entries()) {
      const packed = taken.bytes[at]!;
      const raw = await taken.framing.unpack(packed, block.rawBytes);
      if (crc32(raw) !== block.rawCrc32)
        throw new DamagedError(
          `rows that are copied to ${this.key} do not match the CRC32 of their block index`,
        );
      await this.#pack(raw === packed ? copyOf(raw) : raw, block);
    }
  }

  async #pack(raw: Buffer, block: NewBlock): Promise<void> {
    const packed = this.options.framing.pack(raw);
    // #drain awaits the result in order. Until then, a failure must not count as unhandled.
    packed.catch(() => {});
    this.#track(block);
    this.#pending.push({ block, raw, packed });
    await fairness.giveWay();
    while (this.#pending.length >= IN_FLIGHT) await this.#drain();
  }

  #track(block: NewBlock): void {
    if (this.#last !== null && block.first <= this.#last) {
      throw new DamagedError(
        `rows of ${this.key} are out of order: a key is repeated or less than the key before it`,
      );
    }
    this.#first ??= block.first;
    this.#last = block.last;
    this.#rows += block.rows;
    this.#rawBytes += block.rawBytes;
    this.#lineBreaks += block.lineBreaks;
  }

  async #drain(): Promise<void> {
    if (this.#offset === 0) await this.#writeHead();
    const pending = this.#pending.shift();
    if (pending === undefined) return;
    const { block, raw, packed } = pending;
    const body = await packed;
    const crc = this.options.framing === plainFraming ? block.rawCrc32 : crc32(body);
    await this.#writer.write(body, crc);
    pool.giveBack(raw);
    this.#addBlock({ ...block, bytes: body.length, crc32: crc });
  }

  async #drainAll(): Promise<void> {
    do await this.#drain();
    while (this.#pending.length > 0);
  }

  /** Adds the block at the current offset to the index. */
  #addBlock(block: Omit<Block, 'offset'>): void {
    this.#blocks.push({ ...block, offset: this.#offset });
    this.#offset += block.bytes;
    this.#rawCrc32 = crc32Combine(this.#rawCrc32, block.rawCrc32, block.rawBytes);
  }

  async #writeHead(): Promise<void> {
    const { framing, header } = this.options;
    const raw = Buffer.from(header, 'latin1');
    const head = Buffer.concat([framing.head, await framing.pack(raw)]);
    await this.#writer.write(head);
    this.#offset = head.length;
    this.#rawCrc32 = crc32(raw);
  }

  /** Completes the object and writes its block index. */
  async finish(): Promise<PublishedPart> {
    const { framing, header } = this.options;
    await this.#drainAll();
    const rawBytes = this.#rawBytes + header.length;
    const lineBreaks = this.#lineBreaks + countLineBreaks(Buffer.from(header, 'latin1')) - 1;
    await this.#writer.write(framing.tail(this.#rawCrc32, rawBytes));
    // Waits for both even if one fails, because a failed attempt must not keep writing.
    const [written, index] = await allDone([this.#writer.finish(), this.#writeIndex()]);
    const { key, bytes, crc32: crc, sha256 } = written;
    return {
      ...{ key, bytes, rawBytes, rows: this.#rows, crc32: crc, sha256 },
      ...{ first: this.#first, last: this.#last, lineBreaks },
      ...(index === null ? {} : { indexCrc32: index.crc32 }),
    };
  }

  async #writeIndex(): Promise<WrittenObject | null> {
    const { columns, index, signal } = this.options;
    if (index === 'none') return null;
    const body = encodeIndex({ columns, blocks: this.#blocks });
    return this.store.write(indexKey(this.key), body, { signal });
  }

  /** Discards the part. After a failed `finish`, its index may stay in the store. Never throws. */
  async abort(): Promise<void> {
    await Promise.allSettled(this.#pending.map(({ packed }) => packed));
    await this.#writer.abort();
  }
}

/** The text as bytes. Those of a string or of scattered text are in a buffer of the pool. */
function inOnePiece(text: RowRun['text']): Buffer {
  if (Buffer.isBuffer(text)) return text;
  const raw = pool.take(typeof text === 'string' ? text.length : text.bytes);
  if (typeof text === 'string') raw.write(text, 'latin1');
  else text.fill(raw);
  return raw;
}

function copyOf(bytes: Buffer): Buffer {
  const copy = pool.take(bytes.length);
  bytes.copy(copy);
  return copy;
}

/** For blocks that are being written. */
const pool = new BufferPool({ least: BLOCK_BYTES, most: 4 * BLOCK_BYTES, count: 8 });

const LF = 0x0a;
const CR = 0x0d;

/** Number of line breaks (LF, CR or CRLF) in a text, as UTF-8. */
export function countLineBreaks(text: Buffer): number {
  let count = 0;
  for (let at = text.indexOf(LF); at !== -1; at = text.indexOf(LF, at + 1)) count++;
  for (let at = text.indexOf(CR); at !== -1; at = text.indexOf(CR, at + 1)) if (text[at + 1] !== LF) count++;
  return count;
}
