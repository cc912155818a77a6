import type { ByteString, ObjectKey } from '../../core/brands.js';
import { crc32, crc32Combine } from '../crc32.js';
import { DamagedError } from '../damaged-error.js';
import { detached, type SortKey } from '../row.js';
import type { ObjectStore, ObjectWriter, WrittenObject } from '../store/index.js';
import type { Framing } from './framing.js';
import type { Block } from './index-file.js';
import { encodeIndex, indexKey } from './index-file.js';
import type { PackedBlocks } from './packed-blocks.js';

/** Rows are packed in blocks of about this many bytes: small enough to leave most of a part alone in a merge. */
export const BLOCK_BYTES = 64 * 1024;

/** What may wait to be packed or sent, in blocks. It bounds memory, and keeps zlib's threads busy. */
const IN_FLIGHT = 6;

/** A part as it lies in the store. */
export interface WrittenPart extends WrittenObject {
  readonly rows: number;
  /** Before compression, header included. */
  readonly rawBytes: number;
  /** `null` in a part that has a header only. */
  readonly first: SortKey | null;
  readonly last: SortKey | null;
}

export interface PartOptions {
  readonly framing: Framing;
  /** The header's text with its LF. */
  readonly header: ByteString;
  /** Data columns in the header. */
  readonly columns: number;
  /** The block index is for merging: a change log is never merged again. Default: `beside`. */
  readonly index?: 'beside' | 'none';
  readonly signal?: AbortSignal | undefined;
}

/** What a caller says of the rows it hands over: they are sorted, and behind all rows before them. */
export interface RowRun {
  /** Bytes must stay as they are until the part is finished. */
  readonly text: ByteString | Buffer;
  readonly rows: number;
  readonly first: SortKey;
  readonly last: SortKey;
}

type Pending =
  | {
      readonly kind: 'rows';
      readonly block: Omit<Block, 'offset' | 'bytes'>;
      readonly packed: Promise<Buffer>;
    }
  | { readonly kind: 'moved'; readonly taken: PackedBlocks };

/**
 * Writes one part and the index of its blocks. Keys must come in strictly ascending order: that is what makes them
 * unique, and it is checked here, where every row passes (DESIGN 3.11).
 */
export class PartWriter {
  readonly key: ObjectKey;
  readonly #store: ObjectStore;
  readonly #options: PartOptions;
  readonly #writer: ObjectWriter;
  readonly #blocks: Block[] = [];
  readonly #pending: Pending[] = [];
  #offset = 0;
  #rows = 0;
  #rawBytes = 0;
  #rawCrc32 = 0;
  #first: SortKey | null = null;
  #last: SortKey | null = null;

  constructor(store: ObjectStore, key: ObjectKey, options: PartOptions) {
    this.key = key;
    this.#store = store;
    this.#options = options;
    this.#writer = store.openWriter(key, {
      contentType: options.framing.contentType,
      signal: options.signal,
    });
  }

  /** Handed over so far, before compression, without the header. */
  get rawBytes(): number {
    return this.#rawBytes;
  }

  /** Packs and writes rows. Resolves when more may come. */
  async append(run: RowRun): Promise<void> {
    const raw = typeof run.text === 'string' ? Buffer.from(run.text, 'latin1') : run.text;
    const packed = this.#options.framing.pack(raw);
    // Awaited in order in #drain; until then a failure must not count as unhandled.
    packed.catch(() => {});
    const block = {
      // Slices would hold on to the page or block that they were cut from, for as long as the index is held.
      first: detached(run.first),
      last: detached(run.last),
      rows: run.rows,
      rawBytes: raw.length,
      rawCrc32: crc32(raw),
    };
    this.#admit(block);
    await this.#enqueue({ kind: 'rows', block, packed });
  }

  /** Takes blocks over from another part, packed as they are. */
  async take(taken: PackedBlocks): Promise<void> {
    for (const block of taken.blocks) this.#admit(block);
    await this.#enqueue({ kind: 'moved', taken });
  }

  #admit(block: Omit<Block, 'offset' | 'bytes'>): void {
    if (this.#last !== null && block.first <= this.#last) {
      throw new DamagedError(`rows out of order in ${this.key}: a key came twice or too late`);
    }
    this.#first ??= block.first;
    this.#last = block.last;
    this.#rows += block.rows;
    this.#rawBytes += block.rawBytes;
  }

  async #enqueue(pending: Pending): Promise<void> {
    this.#pending.push(pending);
    // Moved blocks are large, and wait for nobody but those before them.
    while (this.#pending.length >= IN_FLIGHT || this.#pending[0]?.kind === 'moved') await this.#drain();
  }

  async #drain(): Promise<void> {
    if (this.#offset === 0) await this.#writeHead();
    const pending = this.#pending.shift();
    if (pending?.kind === 'rows') {
      const body = await pending.packed;
      await this.#writer.write(body);
      this.#list({ ...pending.block, bytes: body.length });
    } else if (pending?.kind === 'moved') {
      await this.#writer.write(pending.taken.bytes);
      for (const block of pending.taken.blocks) this.#list(block);
    }
  }

  /** The next block in the object. */
  #list(block: Omit<Block, 'offset'>): void {
    this.#blocks.push({ ...block, offset: this.#offset });
    this.#offset += block.bytes;
    this.#rawCrc32 = crc32Combine(this.#rawCrc32, block.rawCrc32, block.rawBytes);
  }

  async #writeHead(): Promise<void> {
    const { framing, header } = this.#options;
    const raw = Buffer.from(header, 'latin1');
    const head = Buffer.concat([framing.head, await framing.pack(raw)]);
    await this.#writer.write(head);
    this.#offset = head.length;
    this.#rawCrc32 = crc32(raw);
  }

  /** Completes the object and writes its index beside it. */
  async finish(): Promise<WrittenPart> {
    const { framing, header } = this.#options;
    do await this.#drain();
    while (this.#pending.length > 0);
    const rawBytes = this.#rawBytes + header.length;
    await this.#writer.write(framing.tail(this.#rawCrc32, rawBytes));
    const [written] = await Promise.all([this.#writer.finish(), this.#writeIndex()]);
    return { ...written, rows: this.#rows, rawBytes, first: this.#first, last: this.#last };
  }

  async #writeIndex(): Promise<void> {
    const { columns, index, signal } = this.#options;
    if (index === 'none') return;
    const body = encodeIndex({ columns, blocks: this.#blocks });
    await this.#store.write(indexKey(this.key), body, { contentType: 'application/json', signal });
  }

  /** Leaves nothing behind. Never throws. */
  async abort(): Promise<void> {
    await Promise.allSettled(this.#pending.map((one) => (one.kind === 'rows' ? one.packed : null)));
    await this.#writer.abort();
  }
}
