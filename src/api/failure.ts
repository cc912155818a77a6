import type { ErrorMapping } from '../core/settings.js';
import { AT_THE_END } from '../json/scanner.js';
import { BodyError, type BodyFault } from './body.js';
import { classifyResponse, refusalScope } from './classify.js';
import { BodyTooLargeError } from './errors/body-too-large-error.js';
import { BrokenPromiseError } from './errors/broken-promise-error.js';
import { NotFoundError } from './errors/not-found-error.js';
import { type RefusalScope, RefusedError } from './errors/refused-error.js';
import { RejectedError } from './errors/rejected-error.js';
import type { RequestContext, ServiceError } from './errors/service-error.js';
import { TransientError, type TransientReason } from './errors/transient-error.js';
import type { Evidence } from './evidence.js';
import type { Redactor } from './redact.js';
import type { HttpResponse } from './request.js';
import { safeCause } from './safe-cause.js';
import { serviceMessage } from './service-message.js';

type Failure = Extract<HttpResponse, { kind: 'failure' }>;

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

/** The error for a response other than 2xx (docs/explanation/semantics.md#errors). */
export function statusError(
  response: Failure,
  request: RequestContext,
  mapping: ErrorMapping,
  redact: Redactor,
): ServiceError {
  const { status, retryAfterMs, location, headers, reason } = response.head;
  const { text } = response;
  const purpose = request.method === 'GET' ? 'read' : 'write';
  const { kind, byStatus, evidence } = classifyResponse({ status, headers, reason, text }, mapping, purpose);
  const message = evidence === 'challenge' ? null : serviceMessage(text, redact);
  const options = { request, status, retryAfterMs, serviceMessage: message?.shown ?? null, evidence };
  const quoted = message === null ? '' : ` and says: ${message.shown}`;
  const what = `${subject(request)} answered ${status}${quoted}`;
  const refused = (): RefusedError => {
    const scope = refusalScope(status, message?.raw ?? null);
    return new RefusedError(`${what} (refused). ${REFUSAL_REMEDY[scope]}`, { ...options, scope });
  };
  if (evidence !== 'status') {
    const refusal = byStatus === 'refused' ? refused() : null;
    const otherwise =
      refusal === null ? '' : ` Otherwise the service refuses the request: ${REFUSAL_REMEDY[refusal.scope]}`;
    return new TransientError(`${what}. ${READING[evidence]}${otherwise}`, {
      ...options,
      refusal,
      reason: 'status',
    });
  }
  switch (kind) {
    case 'refused':
      return refused();
    case 'not-found':
      return new NotFoundError(what, options);
    case 'rejected':
      return new RejectedError(what, { ...options, isCut: !response.isWhole });
    case 'redirect':
      return new TransientError(
        `${subject(request)} answered ${status}, a redirect to ${redirectHost(location, request, redact)}. Redirects are not followed; check baseUrl.`,
        { ...options, reason: 'redirect' },
      );
    default:
      return new TransientError(what, { ...options, reason: 'status' });
  }
}

/** Only the host: the rest of a Location may contain tokens. */
function redirectHost(location: string | null, request: RequestContext, redact: Redactor): string {
  if (location === null || !URL.canParse(location, request.url)) return 'an unknown host';
  return redact(new URL(location, request.url).host);
}

const REASONS: Partial<Record<BodyFault, TransientReason>> = { 'too-slow': 'timeout', truncated: 'cut' };

/** The error for a failed connection or an unreadable body. */
export function exchangeError(error: unknown, request: RequestContext, redact: Redactor): ServiceError {
  const cause = safeCause(error, redact);
  if (error instanceof BodyError) {
    if (error.fault === 'too-large') {
      return new BodyTooLargeError(
        `${subject(request)}: ${cause.message} Reduce sync.pageSize or raise http.maxBody.`,
        { request, cause, maxBodyBytes: error.maxBytes },
      );
    }
    const reason = REASONS[error.fault] ?? 'body';
    return new TransientError(`${subject(request)}: ${cause.message}`, { request, cause, reason });
  }
  const code = codeOf(error);
  const reason: TransientReason = TIMEOUTS.has(code ?? '') ? 'timeout' : 'network';
  const detail = cause.message === '' ? cause.name : cause.message;
  const suffix = code === null || detail.includes(code) ? '' : ` (${code})`;
  return new TransientError(
    `${subject(request)} failed: could not connect, or the connection broke: ${detail}${suffix}`,
    {
      request,
      cause,
      reason,
    },
  );
}

const TIMEOUTS: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);

function codeOf(error: unknown): string | null {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : null;
}

/** The error for an exception of the body's parser; null for a defect of the parser itself. */
export function parseError(
  error: unknown,
  request: RequestContext,
  status: number,
  redact: Redactor,
): ServiceError | null {
  if (error instanceof BrokenPromiseError) {
    return new BrokenPromiseError(`${subject(request)}: ${redact(error.message)}`, {
      request,
      status,
      row: error.row,
      cause: safeCause(error, redact),
    });
  }
  if (!(error instanceof SyntaxError)) return null;
  const cause = safeCause(error, redact);
  return new TransientError(
    `${subject(request)} answered ${status} with incomplete or invalid JSON: ${cause.message}`,
    {
      request,
      status,
      cause,
      reason: error.message.endsWith(AT_THE_END) ? 'cut' : 'body',
    },
  );
}

/** The error for a web page instead of JSON, as proxies and login portals send it. */
export function htmlError(request: RequestContext, status: number): ServiceError {
  return new TransientError(
    `${subject(request)} answered ${status} with a web page instead of JSON; check whether a proxy or a login page intercepts requests.`,
    { request, status, reason: 'body' },
  );
}

function subject(request: RequestContext): string {
  return `${request.resource}: ${request.method} ${request.url}`;
}
