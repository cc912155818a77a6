import { randomBytes } from 'node:crypto';

/**
 * Files in the lake's folder that are not objects: temporary files and locks. Their names begin with `_`, so query engines
 * skip them. Keys cannot use these names.
 */
const TEMPORARY = /^_tmp-[0-9a-f]{16}$/;
const LOCK = /^_lock-[0-9a-f]{32}(\.steal)?$/;

export function temporaryName(): string {
  return `_tmp-${randomBytes(8).toString('hex')}`;
}

/** Name of a lock. @param digits 32 hex digits that identify the object's name */
export function lockName(digits: string): string {
  return `_lock-${digits}`;
}

export function isTemporaryName(name: string): boolean {
  return TEMPORARY.test(name);
}

/** Whether a name is reserved: no key may have it, and no listing includes it. */
export function isReservedName(name: string): boolean {
  return TEMPORARY.test(name) || LOCK.test(name);
}
