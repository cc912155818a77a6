import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { ObjectKey } from '../../core/brands.js';
import type { ObjectStore, WrittenObject } from '../../lake/store/index.js';

/** Bytes that are read from a file, or written to it, at a time. */
const FILE_BYTES = 1024 * 1024;

/** Writes an object to a new private file. */
export async function fetchObject(
  store: ObjectStore,
  key: ObjectKey,
  path: string,
  signal: AbortSignal,
): Promise<Pick<WrittenObject, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const block of inBlocks(store.stream(key, { signal }))) {
      hash.update(block);
      bytes += block.length;
      await file.writeFile(block);
    }
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** The bytes of small chunks, copied into one buffer that is used again: a system call and a hash of each chunk cost more. */
async function* inBlocks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const block = Buffer.allocUnsafeSlow(FILE_BYTES);
  let filled = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + FILE_BYTES - filled);
      block.set(piece, filled);
      filled += piece.length;
      at += piece.length;
      if (filled < FILE_BYTES) continue;
      yield block;
      filled = 0;
    }
  }
  if (filled > 0) yield block.subarray(0, filled);
}

/** Writes a file of this machine as an object. */
export async function uploadFile(
  store: ObjectStore,
  path: string,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<WrittenObject> {
  const writer = store.openWriter(key, { signal });
  try {
    // One buffer for the whole file, which the writer copies: a stream would leave one per read to the garbage collector.
    const buffer = Buffer.allocUnsafeSlow(FILE_BYTES);
    const file = await open(path);
    try {
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, FILE_BYTES, null);
        if (bytesRead === 0) break;
        await writer.write(buffer.subarray(0, bytesRead));
      }
    } finally {
      await file.close();
    }
    return await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
