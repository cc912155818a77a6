import { hash } from 'node:crypto';
import type { KeyForm } from '../core/settings.js';
import type { Field } from './fields.js';

/** UUID namespace of all idempotency keys of this package (RFC 9562 5.5). */
const NAMESPACE = Buffer.from('7d2f0a5c1c0d4b6e9a3b5e8f4c6d2a19', 'hex');

/** UUIDv5 of a name in this package's namespace (RFC 9562 5.5). */
export function uuidV5(name: string): string {
  return uuidOf(nameHash(name), 5);
}

/** SHA-1 of a name in this package's namespace. */
function nameHash(name: string): Buffer {
  return hash('sha1', Buffer.concat([NAMESPACE, Buffer.from(name, 'utf8')]), 'buffer');
}

/** A UUID with the bits of a version. Services that check the version do not check how its other bits were chosen. */
function uuidOf(digest: Buffer, version: 4 | 5): string {
  digest[6] = (digest[6]! & 0x0f) | (version << 4);
  digest[8] = (digest[8]! & 0x3f) | 0x80;
  const hex = digest.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/**
 * The idempotency key of a row. It is the same for the same row of the same batch.
 *
 * @param more what else the key depends on: the number of a new key, for example
 */
export function idempotencyKey(
  connection: string,
  batchId: string,
  rowKey: string,
  form: KeyForm = 'uuid-v5',
  more: readonly (string | number)[] = [],
): string {
  const digest = nameHash(JSON.stringify([connection, batchId, rowKey, ...more]));
  if (form === 'hex') return digest.toString('hex', 0, 16);
  return uuidOf(digest, form === 'uuid-v4' ? 4 : 5);
}

/** SHA-256 of a row's content, independent of the order of its fields: 32 bytes. */
export function contentHash(fields: readonly Field[]): Buffer {
  const sorted = [...fields].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const text = sorted.map(({ name, json }) => `${name.length}:${name}${json.length}:${json}`).join('');
  return hash('sha256', Buffer.from(text, 'latin1'), 'buffer');
}

/** SHA-256 of the values of a key: 32 bytes. */
export function keyPartsHash(parts: readonly string[]): Buffer {
  return textHash(JSON.stringify(parts));
}

/** SHA-256 of a text: 32 bytes. */
export function textHash(text: string): Buffer {
  return hash('sha256', Buffer.from(text, 'utf8'), 'buffer');
}
