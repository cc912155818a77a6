import type { IncomingMessage } from 'node:http';

/** How much of a body that is too large is still read and dropped, so that its sender can read the response. */
const DROPPED_BYTES = 4 * 1024 * 1024;
const DROPPED_MS = 2_000;

export type ReadBody =
  | { readonly body: Buffer }
  | { readonly failure: 'too-large' | 'full' | 'disconnected' };

/** Reads request bodies and limits the memory that all of them take together. */
export class BodyReader {
  #held = 0;
  readonly #maxHeldBytes: number;

  /** @param maxHeldBytes limit for all bodies together; above it, `read` returns `full` */
  constructor(maxHeldBytes: number) {
    this.#maxHeldBytes = maxHeldBytes;
  }

  /** Reads the raw body of at most `maxBytes` bytes. Never throws. */
  read(request: IncomingMessage, maxBytes: number): Promise<ReadBody> {
    const chunks: Buffer[] = [];
    let held = 0;
    let dropped = 0;
    let failure: 'too-large' | 'full' | null =
      Number(request.headers['content-length'] ?? 0) > maxBytes ? 'too-large' : null;
    return new Promise<ReadBody>((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const end = (result: ReadBody): void => {
        clearTimeout(timer);
        this.#held -= held;
        held = 0;
        request.off('data', onData);
        request.resume();
        resolve(result);
      };
      const drop = (found: 'too-large' | 'full'): void => {
        failure = found;
        chunks.length = 0;
        this.#held -= held;
        held = 0;
        timer ??= setTimeout(() => end({ failure: found }), DROPPED_MS);
      };
      const onData = (chunk: Buffer): void => {
        if (failure !== null) {
          dropped += chunk.length;
          if (dropped > DROPPED_BYTES) end({ failure });
          return;
        }
        held += chunk.length;
        this.#held += chunk.length;
        if (held > maxBytes) drop('too-large');
        else if (this.#held > this.#maxHeldBytes) drop('full');
        else chunks.push(chunk);
      };
      if (failure !== null) drop(failure);
      request.on('data', onData);
      request.once('end', () => end(failure === null ? { body: Buffer.concat(chunks) } : { failure }));
      request.once('error', () => end({ failure: 'disconnected' }));
      request.once('close', () => end({ failure: 'disconnected' }));
    });
  }
}
