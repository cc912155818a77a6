import { constants, createDeflateRaw, type DeflateRaw } from 'node:zlib';

/** Level 5 packs within 2 % of zlib's default and takes three quarters of its time. */
const LEVEL = 5;
/** As many as zlib's threads: libuv has four unless it is told otherwise. */
const AT_ONCE = 4;
const OUTPUT_BYTES = 32 * 1024;
/** zlib's window, twice as large as matches reach back. */
const WINDOW_BYTES = 64 * 1024;
/** Where an empty stored block is certain to end: it takes five bytes behind at most nine of bits that were held back. */
const FLUSH_BYTES = 16;

interface Slot {
  context: DeflateRaw | null;
}

/**
 * Packs pieces of data, each for itself, a few at a time. The output ends on a byte (RFC 1951, an empty stored block) and
 * depends on the input alone: equal content gives equal bytes (DESIGN 3.10).
 *
 * Contexts are used again and again where that leaves no trace: making one costs a quarter of a megabyte each time, which
 * the garbage collector has to be told of.
 */
export class DeflatePool {
  readonly #idle: Slot[] = Array.from({ length: AT_ONCE }, () => ({ context: null }));
  readonly #waiting: ((slot: Slot) => void)[] = [];

  async pack(raw: Buffer): Promise<Buffer> {
    const slot = this.#idle.pop() ?? (await new Promise<Slot>((resolve) => this.#waiting.push(resolve)));
    try {
      // Behind the end of what does not fill the window lies what was packed before, and decides between equal matches.
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
  // Where the output fills a buffer to its end, zlib is asked to go on and ends with a second empty block.
  const mayEndTwice = pieces.length > 1 && pieces.at(-1)!.length < FLUSH_BYTES;
  return mayEndTwice ? packAlone(raw) : joined(pieces);
}

/** In a context of its own, with room for all of it. */
async function packAlone(raw: Buffer): Promise<Buffer> {
  // RFC 1951: stored blocks take five bytes for each 65,535, and zlib makes them of 16 KiB.
  const context = create(raw.length + 5 * Math.ceil(raw.length / 16_000) + 2 * FLUSH_BYTES);
  try {
    return joined(await deflate(context, raw));
  } finally {
    // Gives its memory back now; the garbage collector would see to it much later.
    context.close();
  }
}

function create(outputBytes: number): DeflateRaw {
  return createDeflateRaw({ level: LEVEL, chunkSize: Math.max(outputBytes, constants.Z_MIN_CHUNK) });
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
    context.write(raw);
    context.flush(constants.Z_SYNC_FLUSH, () => end(() => resolve(pieces)));
  });
}
