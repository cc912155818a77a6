import { WorktrackError } from '../core/errors.js';
import { boundMessage, type Redactor } from './redact.js';

/**
 * The message in an error's body (docs/service-api.md#errors: JSON with a message), or the whole text if the body has another form.
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
function messageIn(text: string, names: readonly string[] = ALL_NAMES): string | null {
  try {
    return find(JSON.parse(text), names, MAX_DEPTH);
  } catch {
    return null;
  }
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

/** Thrown by a parser for a body that reports an error although the status says 2xx. `message` is the service's text, or empty. */
export class ReportedError extends WorktrackError {
  readonly code = 'SERVICE_BROKEN_PROMISE';
}

const ERRORS: readonly string[] = ['error', 'errors', 'fault', 'exception'];
/** Members that say whether the request succeeded. */
const RESULTS: readonly string[] = ['success', 'ok', 'status'];
/** A text in the place of an error that stands for none. */
export const NO_ERROR = /^\s*(?:0|null|none|ok|success)?\s*$/i;
const FAILURE = /^(?:false|"(?:error|errors|fail|failed|failure)"|[45]\d\d)$/i;
/** Texts next to `"data": null` that report no error. */
const GOOD_NEWS = /^(?:ok|success\w*|done|no (?:data|content|records?|results?|changes?)\b.*)\W*$/i;

/** Whether a member of a response's body holds an error, if it holds anything. */
export function holdsError(name: string): boolean {
  return ERRORS.includes(name);
}

/** Whether a member of a response's body can say that the request failed. */
export function mayReport(name: string): boolean {
  return holdsError(name) || RESULTS.includes(name);
}

/** Whether a member says that the request failed. @param value its JSON text */
export function reportsFailure(name: string, value: string): boolean {
  return holdsError(name) ? !isNothing(value) : FAILURE.test(value);
}

/** Whether a member holds no error. Some services send an object with a code of 0 and no text next to every list. */
function isNothing(json: string): boolean {
  try {
    return holdsNothing(JSON.parse(json));
  } catch {
    return false;
  }
}

function holdsNothing(value: unknown): boolean {
  if (typeof value === 'string') return NO_ERROR.test(value);
  if (typeof value === 'object' && value !== null) return Object.values(value).every(holdsNothing);
  return value === null || value === false || value === 0;
}

/**
 * The error that a body without data reports in words; null if it has no message.
 *
 * @param body JSON text
 */
export function reportedError(body: string): ReportedError | null {
  // The body may also be a record, whose fields must not get into a message.
  const message = messageIn(body, ERROR_NAMES);
  return message === null || GOOD_NEWS.test(message.trim()) ? null : new ReportedError(message);
}
