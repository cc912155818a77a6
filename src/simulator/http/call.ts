import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Position } from '../data/row-storage.js';
import { Refusal } from './reply.js';

/** Base path of every endpoint (docs/service-api.md#requests). */
export const BASE_PATH = '/api/public/v2';

/** A request to the API: its request line and headers. */
export interface Call {
  readonly method: string;
  /** Path and query as received. */
  readonly target: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** First segment below the base path; '' for other paths. */
  readonly resource: string;
  /** Further segments, percent-decoded; null if they cannot be decoded. */
  readonly segments: readonly string[] | null;
  /** Decoded cursor; null without a cursor; `invalid` if this service did not issue it. */
  readonly cursor: CursorState | null | 'invalid';
}

/** Parses a request. Never throws. */
export function readCall(
  method: string,
  target: string,
  headers: IncomingHttpHeaders,
  codec: CursorCodec,
): Call {
  const [path = '', ...search] = target.split('?');
  const query = new URLSearchParams(search.join('?'));
  const below = path.startsWith(`${BASE_PATH}/`) ? path.slice(BASE_PATH.length + 1).split('/') : [];
  const resource = below[0] ?? '';
  return {
    method,
    target,
    path,
    query,
    headers,
    resource,
    segments: decodeAll(below.slice(1)),
    cursor: readCursor(query.get('cursor'), resource, codec),
  };
}

function decodeAll(segments: readonly string[]): string[] | null {
  try {
    return segments.map(decodeURIComponent);
  } catch {
    return null;
  }
}

function readCursor(text: string | null, resource: string, codec: CursorCodec): Call['cursor'] {
  if (text === null || text === '') return null;
  try {
    return codec.decode(text, resource);
  } catch {
    return 'invalid';
  }
}

export interface CursorState {
  /** The last record returned; null for the start of a list. */
  readonly after: Position | null;
  /** Number of records to skip after it (cursor style `offset`). */
  readonly skip: number;
  /** Number of the page that this cursor requests; the first page, which has no cursor, is 0. */
  readonly page: number;
  /** The chain of pages that this cursor belongs to; each request without a cursor starts a chain. */
  readonly chain: number;
  readonly resource: string;
}

/**
 * Encrypts cursors, with a checksum as the initialization vector, so that clients cannot read or forge an offset or an
 * id. The same state always gives the same cursor, even after a restart.
 */
export class CursorCodec {
  readonly #key: Buffer;

  constructor(seed: number) {
    this.#key = createHash('sha256').update(`worktrack simulator ${seed}`).digest();
  }

  encode(state: CursorState): string {
    const plain = Buffer.from(JSON.stringify(state));
    const check = this.#check(plain);
    const cipher = createCipheriv('aes-256-ctr', this.#key, check);
    return Buffer.concat([check, cipher.update(plain), cipher.final()]).toString('base64url');
  }

  /** Throws `Refusal` 400 if this service did not issue the cursor, or if it belongs to another resource. */
  decode(cursor: string, resource: string): CursorState {
    const bytes = Buffer.from(cursor, 'base64url');
    const check = bytes.subarray(0, 16);
    if (bytes.length <= 16) throw new Refusal(400, 'The cursor is not valid.');
    const decipher = createDecipheriv('aes-256-ctr', this.#key, check);
    const plain = Buffer.concat([decipher.update(bytes.subarray(16)), decipher.final()]);
    if (!this.#check(plain).equals(check)) throw new Refusal(400, 'The cursor is not valid.');
    const state = JSON.parse(plain.toString()) as CursorState;
    if (state.resource !== resource) throw new Refusal(400, `The cursor belongs to ${state.resource}.`);
    return state;
  }

  #check(plain: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(plain).digest().subarray(0, 16);
  }
}

/** The last two cursors of recent chains of pages, for faults that return an earlier cursor. */
export class CursorHistory {
  #cursors = new Map<number, string[]>();
  #chains = 0;

  startChain(): number {
    return ++this.#chains;
  }

  /** Records the cursor of a request and returns the previous cursor of the chain, if any. */
  record(chain: number, cursor: string): string | undefined {
    const cursors = this.#cursors.get(chain) ?? [];
    if (cursors.at(-1) !== cursor) cursors.push(cursor);
    if (cursors.length > 2) cursors.shift();
    this.#cursors.set(chain, cursors);
    if (this.#cursors.size > 1000) this.#cursors.delete(this.#cursors.keys().next().value as number);
    return cursors.length === 2 ? cursors[0] : undefined;
  }
}

/** The body, or null if it is larger than `maxBytes`. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  if (request.method === 'GET') return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
  }
  return bytes > maxBytes ? null : Buffer.concat(chunks);
}
