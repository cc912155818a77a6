import { boundMessage, type Redactor } from './redact.js';

/**
 * The message in an error's body (spec, "Errors": JSON with a message), or the whole text if the body has another form.
 * `raw` is for classification by wording, `shown` is redacted for messages. Null for an empty body.
 */
export function serviceMessage(text: string, redact: Redactor): { raw: string; shown: string } | null {
  const raw = messageIn(text) ?? text;
  const shown = boundMessage(redact(raw));
  return shown === '' ? null : { raw, shown };
}

/** Members with the text of an error, the most telling first. */
const ERROR_NAMES = [
  'message',
  'error',
  'errors',
  'error_description',
  'errorMessage',
  'detail',
  'msg',
  'Message',
  'fault',
  'faultstring',
  'exception',
] as const;
/** Members that can also belong to a record. */
const OTHER_NAMES = ['title', 'details', 'description', 'reason'] as const;
const ALL_NAMES: readonly string[] = [...ERROR_NAMES, ...OTHER_NAMES];
/** Such as `{"errors": [{"error": {"message": …}}]}`. */
const MAX_DEPTH = 4;

/**
 * The text of the error in a JSON body; null if the body is not JSON or has none.
 *
 * @param names the members of the body to look at. Default: all that services use
 */
export function messageIn(text: string, names: readonly string[] = ALL_NAMES): string | null {
  try {
    return find(JSON.parse(text), names, MAX_DEPTH);
  } catch {
    return null;
  }
}

/** As `messageIn`, for a body that may also be a record, whose fields must not get into a message. */
export function errorMessageIn(text: string): string | null {
  return messageIn(text, ERROR_NAMES);
}

function find(value: unknown, names: readonly string[], depth: number): string | null {
  if (typeof value === 'string') return value.trim() === '' ? null : value;
  if (depth === 0 || typeof value !== 'object' || value === null) return null;
  const inner = Array.isArray(value) ? value : names.map((name) => (value as Record<string, unknown>)[name]);
  for (const one of inner) {
    const found = find(one, ALL_NAMES, depth - 1);
    if (found !== null) return found;
  }
  return null;
}
