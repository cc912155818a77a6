import { WorktrackError } from '../core/errors.js';
import type { JsonValue } from '../json/value.js';
import { quoteText, type Redactor } from './redact.js';

/**
 * The message in an error's body (docs/service-api.md#errors: JSON with a message), or the whole text if the body has another form.
 * `raw` is for classification by wording, `shown` is redacted for messages. Null for an empty body.
 */
export function serviceMessage(text: string, redact: Redactor): { raw: string; shown: string } | null {
  const raw = messageIn(text) ?? text;
  const shown = quoteText(raw, redact);
  return shown === '' ? null : { raw, shown };
}

/** Services write the same name as `errorMessage`, `ErrorMessage` and `error_message`. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}

/** Members with the text of an error by their plain names, the most telling first. */
const ERROR_NAMES = [
  'message',
  'error',
  'errors',
  'errordescription',
  'errormessage',
  'detail',
  'msg',
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

/** Other members that say what in the request an error is about. */
const PART_NAMES = [
  'violations',
  'issues',
  'problems',
  'fields',
  'fielderrors',
  'validationerrors',
  'invalidparams',
  'params',
  'parameters',
  'causes',
] as const;
const DETAIL_NAMES: ReadonlySet<string> = new Set([...ALL_NAMES, ...PART_NAMES]);
/** Enough for the parts of a request. */
const MAX_DETAIL_CHARS = 2000;

/**
 * What an error's body says besides its message, such as `"details": [{"field": "limit"}]`, with the names of members: some services name
 * a part of the request only there. It is redacted, for classification by wording; empty if the body is no JSON object or array.
 */
export function serviceDetails(text: string, redact: Redactor): string {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== 'object' || body === null) return '';
    const members = Object.entries(body).filter(([name]) => DETAIL_NAMES.has(plainName(name)));
    const details = Array.isArray(body) ? body : Object.fromEntries(members);
    return quoteText(JSON.stringify(details), redact, MAX_DETAIL_CHARS);
  } catch {
    return '';
  }
}

/** One word, as a program reads it. The description next to it says more. */
const CODE = /^[\w.:/-]{1,100}$/;

function find(value: unknown, names: readonly string[], depth: number): string | null {
  if (typeof value === 'string') return value.trim() === '' ? null : value;
  if (depth === 0 || typeof value !== 'object' || value === null) return null;
  const members = new Map(Object.entries(value).map(([name, one]) => [plainName(name), one as unknown]));
  const inner = Array.isArray(value) ? value : names.map((name) => members.get(name));
  let code: string | null = null;
  for (const one of inner) {
    const found = find(one, ALL_NAMES, depth - 1);
    if (found === null) continue;
    const isCode = CODE.test(found);
    if (code !== null && !isCode) return `${code}: ${found}`;
    if (Array.isArray(value) || !isCode) return found;
    code ??= found;
  }
  return code;
}

/** Thrown by a parser for a body that reports an error although the status says 2xx. `message` is the service's text, or empty. */
export class ReportedError extends WorktrackError {
  readonly code = 'SERVICE_BROKEN_PROMISE';
}

/** Members that hold an error, if they hold anything, by their plain names. */
const ERRORS: readonly string[] = ['error', 'errors', 'fault', 'exception', 'errormessage', 'errorcode'];
/** Members that say whether the request succeeded: yes or no, or a word or a number. */
const FLAGS: readonly string[] = ['success', 'ok', 'succeeded', 'issuccess'];
const STATUSES: readonly string[] = ['status', 'statuscode'];
/** Texts next to `"data": null` that report no error. */
const GOOD_NEWS = /^(?:(?:ok|success\w*|done)\W*|no (?:data|content|records?|results?|changes?)\b.*)$/i;

/** Whether a member of a response's body can say that the request failed. */
export function mayReport(name: string): boolean {
  return [ERRORS, FLAGS, STATUSES].some((names) => names.includes(plainName(name)));
}

/** Whether a member of the body of a 2xx says that the request failed. */
export function reportsFailure(name: string, value: JsonValue): boolean {
  const member = plainName(name);
  if (ERRORS.includes(member)) return !isEmpty(value);
  if (FLAGS.includes(member)) return isFalse(value) || isFailure(value);
  return STATUSES.includes(member) && isFailure(value);
}

/** Some services send an object with a code of 0 or 200 and no text next to every list and record. */
function isEmpty(value: JsonValue): boolean {
  switch (value.kind) {
    case 'object':
      return [...value.members.values()].every(isEmpty);
    case 'array':
      return value.items.every(isEmpty);
    case 'string':
      return /^(?:0*|2\d\d|null|none|ok|success)$/i.test(value.text.trim());
    case 'number':
      return Number(value.literal) === 0 || /^2\d\d$/.test(value.literal);
    default:
      return value.kind === 'null' || value.kind === 'false';
  }
}

/** Whether a `status` is that of a failed request, and not that of a record. */
function isFailure(value: JsonValue): boolean {
  if (value.kind === 'number') return /^[45]\d\d$/.test(value.literal);
  if (value.kind !== 'string') return value.kind === 'false';
  return /^(?:errors?|fail(?:ed|ure)?|[45]\d\d)$/i.test(value.text.trim());
}

function isFalse(value: JsonValue): boolean {
  if (value.kind === 'string') return /^(?:false|0|no)$/i.test(value.text.trim());
  if (value.kind === 'number') return Number(value.literal) === 0;
  return value.kind === 'false';
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
