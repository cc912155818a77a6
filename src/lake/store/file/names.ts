import { randomBytes } from 'node:crypto';

/**
 * Files beside the objects that are none: bodies being written, and locks. Their names begin with `_`, so query
 * engines skip them like `_staging`, and keys may not use them.
 */
const TEMPORARY = /^_tmp-[0-9a-f]{16}$/;
const LOCK = /^_lock-[0-9a-f]{32}(\.steal)?$/;

export function temporaryName(): string {
  return `_tmp-${randomBytes(8).toString('hex')}`;
}

/** The lock's name for the 32 hex digits that stand for an object's name. */
export function lockName(digits: string): string {
  return `_lock-${digits}`;
}

export function isTemporaryName(name: string): boolean {
  return TEMPORARY.test(name);
}

/** Names that no key may have and no listing shows. */
export function isReservedName(name: string): boolean {
  return TEMPORARY.test(name) || LOCK.test(name);
}
