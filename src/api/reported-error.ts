import { WorktrackError } from '../core/errors.js';
import { errorMessageIn } from './service-message.js';

/** Thrown by a parser for a body that reports an error although the status says 2xx. `message` is the service's text, or empty. */
export class ReportedError extends WorktrackError {
  readonly code = 'SERVICE_BROKEN_PROMISE';
}

/** Members that hold an error, if they hold anything. */
const ERRORS: readonly string[] = ['error', 'errors', 'fault', 'exception'];
/** Members that say whether the request succeeded. */
const RESULTS: readonly string[] = ['success', 'ok', 'status'];
const NO_ERROR = /^\s*(?:0|null|none|ok|success)?\s*$/i;
const FAILURE = /^(?:false|"(?:error|errors|fail|failed|failure)"|[45]\d\d)$/i;
/** Texts next to `"data": null` that report no error. */
const GOOD_NEWS = /^(?:ok|success\w*|done|no (?:data|content|records?|results?|changes?)\b.*)\W*$/i;

/** Whether a member of a response's body can say that the request failed. */
export function mayReport(name: string): boolean {
  return ERRORS.includes(name) || RESULTS.includes(name);
}

/** Whether a member says that the request failed. @param value its JSON text */
export function reportsFailure(name: string, value: string): boolean {
  return ERRORS.includes(name) ? !isNothing(value) : FAILURE.test(value);
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
  const message = errorMessageIn(body);
  return message === null || GOOD_NEWS.test(message.trim()) ? null : new ReportedError(message);
}
