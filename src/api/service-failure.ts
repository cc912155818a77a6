import { hash } from 'node:crypto';
import { fromByteString, type Millis } from '../core/brands.js';
import { DAY_MS, formatDuration, HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/duration.js';
import { isTooLong } from '../core/long-retry-after.js';
import { parseUrl } from '../core/parse-url.js';
import type { ErrorMapping } from '../core/settings.js';
import { systemCode } from '../core/system-error.js';
import { cutText } from '../core/text-budget.js';
import { JsonError } from '../json/json-error.js';
import { BodyError, type BodyFault, headerOf } from './body.js';
import { classifyResponse, isChallenge, isOtherCause, refusalScope } from './classify-response.js';
import {
  BodyTooLargeError,
  BrokenPromiseError,
  type Evidence,
  NotFoundError,
  type RefusalScope,
  RefusedError,
  RejectedError,
  type ServiceError,
  TransientError,
  type TransientReason,
  type WriteAnswer,
} from './errors.js';
import type { HttpResponse } from './exchange.js';
import { boundMessage, quoteText, type Redactor, safeCause } from './redact.js';
import { MAX_REDIRECTS } from './redirect.js';
import { ReportedError, serviceDetails, serviceMessage } from './service-message.js';
import { isMarked, meaningOfWrite } from './write-meaning.js';

type Failure = Extract<HttpResponse, { kind: 'failure' }>;
type Success = Extract<HttpResponse, { kind: 'success' }>;

/** A request as far as the message about its failure needs it. */
export interface FailedRequest {
  readonly method: string;
  readonly resource: string;
  /** Origin, path and query, redacted. Computed only for a message. */
  readonly url: () => string;
  /** For everything that the service sent. */
  readonly redact: Redactor;
}

/** What a refusal means and what the user can do. */
export const REFUSAL_REMEDY: Readonly<Record<RefusalScope, string>> = {
  key: 'The API key is missing or not valid: check apiKey in the configuration and the key in the application.',
  plan: "The organization's plan seems to have no API access: an owner has to change the plan.",
  grant:
    'The API key seems to lack a grant: the grants of a key are fixed, so create a new key with this grant and revoke this one.',
};

/** What the evidence shows, for messages. */
const READING: Readonly<Record<Exclude<Evidence, 'status'>, string>> = {
  header: 'Its headers show a rate limit or a used-up quota, so the request is retried.',
  words: 'Its words point to a rate limit or a used-up quota, so the request is retried.',
  challenge:
    'This is a challenge or block page of a proxy or firewall, and not an answer of the service, so the request is ' +
    'retried. If it stays, have the address of the worker admitted.',
};

/** What the connection's settings say about errors. */
export interface ErrorRules {
  readonly mapping: ErrorMapping;
  /** As in the options of the client; infinite: absent. */
  readonly giveUpAfterMs: Millis;
}

/** The error for a response other than 2xx (docs/explanation/guarantees.md#errors). @param wasRead as in `ListRequest` */
export function statusError(
  response: Failure,
  request: FailedRequest,
  { mapping, giveUpAfterMs }: ErrorRules,
  wasRead: boolean,
): ServiceError {
  const { redact } = request;
  const { status, retryAfterMs, headers, text } = response;
  const purpose = request.method === 'GET' ? 'read' : 'write';
  const { kind, byStatus, evidence } = classifyResponse(response, mapping, purpose);
  const message = evidence === 'challenge' ? null : serviceMessage(text, redact);
  const quoted = message === null ? '' : ` and says: ${message.shown}`;
  const what = `${subject(request)} answered ${status}${quoted}`;
  // The words of the service may end with a full stop.
  const sentence = /[.!?]$/.test(what) ? what : `${what}.`;
  const isLong = retryAfterMs !== null && isTooLong(retryAfterMs, giveUpAfterMs);
  const write = purpose === 'write' ? writeAnswerOf(response, mapping) : undefined;
  const options = {
    resource: request.resource,
    status,
    write,
    retryAfterMs,
    serviceMessage: message?.shown ?? null,
    evidence,
    reason: 'status',
    // Every repetition gets a stored answer again.
    patience: isLong || write?.meaning === 'stored' ? 'none' : 'long',
  } as const;
  const tooLong = isLong
    ? ` It requires a wait of ${roughly(retryAfterMs)} (Retry-After: ${quoteText(headerOf(headers, 'retry-after') ?? '', redact, 100)}), which is longer than ` +
      `\`retries.giveUpAfter\` (${formatDuration(giveUpAfterMs)}), so the run ends now.`
    : '';
  const refused = (): RefusedError => {
    const isOther = status === 403 && isOtherCause(message?.raw ?? '');
    const scope = isOther ? 'grant' : refusalScope(status, message?.raw ?? null);
    const remedy = isOther ? '' : ` ${REFUSAL_REMEDY[scope]}`;
    return new RefusedError(`${sentence}${remedy}`, { ...options, scope, isOther });
  };
  if (evidence !== 'status') {
    const refusal = byStatus === 'refused' ? refused() : null;
    const otherwise =
      refusal === null
        ? ''
        : ` Otherwise the service refuses the request${refusal.isOther ? '.' : `: ${REFUSAL_REMEDY[refusal.scope]}`}`;
    const reading = isLong && evidence === 'header' ? LIMIT : READING[evidence];
    return new TransientError(`${sentence} ${reading}${tooLong}${otherwise}`, { ...options, refusal });
  }
  switch (kind) {
    case 'refused':
      return refused();
    case 'not-found':
      // For a write, a 404 rejects the row, like any other 4xx.
      if (purpose === 'write') return new RejectedError(what, { ...options, isCut: !response.isWhole });
      return wasRead
        ? new TransientError(missingList(sentence), { ...options, patience: 'short' })
        : new NotFoundError(what, options);
    case 'rejected':
      return new RejectedError(what, {
        ...options,
        isCut: !response.isWhole,
        details: serviceDetails(text, redact),
      });
    case 'redirect':
      return new TransientError(
        `${subject(request)} answered ${status}, ${redirectText(headerOf(headers, 'location'), request)}`,
        { ...options, reason: 'redirect', patience: 'short' },
      );
    default:
      return new TransientError(isLong ? `${sentence}${tooLong}` : what, options);
  }
}

function writeAnswerOf(response: Failure, mapping: ErrorMapping): WriteAnswer {
  const { status, text } = response;
  return {
    meaning: meaningOfWrite(response, mapping),
    sameness: `${status} ${hash('sha256', text)}`,
    isMarked: isMarked(text),
  };
}

const LIMIT = 'Its headers show a rate limit or a used-up quota.';

const REDIRECT_REMEDY =
  'Only redirects of reads to the same origin are followed, because the API key must not reach another one. Correct ' +
  "baseUrl or the resource's `path`.";

function missingList(answer: string): string {
  return (
    `${answer} It has had this list before. Either the list was removed or renamed, or the service hides it from this ` +
    'key, or it answers 404 while it is being changed or if it has no changes. The snapshot and the checkpoint stay as ' +
    "they are. If the list has moved, correct the resource's `path`."
  );
}

/** A wait in units that a person compares: to the minute from an hour on, to the hour from a day on. */
export function roughly(ms: number): string {
  const unit = ms >= DAY_MS ? HOUR_MS : ms >= HOUR_MS ? MINUTE_MS : SECOND_MS;
  return formatDuration(Math.round(ms / unit) * unit);
}

/** Names only the host: the rest of a Location may contain tokens. */
function redirectText(location: string | null, request: FailedRequest): string {
  const url = request.url();
  const target = location === null ? null : parseUrl(location, url);
  if (target === null) return `a redirect to an unknown host. ${REDIRECT_REMEDY}`;
  if (request.method === 'GET' && target.origin === new URL(url).origin)
    return `a redirect to itself or the last of more than ${MAX_REDIRECTS} redirects. Check baseUrl and the resource's \`path\`.`;
  return `a redirect to ${request.redact(target.host)}. ${REDIRECT_REMEDY}`;
}

const REASONS: Partial<Record<BodyFault, TransientReason>> = { 'too-slow': 'timeout', truncated: 'cut' };

/** The error for a failed connection or an unreadable body. */
export function exchangeError(error: unknown, request: FailedRequest): ServiceError {
  const { resource, redact } = request;
  const cause = safeCause(error, redact);
  if (error instanceof BodyError && error.fault !== 'headers') {
    if (error.fault === 'too-large') {
      return new BodyTooLargeError(
        `${subject(request)}: ${cause.message} Reduce sync.pageSize or raise http.maxBody.`,
        { resource, cause },
      );
    }
    const reason = REASONS[error.fault] ?? 'body';
    return new TransientError(`${subject(request)}: ${cause.message}`, { resource, cause, reason });
  }
  const code = systemCode(error);
  const breach = breachOf(error, code);
  if (breach !== null) {
    const detail = boundMessage(cause.message, 100);
    return new TransientError(
      `${subject(request)}: the response breaks HTTP, so it cannot be read: ${breach} (${detail}). A page of another size does ` +
        'not help. Report it to the support of the service, or of the gateway in front of it.',
      { resource, cause, reason: 'malformed', patience: request.method === 'GET' ? 'brief' : 'long' },
    );
  }
  const reason: TransientReason = TIMEOUTS.has(code ?? '') ? 'timeout' : 'network';
  const detail = cause.message === '' ? cause.name : cause.message;
  const suffix = code === null || detail.includes(code) ? '' : ` (${code})`;
  return new TransientError(
    `${subject(request)} failed: could not connect, or the connection broke: ${detail}${suffix}`,
    { resource, cause, reason },
  );
}

/** What a response breaks, by the error of the HTTP client; `null`: the connection failed. */
function breachOf(error: unknown, code: string | null): string | null {
  if (error instanceof BodyError)
    return 'a header is not valid, or it states the length of its body in two ways';
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return 'its headers are larger than 64 KiB';
  // Not each of these errors has a code. At the end of a connection, the response was cut.
  const isParser =
    error instanceof Error && error.name === 'HTTPParserError' && !/\bEOF\b/i.test(error.message);
  return isParser ? 'its status line, a header or a length is not valid' : null;
}

/** The error for a body with more bytes than its Content-Length, which ends too early by it. */
export function wrongLengthError({ status, headers }: Success, request: FailedRequest): ServiceError {
  return new TransientError(
    `${subject(request)} answered ${status} with a body that is longer than its Content-Length ` +
      `(${headerOf(headers, 'content-length')}), so its end is missing: perhaps the service counts characters instead of bytes. A ` +
      "page of another size does not help. Report it to the service's support.",
    {
      resource: request.resource,
      status,
      reason: 'malformed',
      patience: request.method === 'GET' ? 'brief' : 'long',
    },
  );
}

const TIMEOUTS: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);

/** The error for an exception of the body's parser; null for a defect of the parser itself. */
export function parseError(error: unknown, request: FailedRequest, status: number): ServiceError | null {
  const { resource, redact } = request;
  const isKnown =
    error instanceof BrokenPromiseError || error instanceof ReportedError || error instanceof SyntaxError;
  if (!isKnown) return null;
  const cause = safeCause(error, redact);
  const options = { resource, status, cause };
  if (error instanceof BrokenPromiseError) {
    const { row } = error;
    return new BrokenPromiseError(`${subject(request)}: ${redact(error.message)}`, { ...options, row });
  }
  if (error instanceof ReportedError) {
    const message = quoteText(error.message, redact);
    const what =
      message === ''
        ? 'its body reports an error without a message'
        : `its body reports an error: ${message}`;
    return new TransientError(`${subject(request)} answered ${status}, but ${what}`, {
      ...options,
      serviceMessage: message || null,
      reason: 'body',
      patience: 'short',
    });
  }
  return new TransientError(
    `${subject(request)} answered ${status} with incomplete or invalid JSON: ${cause.message}`,
    { ...options, reason: error instanceof JsonError && error.isCut ? 'cut' : 'body' },
  );
}

/** The error for a body that is JSON apart from what `json: lenient` accepts. */
export function strictJsonError(error: SyntaxError, request: FailedRequest, status: number): ServiceError {
  const cause = safeCause(error, request.redact);
  return new TransientError(
    `${subject(request)} answered ${status} with invalid JSON: ${cause.message}. The body is complete, and has raw control ` +
      'characters in strings, or NaN or Infinity. To read it nevertheless, set `json: lenient` for the connection.',
    { resource: request.resource, status, cause, reason: 'body', patience: 'short' },
  );
}

/** Whether a body with this first character can be JSON. */
function canBeJson(first: string | null): boolean {
  return first !== null && /[[{"\d\-tfnNI]/.test(first);
}

/**
 * The error for a 2xx that a firewall sent in place of the service; null for any other response. JSON can have any words, so only a
 * header shows that it is not the service's.
 */
export function challengeError(
  { status, headers, reason, body }: Success,
  request: FailedRequest,
): ServiceError | null {
  const text = canBeJson(body.text.first()) ? '' : fromByteString(body.text.slice(0, MAX_SIGNS_CHARS));
  if (!isChallenge({ status, headers, reason, text })) return null;
  return new TransientError(`${subject(request)} answered ${status}. ${READING.challenge}`, {
    ...{ resource: request.resource, status, reason: 'body', evidence: 'challenge' },
  });
}

/** The longest text in place of JSON that is quoted, in characters. A longer one may be data in another format. */
const MAX_PLAIN_TEXT = 200;

/**
 * The error for a 2xx whose body cannot be JSON, as proxies, firewalls and login portals send it; null if it can be JSON.
 * The body decides, and not its Content-Type.
 */
export function notJsonError(response: Success, request: FailedRequest): ServiceError | null {
  const { status, body } = response;
  const first = body.text.first();
  if (canBeJson(first)) return null;
  const challenge = challengeError(response, request);
  if (challenge !== null || first === null) return challenge;
  const text = fromByteString(body.text.slice(0, MAX_SIGNS_CHARS));
  const what = `${subject(request)} answered ${status} with`;
  const options = { resource: request.resource, status, reason: 'body' } as const;
  if (first === '<')
    return new TransientError(
      `${what} a web page instead of JSON; check whether a proxy or a login page intercepts requests.`,
      options,
    );
  // With these characters, it may be the rest of JSON whose beginning was lost, and so records.
  const isQuoted = text.length <= MAX_PLAIN_TEXT && !/[\r\n"{}]/.test(text.trim());
  return new TransientError(
    `${what} text instead of JSON${isQuoted ? `: ${quoteText(text, request.redact)}` : ''}`,
    options,
  );
}

/** Enough of a page to recognize it. */
const MAX_SIGNS_CHARS = 64 * 1024;

/** A cursor can have any length. What the service answered comes after the URL, and must not be cut. */
const MAX_URL_BYTES = 600;

function subject(request: FailedRequest): string {
  return `${request.resource}: ${request.method} ${cutText(request.url(), MAX_URL_BYTES)}`;
}
