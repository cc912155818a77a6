import { promisify } from 'node:util';
import { constants, deflateRaw, inflateRaw, inflateRawSync } from 'node:zlib';
import type { ObjectKey } from '../../core/brands.js';
import type { CsvSettings } from '../../core/settings.js';
import type { Block } from '../documents/block-index.js';

const deflate = promisify(deflateRaw) as (raw: Buffer, options: object) => Promise<Buffer>;
const inflate = promisify(inflateRaw) as (packed: Buffer, options: object) => Promise<Buffer>;

/** Level 5 output is within 2% of the size of zlib's default level and takes three quarters of its time. */
const DEFLATE = { level: 5, finishFlush: constants.Z_SYNC_FLUSH };
/** Number of compressions at the same time: libuv has four threads by default. A waiting one would hold 256 KiB of zlib's. */
const CONCURRENCY = 4;

let compressing = 0;
const waiting: (() => void)[] = [];

/**
 * Compresses pieces of data independently of one another, a few at a time. The output ends on a byte boundary (RFC 1951,
 * an empty stored block) and depends only on the input: equal content gives equal bytes (docs/explanation/guarantees.md#csv).
 */
export async function pack(raw: Buffer): Promise<Buffer> {
  if (compressing < CONCURRENCY) compressing++;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await deflate(raw, DEFLATE);
  } finally {
    const next = waiting.shift();
    if (next === undefined) compressing--;
    else next();
  }
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
  pack,
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

/** One or more consecutive blocks of a part, with their bytes as stored in the object. */
export interface PackedBlocks {
  readonly blocks: readonly Block[];
  readonly bytes: Buffer;
  readonly framing: Framing;
}

/** The bytes of one of the blocks. */
export function blockBytes({ blocks, bytes }: PackedBlocks, block: Block): Buffer {
  const from = block.offset - blocks[0]!.offset;
  return bytes.subarray(from, from + block.bytes);
}

/** The blocks `from` up to, but not including, `to`. */
export function sliceBlocks(packed: PackedBlocks, from: number, to: number): PackedBlocks {
  const { blocks, bytes, framing } = packed;
  if (from === 0 && to === blocks.length) return packed;
  const origin = blocks[0]!.offset;
  const last = blocks[to - 1]!;
  return {
    blocks: blocks.slice(from, to),
    bytes: bytes.subarray(blocks[from]!.offset - origin, last.offset + last.bytes - origin),
    framing,
  };
}
