import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LakeSettings } from '../core/settings.js';
import { openStore, toObjectKey } from '../lake/store/index.js';
import { InputError } from './input-error.js';

/** An input that can be read more than once. */
export interface InputSource {
  /** For messages, and for the format that its extension tells. */
  readonly name: string;
  open(): AsyncIterable<Uint8Array>;
  close(): void;
}

/**
 * Opens a file by its path, a `file://` URL, or an `s3://` URL; S3 is reached the way the lake is.
 *
 * @throws InputError when it is no file that can be read
 */
export async function openSource(place: string, lake: LakeSettings): Promise<InputSource> {
  if (place.startsWith('s3://')) return openObject(place, lake);
  const path = place.startsWith('file://') ? fileURLToPath(place) : place;
  const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    throw new InputError(`${path} cannot be read (${cause.code ?? cause.message})`, null, 'Check the path.');
  });
  if (!found.isFile()) throw new InputError(`${path} is no file`);
  return {
    name: basename(path),
    open: () => createReadStream(path, { highWaterMark: 256 * 1024 }),
    close: () => {},
  };
}

function openObject(url: string, lake: LakeSettings): InputSource {
  const [, bucket, key] = /^s3:\/\/([^/]+)\/(.+)$/.exec(url) ?? [];
  if (bucket === undefined || key === undefined) {
    throw new InputError(`${url} names no object`, null, 'Give it as s3://bucket/key.');
  }
  const object = toObjectKey(key);
  const store = openStore({ ...lake, url: `s3://${bucket}` });
  return { name: basename(key), open: () => store.stream(object), close: () => store.close() };
}
