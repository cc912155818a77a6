import { promisify } from 'node:util';
import { constants, inflateRaw, inflateRawSync } from 'node:zlib';
import type { ObjectKey } from '../../core/brands.js';
import type { CsvSettings } from '../../core/settings.js';
import { DeflatePool } from './deflate-pool.js';

/**
 * How a part's blocks are stored in an object. Each block is compressed independently, so a merge can copy unchanged
 * blocks of older parts in compressed form.
 */
export interface Framing {
  readonly extension: '.csv.gz' | '.csv';
  readonly contentType: 'application/gzip' | 'text/csv';
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
  contentType: 'application/gzip',
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
  contentType: 'text/csv',
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
