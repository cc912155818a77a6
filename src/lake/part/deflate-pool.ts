import { constants, createDeflateRaw, type DeflateRaw } from 'node:zlib';

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
