import { isAbsolute, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StoreError } from './errors/store-error.js';
import { keyProblem } from './key.js';

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
