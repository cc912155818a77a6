import { boundMessage, type Redactor } from './redact.js';

/** Longest chain of causes that is copied; a longer one is a cycle. */
const MAX_DEPTH = 5;

/**
 * Copies an error with only its name, code, message and stack, all redacted. Errors of HTTP libraries contain the data
 * they were processing (undici's HTTPParserError has the received bytes), and that data may echo the key.
 */
export function safeCause(cause: unknown, redact: Redactor, depth = 0): Error {
  if (!(cause instanceof Error)) return new Error(boundMessage(redact(String(cause))));
  const inner =
    cause.cause === undefined || depth >= MAX_DEPTH ? undefined : safeCause(cause.cause, redact, depth + 1);
  const copy: Error & { code?: string } = new Error(
    boundMessage(redact(cause.message)),
    inner === undefined ? undefined : { cause: inner },
  );
  setHidden(copy, 'name', cause.name);
  if (cause.stack !== undefined) setHidden(copy, 'stack', redact(cause.stack));
  const code = (cause as { code?: unknown }).code;
  if (typeof code === 'string') copy.code = code;
  return copy;
}

function setHidden(error: Error, name: 'name' | 'stack', value: string): void {
  Object.defineProperty(error, name, { value, writable: true, configurable: true, enumerable: false });
}
