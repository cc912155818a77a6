import type { ByteString, ObjectKey } from '../../core/brands.js';
import { crc32 } from '../crc32.js';
import { DamagedError } from '../damaged-error.js';
import type { ObjectStore } from '../store/index.js';
import type { Framing } from './framing.js';
import type { Block } from './index-file.js';
import { type PackedBlocks, sliceBlocks } from './packed-blocks.js';

interface Batch {
  readonly from: number;
  readonly to: number;
  readonly packed: Promise<PackedBlocks>;
}

/**
 * Reads blocks of one part in order, a few at a time, with the next ones already on their way: many small requests
 * would cost more than the bytes.
 */
export class BlockReader {
  readonly #store: ObjectStore;
  readonly #key: ObjectKey;
  readonly #blocks: readonly Block[];
  readonly #framing: Framing;
  readonly #batchBytes: number;
  readonly #signal: AbortSignal | undefined;
  #current: Batch | null = null;
  #next: Batch | null = null;

  /** @param batchBytes how much is read at once; twice as much is held at most */
  constructor(
    store: ObjectStore,
    part: { readonly key: ObjectKey; readonly blocks: readonly Block[]; readonly framing: Framing },
    batchBytes: number,
    signal?: AbortSignal,
  ) {
    this.#store = store;
    this.#key = part.key;
    this.#blocks = part.blocks;
    this.#framing = part.framing;
    this.#batchBytes = batchBytes;
    this.#signal = signal;
  }

  /** Has the bytes of a block on their way before they are asked for, which must come next. */
  prefetch(at: number): void {
    if (this.#current === null) this.#next ??= this.#fetch(at);
  }

  /** Lets go of what was read, for nothing more will be asked for. */
  release(): void {
    this.#current = null;
    this.#next = null;
  }

  /** A block's bytes as they lie in the object. Blocks must be asked for in ascending order; some may be left out. */
  async packed(at: number): Promise<Buffer> {
    return (await this.packedBlocks(at, () => false)).bytes;
  }

  /** A block and those behind it for as long as they are wanted, and read in one piece. */
  async packedBlocks(at: number, isWanted: (block: Block) => boolean): Promise<PackedBlocks> {
    const { from, to, packed } = this.#batchOf(at);
    let end = at + 1;
    while (end < to && isWanted(this.#blocks[end]!)) end++;
    return sliceBlocks(await packed, at - from, end - from);
  }

  #batchOf(at: number): Batch {
    if (this.#current === null || at >= this.#current.to) {
      this.#current =
        this.#next !== null && at >= this.#next.from && at < this.#next.to ? this.#next : this.#fetch(at);
      this.#next = this.#current.to < this.#blocks.length ? this.#fetch(this.#current.to) : null;
    }
    return this.#current;
  }

  /** A block's rows. @throws Error when they are not those that the index speaks of */
  async rows(at: number): Promise<ByteString> {
    const block = this.#blocks[at]!;
    const packed = await this.packed(at);
    const raw = await this.#framing.unpack(packed, block.rawBytes).catch((cause: unknown) => {
      throw new DamagedError(`block ${at} of ${this.#key} is damaged: it cannot be unpacked`, { cause });
    });
    if (raw.length !== block.rawBytes || crc32(raw) !== block.rawCrc32) {
      throw new DamagedError(
        `block ${at} of ${this.#key} is damaged: its checksum is not the one in its index`,
      );
    }
    return raw.toString('latin1') as ByteString;
  }

  #fetch(from: number): Batch {
    const start = this.#blocks[from]!.offset;
    let to = from;
    let end = start;
    do {
      const block = this.#blocks[to]!;
      // Blocks are neighbours unless the caller left some out: a gap ends the batch.
      if (to > from && block.offset !== end) break;
      end = block.offset + block.bytes;
      to++;
    } while (to < this.#blocks.length && end - start < this.#batchBytes);
    const blocks = this.#blocks.slice(from, to);
    const packed = this.#read(start, end - start).then((bytes) => ({ blocks, bytes }));
    packed.catch(() => {});
    return { from, to, packed };
  }

  async #read(offset: number, length: number): Promise<Buffer> {
    const bytes = await this.#store.read(this.#key, { range: { offset, length }, signal: this.#signal });
    if (bytes.length !== length)
      throw new DamagedError(`${this.#key} is damaged: it is shorter than its index says`);
    return bytes;
  }
}
