import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { ObjectKey } from '../../core/brands.js';
import type { ObjectStore, WrittenObject } from '../../lake/store/index.js';

/** Bytes that are read from a file, or written to it, at a time. */
const FILE_BYTES = 1024 * 1024;
/** As many as files are fetched or stored at a time while tables are written. */
const KEPT = 2;
const kept: Buffer[] = [];

/**
 * Does something with a buffer of `FILE_BYTES`, which is used again afterwards. A new one for each file would make V8 collect garbage
 * earlier, which costs more than a file that is updated.
 */
async function withBlock<T>(work: (block: Buffer) => Promise<T>): Promise<T> {
  const block = kept.pop() ?? Buffer.allocUnsafeSlow(FILE_BYTES);
  try {
    return await work(block);
  } finally {
    if (kept.length < KEPT) kept.push(block);
  }
}

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
    await withBlock(async (block) => {
      for await (const piece of inBlocks(store.stream(key, { signal }), block)) {
        hash.update(piece);
        bytes += piece.length;
        await file.writeFile(piece);
      }
    });
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** The bytes of small chunks, copied into one buffer: a system call and a hash of each chunk cost more. */
async function* inBlocks(chunks: AsyncIterable<Uint8Array>, block: Buffer): AsyncGenerator<Buffer> {
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
    const file = await open(path);
    try {
      // The writer copies what it gets.
      await withBlock(async (block) => {
        for (;;) {
          const { bytesRead } = await file.read(block, 0, FILE_BYTES, null);
          if (bytesRead === 0) break;
          await writer.write(block.subarray(0, bytesRead));
        }
      });
    } finally {
      await file.close();
    }
    return await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
