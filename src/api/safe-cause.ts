import { boundMessage, type Redactor } from './redact.js';

/** Chains of causes are short; a longer one is a loop. */
const MAX_DEPTH = 5;

/**
 * A copy of an error with its name, code, message and stack, redacted, and nothing else. Errors of HTTP libraries
 * carry what they were working on (undici's HTTPParserError holds the bytes received), which may echo the key.
 */
export function safeCause(cause: unknown, redact: Redactor, depth = 0): Error {
  if (!(cause instanceof Error)) return new Error(boundMessage(redact(String(cause))));
  const inner =
    cause.cause === undefined || depth >= MAX_DEPTH ? undefined : safeCause(cause.cause, redact, depth + 1);
  const copy: Error & { code?: string } = new Error(
    boundMessage(redact(cause.message)),
    inner === undefined ? undefined : { cause: inner },
  );
  hide(copy, 'name', cause.name);
  if (cause.stack !== undefined) hide(copy, 'stack', redact(cause.stack));
  const code = (cause as { code?: unknown }).code;
  if (typeof code === 'string') copy.code = code;
  return copy;
}

function hide(error: Error, name: 'name' | 'stack', value: string): void {
  Object.defineProperty(error, name, { value, writable: true, configurable: true, enumerable: false });
}
