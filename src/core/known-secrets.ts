/**
 * The secrets that this process has read, and the one redactor for them. Every message, log line, JSON output and failure
 * passes through it. In the workflow sandbox, which has no secrets, it changes nothing.
 */
import { createRedactor, type Redactor } from './redactor.js';

/** A shorter text is no secret: to replace it would change ordinary words. */
const MIN_CHARS = 8;
/** Most secrets that are known at a time. Secrets that rotate must not fill the memory. */
const MAX_KNOWN = 500;

const known = new Set<string>();
let redactor: Redactor | null = null;

/** From now on, `redactKnown` replaces this secret. Of one with white space or quotation marks, it replaces each part, too. */
export function rememberSecret(secret: string): void {
  if (known.has(secret)) return;
  const parts = secret.split(/[\s"'`]+/);
  for (const text of parts.length > 1 ? [secret, ...parts] : parts) add(text);
}

function add(secret: string): void {
  if (secret.length < MIN_CHARS || known.has(secret)) return;
  known.add(secret);
  const [oldest] = known;
  if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
  redactor = null;
}

export function knownSecrets(): readonly string[] {
  return [...known];
}

/** Replaces every secret that this process has read, in all its forms, and every token after `Bearer`. */
export function redactKnown(text: string): string {
  redactor ??= createRedactor([...known]);
  return redactor(text);
}
