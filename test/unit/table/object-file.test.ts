import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { type ObjectStore, openStore, toObjectKey } from '../../../src/lake/store/index.js';
import { fetchObject, uploadFile } from '../../../src/table/parquet/object-file.js';

const folder = mkdtempSync(join(tmpdir(), 'worktrack-object-file-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MiB = 1024 * 1024;
const { signal } = new AbortController();
const key = toObjectKey('tasks/_delta/part.parquet');
let files = 0;
const newPath = (): string => join(folder, `file-${files++}`);
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A store whose object arrives in chunks of these sizes, from one buffer that is used again. */
function inChunks(bytes: Buffer, sizes: readonly number[]): ObjectStore {
  const chunk = Buffer.alloc(Math.max(...sizes));
  return {
    async *stream() {
      for (let at = 0, n = 0; at < bytes.length; n++) {
        const piece = bytes.subarray(at, at + sizes[n % sizes.length]!);
        chunk.set(piece);
        yield chunk.subarray(0, piece.length);
        at += piece.length;
      }
    },
  } as Partial<ObjectStore> as ObjectStore;
}

it.each([
  { what: 'nothing', bytes: 0, sizes: [1] },
  { what: 'a byte', bytes: 1, sizes: [65_536] },
  { what: 'one byte less than a block', bytes: MiB - 1, sizes: [65_536, 3] },
  { what: 'a block', bytes: MiB, sizes: [65_536] },
  { what: 'a block and a byte, with a piece in each', bytes: MiB + 1, sizes: [MiB - 7, 100] },
  { what: 'chunks that are larger than a block', bytes: 5 * MiB + 11, sizes: [2 * MiB + 5, 17] },
])('fetches an object of $what', async ({ bytes: length, sizes }) => {
  const bytes = randomBytes(length);
  const path = newPath();
  const fetched = await fetchObject(inChunks(bytes, sizes), key, path, signal);
  expect(fetched).toEqual({ bytes: length, sha256: sha256Of(bytes) });
  expect(readFileSync(path).equals(bytes)).toBe(true);
});

it('fetches objects at the same time', async () => {
  const all = Array.from({ length: 5 }, (_, at) => randomBytes(2 * MiB + at));
  const fetched = all.map((bytes) => fetchObject(inChunks(bytes, [65_536]), key, newPath(), signal));
  const sums = (await Promise.all(fetched)).map(({ sha256 }) => sha256);
  expect(sums).toEqual(all.map(sha256Of));
});

it.each([0, 1, MiB - 1, MiB, 3 * MiB + 5])('stores a file of %i bytes as it is', async (length) => {
  const bytes = randomBytes(length);
  const path = newPath();
  writeFileSync(path, bytes);
  const store = openStore({ url: pathToFileURL(newPath()).href });
  const written = await uploadFile(store, path, key, signal);
  expect(written).toMatchObject({ key, bytes: length, sha256: sha256Of(bytes) });
  expect((await store.read(key)).equals(bytes)).toBe(true);
});
