import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { InputError } from '../core/input-error.js';
import type { LakeSettings } from '../core/settings.js';
import { systemCause } from '../core/system-error.js';
import { openStore, toObjectKey } from '../lake/store/index.js';

/** An input that can be read several times. */
export interface InputSource {
  /** For messages, and to determine the format by its extension. */
  readonly name: string;
  open(): AsyncIterable<Uint8Array>;
  close(): void;
}

/**
 * Opens a file by its path, a `file://` URL, or an `s3://` URL. S3 uses the lake's endpoint and credentials.
 *
 * @throws InputError if it is not a readable file
 */
export async function openSource(location: string, lake: LakeSettings): Promise<InputSource> {
  if (location.startsWith('s3://')) return openObject(location, lake);
  const path = location.startsWith('file://') ? fileURLToPath(location) : location;
  const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === 'ENOENT' ? 'does not exist' : `cannot be read (${systemCause(cause)})`;
    throw new InputError(`${path} ${why}`, { remedy: 'Check the path.' });
  });
  if (!found.isFile()) throw new InputError(`${path} is not a file`);
  return {
    name: basename(path),
    open: () => createReadStream(path, { highWaterMark: 256 * 1024 }),
    close: () => {},
  };
}

function openObject(url: string, lake: LakeSettings): InputSource {
  const [, bucket, key] = /^s3:\/\/([^/]+)\/(.+)$/.exec(url) ?? [];
  if (bucket === undefined || key === undefined) {
    throw new InputError(`${url} is not the URL of an object`, { remedy: 'Use the form s3://bucket/key.' });
  }
  const object = toObjectKey(key);
  const store = openStore({ ...lake, url: `s3://${bucket}` });
  return { name: basename(key), open: () => store.stream(object), close: () => store.close() };
}

/**
 * Copies text to a temporary file that only this user can read, because an input is read more than once, and calls `work`
 * with its path. @throws the error of the stream
 */
export async function withTemporaryFile<T>(
  name: string,
  content: Readable,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-'));
  try {
    const path = join(folder, name);
    await pipeline(content, createWriteStream(path, { mode: 0o600 }));
    return await work(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
