import type { IncomingMessage } from 'node:http';

/** So much more of a body that is too large is read and dropped, so that its sender gets to read the answer. */
const DROPPED_BYTES = 4 * 1024 * 1024;
const DROPPED_MS = 2_000;

export type ReadBody = { readonly body: Buffer } | { readonly trouble: 'too-large' | 'full' | 'gone' };

/** Bytes of bodies that are being read, over all requests of one receiver. */
export class BodyReader {
  #held = 0;
  readonly #mostHeld: number;

  /** @param mostHeld bytes; beyond that further requests are told that it is full */
  constructor(mostHeld: number) {
    this.#mostHeld = mostHeld;
  }

  /** Reads a body of at most `most` bytes, as it came over the wire. Never throws. */
  read(request: IncomingMessage, most: number): Promise<ReadBody> {
    const chunks: Buffer[] = [];
    let held = 0;
    let dropped = 0;
    let trouble: 'too-large' | 'full' | null =
      Number(request.headers['content-length'] ?? 0) > most ? 'too-large' : null;
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
        trouble = found;
        chunks.length = 0;
        this.#held -= held;
        held = 0;
        timer ??= setTimeout(() => end({ trouble: found }), DROPPED_MS);
      };
      const onData = (chunk: Buffer): void => {
        if (trouble !== null) {
          dropped += chunk.length;
          if (dropped > DROPPED_BYTES) end({ trouble });
          return;
        }
        held += chunk.length;
        this.#held += chunk.length;
        if (held > most) drop('too-large');
        else if (this.#held > this.#mostHeld) drop('full');
        else chunks.push(chunk);
      };
      if (trouble !== null) drop(trouble);
      request.on('data', onData);
      request.once('end', () => end(trouble === null ? { body: Buffer.concat(chunks) } : { trouble }));
      request.once('error', () => end({ trouble: 'gone' }));
      request.once('close', () => end({ trouble: 'gone' }));
    });
  }
}
