import { promisify } from 'node:util';
import { constants, createDeflateRaw, type DeflateRaw, inflateRaw, inflateRawSync } from 'node:zlib';
import type { ObjectKey } from '../../core/brands.js';
import type { CsvSettings } from '../../core/settings.js';
import type { Block } from '../documents/block-index.js';

/** Level 5 output is within 2% of the size of zlib's default level and takes three quarters of its time. */
const LEVEL = 5;
/** Number of compressions at the same time: libuv has four threads by default. */
const CONCURRENCY = 4;
const OUTPUT_BYTES = 32 * 1024;
/** Size of zlib's window buffer: twice the maximum match distance of 32 KiB. */
const WINDOW_BYTES = 64 * 1024;
/** Upper bound for the bytes that a flush adds: five for an empty stored block, after at most nine of pending bits. */
const FLUSH_BYTES = 16;

interface Slot {
  context: DeflateRaw | null;
}

/**
 * Compresses pieces of data independently of one another, a few at a time. The output ends on a byte boundary (RFC 1951,
 * an empty stored block) and depends only on the input: equal content gives equal bytes (docs/explanation/guarantees.md#csv).
 *
 * Contexts are reused where the output cannot depend on earlier input. A new context allocates 256 KiB, which adds
 * pressure on the garbage collector.
 */
export class DeflatePool {
  readonly #idle: Slot[] = Array.from({ length: CONCURRENCY }, () => ({ context: null }));
  readonly #waiting: ((slot: Slot) => void)[] = [];

  async pack(raw: Buffer): Promise<Buffer> {
    const slot = this.#idle.pop() ?? (await new Promise<Slot>((resolve) => this.#waiting.push(resolve)));
    try {
      // If the input does not fill the window, bytes of the previous input remain after it and can change the chosen matches.
      return await (raw.length < WINDOW_BYTES ? packAlone(raw) : packIn(slot, raw));
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#idle.push(slot);
      else next(slot);
    }
  }
}

async function packIn(slot: Slot, raw: Buffer): Promise<Buffer> {
  const context = slot.context ?? create(OUTPUT_BYTES);
  slot.context = null;
  const pieces = await deflate(context, raw);
  context.reset();
  slot.context = context;
  // If the output exactly fills a buffer, Node calls zlib again, which adds a second empty block.
  const mayEndTwice = pieces.length > 1 && pieces.at(-1)!.length < FLUSH_BYTES;
  return mayEndTwice ? packAlone(raw) : joined(pieces);
}

/** Compresses in a new context whose buffer holds the whole output. */
async function packAlone(raw: Buffer): Promise<Buffer> {
  // A stored block adds five bytes (RFC 1951). zlib writes stored blocks of 16 KiB.
  const context = create(raw.length + 5 * Math.ceil(raw.length / 16_000) + 2 * FLUSH_BYTES);
  try {
    return joined(await deflate(context, raw));
  } finally {
    // Frees the native memory now. The garbage collector would do it much later.
    context.close();
  }
}

function create(outputBytes: number): DeflateRaw {
  // Each write is flushed in the same call of zlib: a separate flush is a second journey to zlib's threads and back.
  return createDeflateRaw({
    level: LEVEL,
    flush: constants.Z_SYNC_FLUSH,
    chunkSize: Math.max(outputBytes, constants.Z_MIN_CHUNK),
  });
}

function joined(pieces: readonly Buffer[]): Buffer {
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

function deflate(context: DeflateRaw, raw: Buffer): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const take = (piece: Buffer): void => void pieces.push(piece);
    const end = (done: () => void): void => {
      context.off('data', take).off('error', fail);
      done();
    };
    const fail = (error: Error): void => end(() => reject(error));
    context.on('data', take).on('error', fail);
    context.write(raw, (error) => {
      if (error == null) end(() => resolve(pieces));
    });
  });
}

/**
 * How a part's blocks are stored in an object. Each block is compressed independently, so a merge can copy unchanged
 * blocks of older parts in compressed form.
 */
export interface Framing {
  readonly extension: '.csv.gz' | '.csv';
  /** The first bytes of every object. */
  readonly head: Buffer;
  pack(raw: Buffer): Promise<Buffer>;
  unpack(packed: Buffer, rawBytes: number): Promise<Buffer>;
  /** The last bytes, computed from the CRC-32 and length of all uncompressed bytes. */
  tail(rawCrc32: number, rawBytes: number): Buffer;
}

/** One pool for all parts that this process writes. */
const pool = new DeflatePool();
const inflate = promisify(inflateRaw) as (packed: Buffer, options: object) => Promise<Buffer>;
/**
 * Blocks up to this size are decompressed on the event loop. That takes a tenth of a millisecond, a third of what it
 * costs to hand a block to zlib's threads and back.
 */
const INFLATED_AT_ONCE = 256 * 1024;

/**
 * One gzip member (RFC 1952). Its deflate stream consists of independent blocks that end on a byte boundary (RFC 1951, an
 * empty stored block), as pigz writes it, so any gzip reader can read it. The header has no name, no time and a fixed
 * system byte, so equal rows give equal bytes. zlib runs on its own threads, off the event loop.
 */
const gzip: Framing = {
  extension: '.csv.gz',
  head: Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]),
  pack: (raw) => pool.pack(raw),
  async unpack(packed, rawBytes) {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: Math.max(rawBytes, 1) };
    if (rawBytes > INFLATED_AT_ONCE) return inflate(packed, options);
    // One more byte than the output: zlib then sees the end of the input in the same call.
    return inflateRawSync(packed, { ...options, chunkSize: Math.max(rawBytes + 1, constants.Z_MIN_CHUNK) });
  },
  tail(rawCrc32, rawBytes) {
    const tail = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    tail.writeUInt32LE(rawCrc32, 2);
    tail.writeUInt32LE(rawBytes % 2 ** 32, 6);
    return tail;
  },
};

/** Rows as they are. */
export const plainFraming: Framing = {
  extension: '.csv',
  head: Buffer.alloc(0),
  pack: async (raw) => raw,
  unpack: async (packed) => packed,
  tail: () => Buffer.alloc(0),
};

export function framingOf(csv: Pick<CsvSettings, 'compression'>): Framing {
  return csv.compression === 'gzip' ? gzip : plainFraming;
}

/** The framing of a staged chunk. A chunk need not have the framing of the resource's parts, so its name tells. */
export function framingOfChunk(key: ObjectKey): Framing {
  return key.endsWith(gzip.extension) ? gzip : plainFraming;
}

/** One or more consecutive blocks of a part, as stored in the object. */
export interface PackedBlocks {
  readonly blocks: readonly Block[];
  /** Of each block. */
  readonly bytes: readonly Buffer[];
  readonly framing: Framing;
}

/** The blocks `from` up to, but not including, `to`. */
export function sliceBlocks(
  { blocks, bytes, framing }: PackedBlocks,
  from: number,
  to: number,
): PackedBlocks {
  return { blocks: blocks.slice(from, to), bytes: bytes.slice(from, to), framing };
}
