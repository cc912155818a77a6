import { createGunzip, type Gunzip } from 'node:zlib';

/** Fed to zlib at once, in bytes: gzip expands up to a thousandfold, and all of it is held. */
const SLICE_BYTES = 16 * 1024;

/** Unpacks what is pushed: the caller keeps the packed bytes, whatever becomes of the unpacking. */
export interface Unpacker {
  /** @throws Error when the bytes are no gzip */
  push(chunk: Buffer): AsyncGenerator<Buffer>;
  /** @throws Error when the end is missing or its checksum wrong */
  end(): AsyncGenerator<Buffer>;
  /** Frees zlib's memory. */
  close(): void;
}

/** For objects that are not compressed. */
export const plainUnpacker: Unpacker = {
  async *push(chunk) {
    yield chunk;
  },
  async *end() {},
  close() {},
};

/** A whole gzip file, by zlib and not by the blocks that the connector writes it in: what any reader does. */
export function gunzipper(): Unpacker {
  const gunzip = createGunzip();
  let out: Buffer[] = [];
  gunzip.on('data', (piece: Buffer) => out.push(piece));
  const failed = new Promise<never>((_, reject) => gunzip.once('error', reject));
  failed.catch(() => {});
  // It may come before the last byte is pushed: zlib ignores what follows a whole file.
  const ended = new Promise<void>((resolve) => gunzip.once('end', resolve));
  function* taken(): Generator<Buffer> {
    const pieces = out;
    out = [];
    yield* pieces;
  }
  return {
    async *push(chunk) {
      for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
        await Promise.race([written(gunzip, chunk.subarray(at, at + SLICE_BYTES)), ended, failed]);
        yield* taken();
      }
    },
    async *end() {
      gunzip.end();
      await Promise.race([ended, failed]);
      yield* taken();
    },
    close: () => gunzip.destroy(),
  };
}

function written(gunzip: Gunzip, chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    gunzip.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
}
