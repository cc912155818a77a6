import { promisify } from 'node:util';
import { constants, inflateRaw } from 'node:zlib';
import type { CsvSettings } from '../../core/settings.js';
import { DeflatePool } from './deflate-pool.js';

/**
 * How a part's blocks become an object's bytes. Blocks can be packed apart from one another, and an object may be
 * put together from blocks that were packed long ago: an unchanged block is moved as it is.
 */
export interface Framing {
  readonly extension: '.csv.gz' | '.csv';
  readonly contentType: 'application/gzip' | 'text/csv';
  /** First bytes of every object. */
  readonly head: Buffer;
  pack(raw: Buffer): Promise<Buffer>;
  unpack(packed: Buffer, rawBytes: number): Promise<Buffer>;
  /** Last bytes, from CRC-32 and length of everything that was packed. */
  tail(rawCrc32: number, rawBytes: number): Buffer;
}

/** For all parts that this process writes. */
const pool = new DeflatePool();
const inflate = promisify(inflateRaw) as (packed: Buffer, options: object) => Promise<Buffer>;

/**
 * One gzip member (RFC 1952) whose deflate stream is made of blocks that do not refer to one another and end on a
 * byte (RFC 1951, an empty stored block), as pigz writes it: any reader takes it for an ordinary file. No name, no
 * time and a fixed system byte, so that equal rows give equal bytes. zlib works on its own threads, off the event
 * loop.
 */
const gzip: Framing = {
  extension: '.csv.gz',
  contentType: 'application/gzip',
  head: Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]),
  pack: (raw) => pool.pack(raw),
  unpack: (packed, rawBytes) =>
    inflate(packed, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: Math.max(rawBytes, 1) }),
  tail(rawCrc32, rawBytes) {
    const tail = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    tail.writeUInt32LE(rawCrc32, 2);
    tail.writeUInt32LE(rawBytes % 2 ** 32, 6);
    return tail;
  },
};

const plain: Framing = {
  extension: '.csv',
  contentType: 'text/csv',
  head: Buffer.alloc(0),
  pack: async (raw) => raw,
  unpack: async (packed) => packed,
  tail: () => Buffer.alloc(0),
};

export function framingOf(csv: Pick<CsvSettings, 'compression'>): Framing {
  return csv.compression === 'gzip' ? gzip : plain;
}
