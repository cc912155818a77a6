import { hash } from 'node:crypto';
import type { ObjectKey } from '../core/brands.js';
import { damagedObject } from '../lake/damaged-error.js';

/**
 * Documents of a batch with a checksum. A damaged plan or log could send a row twice, or another row, so a document counts
 * only if it is byte for byte what was written.
 */

const HEAD = /^\{"sha256":"([0-9a-f]{64})","content":/;
const HEAD_BYTES = '{"sha256":"","content":'.length + 64;

/** Encodes a document as JSON with its checksum. */
export function encodeSealed(content: object): Buffer {
  const text = JSON.stringify(content);
  return Buffer.from(`{"sha256":"${hash('sha256', text)}","content":${text}}`);
}

/**
 * Decodes a document of `encodeSealed`.
 *
 * @throws DamagedError if any byte differs. The message names the object and quotes nothing.
 */
export function decodeSealed<T>(key: ObjectKey, body: Buffer): T {
  const [, expected] = HEAD.exec(body.toString('latin1', 0, HEAD_BYTES)) ?? [];
  const content = body.subarray(HEAD_BYTES, -1);
  if (expected === undefined || body.at(-1) !== 0x7d || hash('sha256', content) !== expected)
    throw damaged(key);
  return JSON.parse(content.toString('utf8')) as T;
}

/** The last line of a sealed list: the number of lines before it, and their SHA-256. */
export function sealLine(lines: Buffer, count: number): Buffer {
  return Buffer.from(`${JSON.stringify({ lines: count, sha256: hash('sha256', lines) })}\n`);
}

/**
 * The lines of a list that ends with `sealLine`.
 *
 * @param count the number of lines that the list must have
 * @throws DamagedError if any byte differs, or if it is another list
 */
export function readSealedLines(key: ObjectKey, body: Buffer, count: number): string[] {
  const end = body.lastIndexOf(0x0a, body.length - 2) + 1;
  const lines = body.subarray(0, end);
  if (!body.subarray(end).equals(sealLine(lines, count))) throw damaged(key);
  const texts = lines.toString('utf8').split('\n').slice(0, -1);
  if (texts.length !== count) throw damaged(key);
  return texts;
}

function damaged(key: ObjectKey): Error {
  return damagedObject(key, 'its content does not match its checksum');
}
