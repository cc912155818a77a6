import type { ErrorMapping } from '../core/settings.js';
import { BodyError } from './body.js';
import { classifyStatus, refusalScope } from './classify.js';
import { BodyTooLargeError } from './errors/body-too-large-error.js';
import { BrokenPromiseError } from './errors/broken-promise-error.js';
import { NotFoundError } from './errors/not-found-error.js';
import { type RefusalScope, RefusedError } from './errors/refused-error.js';
import { RejectedError } from './errors/rejected-error.js';
import type { RequestContext, ServiceError } from './errors/service-error.js';
import { TransientError, type TransientReason } from './errors/transient-error.js';
import type { Redactor } from './redact.js';
import type { HttpResponse } from './request.js';
import { safeCause } from './safe-cause.js';
import { serviceMessage } from './service-message.js';

type Failure = Extract<HttpResponse, { kind: 'failure' }>;

const REFUSAL_REMEDY: Readonly<Record<RefusalScope, string>> = {
  key: 'It takes the API key for missing or wrong: check apiKey in the configuration and the key in the application.',
  plan: "The organization's plan seems to be without API access: an owner has to change the plan.",
  grant:
    'The API key seems to lack a grant: grants are fixed, so create a new key that has it and revoke this one.',
};

/** The error for a response other than 2xx (DESIGN 3.12). */
export function statusError(
  response: Failure,
  request: RequestContext,
  mapping: ErrorMapping,
  redact: Redactor,
): ServiceError {
  const { status, retryAfterMs } = response;
  const message = serviceMessage(response.text, redact);
  const options = { request, status, retryAfterMs, serviceMessage: message?.shown ?? null };
  const quoted = message === null ? '' : ` and says: ${message.shown}`;
  const what = `${subject(request)} answered ${status}${quoted}`;
  switch (classifyStatus(status, mapping)) {
    case 'refused': {
      const scope = refusalScope(status, message?.raw ?? null);
      return new RefusedError(`${what} (refused). ${REFUSAL_REMEDY[scope]}`, { ...options, scope });
    }
    case 'not-found':
      return new NotFoundError(what, options);
    case 'rejected':
      return new RejectedError(what, options);
    case 'redirect':
      return new TransientError(
        `${subject(request)} answered ${status}, a redirect to ${redirectHost(response, request, redact)}, which is not followed.`,
        { ...options, reason: 'redirect' },
      );
    default:
      return new TransientError(what, { ...options, reason: 'status' });
  }
}

/** The host only: the rest of a Location may hold tokens of whoever redirects. */
function redirectHost(response: Failure, request: RequestContext, redact: Redactor): string {
  if (response.location === null || !URL.canParse(response.location, request.url)) return 'nowhere';
  return redact(new URL(response.location, request.url).host);
}

/** The error for a connection that failed, or a body that could not be read. */
export function exchangeError(error: unknown, request: RequestContext, redact: Redactor): ServiceError {
  const cause = safeCause(error, redact);
  if (error instanceof BodyError) {
    if (error.fault === 'too-large') {
      return new BodyTooLargeError(
        `${subject(request)}: ${cause.message} Ask for smaller pages (sync.pageSize) or raise http.maxBody.`,
        { request, cause, maxBodyBytes: error.maxBytes },
      );
    }
    return new TransientError(`${subject(request)}: ${cause.message}`, { request, cause, reason: 'body' });
  }
  const code = codeOf(error);
  const reason: TransientReason = TIMEOUTS.has(code ?? '') ? 'timeout' : 'network';
  const detail = cause.message === '' ? cause.name : cause.message;
  const suffix = code === null || detail.includes(code) ? '' : ` (${code})`;
  return new TransientError(`${subject(request)} could not be reached, or broke off: ${detail}${suffix}`, {
    request,
    cause,
    reason,
  });
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

/** The error for what the parser of a body threw; null for a defect of the parser, which is no trouble of the service. */
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
    `${subject(request)} answered ${status} with a body that is not whole JSON: ${cause.message}`,
    {
      request,
      status,
      cause,
      reason: 'body',
    },
  );
}

/** The error for a web page where JSON belongs, which is how proxies and log-in portals answer. */
export function htmlError(request: RequestContext, status: number): ServiceError {
  return new TransientError(
    `${subject(request)} answered ${status} with a web page and not JSON; a proxy or a log-in page may stand in between.`,
    { request, status, reason: 'body' },
  );
}

function subject(request: RequestContext): string {
  return `${request.resource}: ${request.method} ${request.url}`;
}
