import { isAbsolute, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LakeSettings } from '../../core/settings.js';
import { StoreError } from './errors.js';
import { fileStore } from './file/store.js';
import { keyProblem } from './key.js';
import type { ObjectStore, StoreLogger } from './port.js';
import { s3Store } from './s3/store.js';

interface OpenStoreOptions {
  /** Default: warnings are dropped. */
  readonly logger?: StoreLogger | undefined;
}

/**
 * Opens the store of a lake's URL: `s3://bucket/prefix` or `file:///absolute/folder`. It sends no request yet.
 * Throws a StoreError of kind `invalid-key` for any other URL.
 *
 * @example
 * const store = openStore(connection.lake);
 * try {
 *   const { manifest } = await readPublished(store, 'tasks');
 * } finally {
 *   store.close();
 * }
 */
export function openStore(lake: LakeSettings, options: OpenStoreOptions = {}): ObjectStore {
  const location = parseLocation(lake.url);
  return location.type === 's3'
    ? s3Store(lake, location, options.logger ?? { warn: () => {} })
    : fileStore(location.folder, lake.mode);
}

export type Location =
  | {
      readonly type: 's3';
      readonly bucket: string /** Empty or without slashes at its ends. */;
      readonly prefix: string;
    }
  | { readonly type: 'file'; readonly folder: string };

/**
 * Parses a lake's URL: `s3://bucket/prefix` (without URL decoding) or `file:///absolute/folder`.
 * Throws a StoreError of kind `invalid-key` for anything else.
 */
export function parseLocation(url: string): Location {
  const s3 = /^s3:\/\/([^/]+)(?:\/(.*))?$/s.exec(url);
  if (s3 !== null) {
    const bucket = s3[1] as string;
    const prefix = (s3[2] ?? '').replace(/\/$/, '');
    if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
      throw badUrl(url, 'the bucket name is not allowed');
    const problem = prefix === '' ? null : keyProblem(prefix);
    if (problem !== null) throw badUrl(url, `the prefix is not allowed: ${problem}`);
    return { type: 's3', bucket, prefix };
  }
  if (url.startsWith('file:///')) return { type: 'file', folder: toFolder(url) };
  throw badUrl(url, 'it does not begin with s3:// or file:///');
}

function toFolder(url: string): string {
  let folder: string;
  try {
    folder = fileURLToPath(url);
  } catch (cause) {
    throw badUrl(url, cause instanceof Error ? cause.message : 'it is not a file URL');
  }
  if (!isAbsolute(folder)) throw badUrl(url, 'the folder is not absolute');
  return normalize(folder).replace(/(.)\/$/, '$1');
}

function badUrl(url: string, problem: string): StoreError {
  return new StoreError({
    kind: 'invalid-key',
    operation: 'open',
    key: null,
    bucket: url,
    problem,
    remedy: 'Set lake.url to s3://bucket/prefix or file:///absolute/folder.',
  });
}
