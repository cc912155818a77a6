import { type ByteString, fromByteString } from '../core/brands.js';
import { readRow } from './csv.js';
import { DamagedError } from './damaged-error.js';
import type { Manifest, PublishedPart } from './manifest.js';
import type { ObjectStore } from './store/index.js';
import { gunzipper, plainUnpacker } from './verify/gunzip.js';
import { RowSplitter } from './verify/row-splitter.js';

/**
 * The rows of a published tree in the order of their keys, each as it lies in the lake, with its LF; headers are left
 * out. Parts are streamed: who stops asking has read little more than what was asked for. Nothing is verified.
 *
 * @throws DamagedError when a part cannot be unpacked; StoreError when it cannot be read
 */
export async function* rowTexts(store: ObjectStore, manifest: Manifest): AsyncGenerator<ByteString> {
  for (const part of manifest.parts) {
    let isHeader = true;
    for await (const row of partRows(store, part, manifest)) {
      if (!isHeader) yield row;
      isHeader = false;
    }
  }
}

/**
 * As `rowTexts`, taken apart: cells in the order of the header, `null` where the field is empty and unquoted
 * (DESIGN 3.8).
 */
export async function* readRows(store: ObjectStore, manifest: Manifest): AsyncGenerator<(string | null)[]> {
  for await (const row of rowTexts(store, manifest)) {
    yield readRow(row, manifest.csv.delimiter).map((cell) => (cell === null ? null : fromByteString(cell)));
  }
}

async function* partRows(
  store: ObjectStore,
  { key }: PublishedPart,
  { csv }: Manifest,
): AsyncGenerator<ByteString> {
  const unpacker = csv.compression === 'gzip' ? gunzipper() : plainUnpacker;
  const splitter = new RowSplitter();
  try {
    for await (const chunk of store.stream(key)) {
      for await (const piece of readable(key, unpacker.push(chunk))) {
        yield* splitter.push(piece.toString('latin1'));
      }
    }
    for await (const piece of readable(key, unpacker.end())) yield* splitter.push(piece.toString('latin1'));
    if (splitter.rest() !== '') throw new DamagedError(`${key} ends within a row`);
  } finally {
    unpacker.close();
  }
}

async function* readable(key: string, pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* pieces;
  } catch (cause) {
    throw new DamagedError(
      `${key} is no whole gzip file: ${(cause as Error).message}; \`worktrack verify\` says what else is wrong`,
      { cause },
    );
  }
}
