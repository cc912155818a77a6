import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto';
import type { Position } from '../data/order-index.js';
import { Refusal } from './reply.js';

/** The content of a cursor. */
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
    const { after, skip, page, chain, resource } = state;
    const plain = Buffer.from(
      JSON.stringify([after?.key ?? null, after?.id ?? '', skip, page, chain, resource]),
    );
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
    const [key, id, skip, page, chain, owner] = JSON.parse(plain.toString()) as [
      number | null,
      string,
      number,
      number,
      number,
      string,
    ];
    if (owner !== resource) throw new Refusal(400, `The cursor belongs to ${owner}.`);
    return { after: key === null ? null : { key, id }, skip, page, chain, resource };
  }

  #check(plain: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(plain).digest().subarray(0, 16);
  }
}
