import { hash } from 'node:crypto';
import type { ObjectKey } from '../core/brands.js';
import { WorktrackError } from '../core/errors.js';
import { VERSION } from '../core/version.js';
import { damagedObject } from '../lake/damaged-error.js';

/**
 * Documents of a batch with a checksum. A damaged plan or log could send a row twice, or another row, so a document counts
 * only if it is byte for byte what was written.
 */

const HEAD = /^\{"sha256":"([0-9a-f]{64})",/;
const HEAD_BYTES = '{"sha256":"",'.length + 64;

/** The layout of all documents of a batch: plan, logs, turns, `batch.json`. Another meaning of a field is another layout. */
export const BATCH_LAYOUT = 2;

/**
 * A build that does not know the layout of a document must not send a row, because it could read an outcome as another one. A
 * worker of another build may know it, so the failure can be retried.
 */
export class BatchLayoutError extends WorktrackError {
  readonly code = 'LAKE_LAYOUT';

  override get retryable(): boolean {
    return true;
  }
}

interface Sealed {
  readonly layout: number;
  /** The version of the package that wrote the document. */
  readonly build: string;
  readonly content: unknown;
}

/** Encodes a document as JSON with its layout, its build and a checksum. */
export function encodeSealed(content: object, layout = BATCH_LAYOUT, build = VERSION): Buffer {
  const text = JSON.stringify({ layout, build, content } satisfies Sealed).slice(1);
  return Buffer.from(`{"sha256":"${hash('sha256', text)}",${text}`);
}

/**
 * Decodes a document of `encodeSealed`.
 *
 * @throws DamagedError if any byte differs. The message names the object and quotes nothing; BatchLayoutError
 */
export function decodeSealed<T>(key: ObjectKey, body: Buffer): T {
  const [, expected] = HEAD.exec(body.toString('latin1', 0, HEAD_BYTES)) ?? [];
  const rest = body.subarray(HEAD_BYTES);
  if (expected === undefined || hash('sha256', rest) !== expected) throw damaged(key);
  const { layout, build, content } = JSON.parse(`{${rest.toString('utf8')}`) as Sealed;
  if (layout === BATCH_LAYOUT) return content as T;
  throw new BatchLayoutError(
    `${key} has layout ${layout} of a batch, written by worktrack ${build}, and this build (${VERSION}) reads layout ${BATCH_LAYOUT}. It sends nothing`,
    { remedy: `Run workers of one build: worktrack ${build}, or the one that the batch began with.` },
  );
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
