import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorMapping, StatusPattern } from '../core/settings.js';
import type { Evidence, RefusalScope } from './errors.js';

type StatusClass = 'success' | 'redirect' | 'refused' | 'transient' | 'not-found' | 'rejected';

/**
 * Classifies a status (docs/explanation/guarantees.md#errors; the API leaves the codes open). Order of precedence: a
 * single status in the mapping, the rule for 404, a class in the mapping such as `'5xx'`, the defaults. At each level
 * `refused` comes before `transient`.
 */
export function classifyStatus(status: number, mapping: ErrorMapping): StatusClass {
  if (isSuccess(status)) return 'success';
  if (mapping.refused.includes(status)) return 'refused';
  if (mapping.transient.includes(status)) return 'transient';
  if (status === 404) return 'not-found';
  const pattern = `${Math.floor(status / 100)}xx` as StatusPattern;
  if (mapping.refused.includes(pattern)) return 'refused';
  if (mapping.transient.includes(pattern)) return 'transient';
  if (status >= 300 && status < 400) return 'redirect';
  // Not an HTTP status: it comes from a proxy and not from the service.
  if (status < 200 || status > 599) return 'transient';
  return 'rejected';
}

/** Whether a status is a 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** What a response means, and why. */
interface Classification {
  readonly kind: StatusClass;
  readonly evidence: Evidence;
  /** What the status alone means. It counts if the evidence turns out to be wrong. */
  readonly byStatus: StatusClass;
}

/** In a write, these statuses concern the content of the row, whatever else the response says. */
const CONTENT_STATUSES: readonly number[] = [400, 409, 422];

/**
 * Classifies a response by its status and by evidence (docs/explanation/guarantees.md#errors). Services and proxies report
 * a limit as a refusal too. So a refusal is transient with `Retry-After`, with a rate header at zero, with words about a
 * limit, or if it is a web page; 401 only with `Retry-After`. A status that is not registered, such as 420 or 430, means
 * what its evidence says. A challenge page is transient with every status.
 *
 * @param purpose in a write, evidence never changes the meaning of 400, 409 and 422
 */
export function classifyResponse(
  response: ResponseSigns,
  mapping: ErrorMapping,
  purpose: 'read' | 'write',
): Classification {
  const { status } = response;
  const byStatus = classifyStatus(status, mapping);
  const because = (evidence: Evidence): Classification =>
    evidence === 'status'
      ? { kind: byStatus, evidence, byStatus }
      : { kind: 'transient', evidence, byStatus };
  if (byStatus === 'success' || byStatus === 'redirect') return because('status');
  if (purpose === 'write' && CONTENT_STATUSES.includes(status)) return because('status');
  if (status === 401) return because(byStatus === 'refused' && asksToWait(response) ? 'header' : 'status');
  if (isChallenge(response)) return because('challenge');
  if (byStatus !== 'refused' && !isUnregistered(status)) return because('status');
  if (asksToWait(response) || isLimitUsedUp(response)) return because('header');
  if (byStatus === 'refused' && isWebPage(response.text)) return because('challenge');
  return because(speaksOfLimit(response) ? 'words' : 'status');
}

/** 4xx without a meaning in the IANA registry of status codes. Some services use them for their limits. */
function isUnregistered(status: number): boolean {
  const registered = status <= 418 || (status >= 421 && status <= 431) || status === 451;
  return status >= 400 && status < 500 && (!registered || status === 427 || status === 430);
}

const PLAN = /\b(?:plans?|subscriptions?|subscribe|upgrad(?:e|es|ed|ing))\b/i;
const KEY = /\b(?:api[ _-]?keys?|keys?|tokens?|credentials?)\b/i;
const KEY_FAULT =
  /\b(?:invalid|unknown|missing|wrong|expired|revoked|malformed|incorrect|unrecogni[sz]ed|disabled|not (?:valid|found|recogni[sz]ed))\b/i;
const GRANT = /\b(?:grants?|permissions?|scopes?|privileges?)\b/i;

/**
 * Determines what is refused: 401 the key, 402 the plan, any other status by the wording of the message
 * (docs/service-api.md#errors). An unclear message counts as a missing grant, which ends one resource and not the run.
 */
export function refusalScope(status: number, message: string | null): RefusalScope {
  if (status === 401) return 'key';
  if (status === 402) return 'plan';
  if (message === null) return 'grant';
  if (PLAN.test(message)) return 'plan';
  // "The key is missing the grant projects:read" is about the grant.
  if (KEY.test(message) && KEY_FAULT.test(message) && !GRANT.test(message)) return 'key';
  return 'grant';
}

/** What no other key repairs: the client's address, single sign-on, a suspended or unpaid account, terms to accept. */
const OTHER_CAUSES =
  /\b(?:ip|ips|cidr|vpn)\b|\b(?:network |remote )?address(?:es)?\b|\b(?:allow|white|block|deny)[- ]?list|\bsingle[- ]sign[- ]?on\b|\b(?:sso|saml|mfa|2fa)\b|\btwo[- ]factor\b|\bsuspen(?:ded|sion)\b|\bdeactivated\b|\b(?:account|organi[sz]ation|workspace|tenant|user)\b[^.]{0,40}\b(?:disabled|locked|blocked|closed|frozen|inactive|archived|restricted)\b|\bterms\b|\bprivacy policy\b|\b(?:licen[sc]e|user) agreement\b|\bcountry\b|\bregion\b|\bgeo\b|\blocation\b|\bnetwork\b|\bidentity provider\b|\baccess restrictions?\b|\bon hold\b|\boverdue\b|\bunpaid\b|\b\d{1,3}(?:\.\d{1,3}){3}\b/i;

/** Whether the words of a 403 name another cause than the key, its grants or the plan. They then stand alone. */
export function isOtherCause(message: string): boolean {
  return OTHER_CAUSES.test(message.replace(LINKS, ' '));
}

/** A response, as far as its classification needs it. */
export interface ResponseSigns {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The reason phrase of the status line, such as `rate limit exceeded`. */
  readonly reason: string;
  /** The beginning of the body. */
  readonly text: string;
}

/** Whether a header asks the client to come back later. */
export function asksToWait({ headers }: ResponseSigns): boolean {
  return (headers['retry-after'] ?? '').trim() !== '';
}

const LIMIT_NAME = /limit|quota|throttl|requests|calls|credits/;
const REST_NAME = /remain|left|available/;
/** The draft of the IETF: `RateLimit: "default";r=0;t=30`, earlier `RateLimit: limit=10, remaining=0, reset=30`. */
const STRUCTURED_NAME = /^(?:x-)?rate-?limit$/;
/** A used and an allowed amount, such as `api-usage=100/100`. */
const USED_OF_ALLOWED = /^(?:[\w-]+=)?(\d+)\/(\d+)$/;
const ZERO = /^0+(?:\.0*)?$/;

/**
 * Whether a rate header says that nothing is left: `X-RateLimit-Remaining: 0`, `RateLimit-Remaining`, `RateLimit`
 * (draft-ietf-httpapi-ratelimit-headers) and similar ones. Several windows in one header count as used up if one is.
 */
export function isLimitUsedUp({ headers }: Pick<ResponseSigns, 'headers'>): boolean {
  return Object.entries(headers).some(([name, value]) => {
    const parts = [value ?? ''].flat().flatMap((line) => line.split(/[\s,;]+/));
    if (STRUCTURED_NAME.test(name)) return parts.some((part) => /^(?:r|remaining)=0+$/i.test(part));
    if (!LIMIT_NAME.test(name)) return false;
    if (REST_NAME.test(name)) return parts.some((part) => ZERO.test(part));
    return parts.some((part) => {
      const [, used, allowed] = USED_OF_ALLOWED.exec(part) ?? [];
      return used !== undefined && Number(allowed) > 0 && Number(used) >= Number(allowed);
    });
  });
}

/** Whether a rate header says that some requests are left, so that its reset is not that of the limit that was reached. */
export function isLimitLeft({ headers }: Pick<ResponseSigns, 'headers'>): boolean {
  return Object.entries(headers).some(([name, value]) => {
    const parts = [value ?? ''].flat().flatMap((line) => line.split(/[\s,;]+/));
    if (STRUCTURED_NAME.test(name)) return parts.some((part) => /^(?:r|remaining)=0*[1-9]/i.test(part));
    return (
      LIMIT_NAME.test(name) &&
      REST_NAME.test(name) &&
      parts.some((part) => /^0*[1-9]\d*(?:\.\d+)?$/.test(part))
    );
  });
}

/** Words and codes about a limit, in prose (`rate limit`) or as a code (`rateLimitExceeded`, `RATE_LIMITED`). */
const LIMIT_WORDS: readonly RegExp[] = [
  /rate[\s_-]{0,9}limit|quota|too[\s_-]{0,9}(?:many|fast|frequent|quick)|throttl|slow[\s_-]{0,9}down|requests?[\s_-]{0,9}limit/i,
  /limit[\s_-]{0,9}(?:(?:has|was|is)\s{1,9}(?:been\s{1,9})?)?(?:exceed|reached|hit)/i,
  /(?:requests|calls)\s{1,9}(?:per|an?)\s{1,9}(?:second|minute|hour|day|month)/i,
  /(?:number|volume)\s{1,9}of\s{1,9}(?:api\s{1,9})?(?:requests|calls)|(?:credits|allowance)\s{1,9}(?:(?:is|are)\s{1,9})?(?:used|exhausted)/i,
  /over[\s_-]{0,9}query|resource[\s_-]{0,9}exhausted/i,
];
/** Services name their documentation in each error, such as `https://…/errors#rate-limits`. */
export const LINKS = /\bhttps?:[^\s"'<>]+/gi;

/** Whether a text says within a few words of one sentence that something exceeds a limit. */
function exceedsLimit(text: string): boolean {
  return Array.from(text.matchAll(/exceed(?:s|ed|ing)?\b/gi)).some(({ index, 0: { length } }) => {
    const [sentence = ''] = text.slice(index + length, index + length + 46).split('.', 1);
    return /\blimit/i.test(sentence);
  });
}

/** Whether the reason phrase, an error header or the body speaks of a limit. */
function speaksOfLimit({ headers, reason, text }: ResponseSigns): boolean {
  const named = Object.entries(headers).flatMap(([name, value]) =>
    /error|reason/.test(name) ? [value] : [],
  );
  const words = [reason, ...named.flat(), text].join('\n').replace(LINKS, ' ');
  return LIMIT_WORDS.some((pattern) => pattern.test(words)) || exceedsLimit(words);
}

/** Set by firewalls in front of a service on a response that the service has not seen. */
const CHALLENGE_HEADERS = [
  'cf-mitigated',
  'x-amzn-waf-action',
  'x-vercel-mitigated',
  'x-vercel-challenge-token',
  'x-sucuri-block',
] as const;
const CHALLENGE_WORDS =
  /captcha|cf[-_]chl|challenge-platform|just a moment|attention required|checking (?:if|your) |ddos protection|incapsula|request unsuccessful|are you (?:a )?human|verif(?:y|ying) (?:that )?you are|enable javascript and cookies|unusual traffic|web page blocked/i;

/**
 * Whether the response is a challenge or block page of a proxy or firewall: by a header of such a product, or by the words
 * of a web page.
 */
export function isChallenge(signs: ResponseSigns): boolean {
  if (CHALLENGE_HEADERS.some((name) => signs.headers[name] !== undefined)) return true;
  // Bot protection answers requests for JSON with JSON.
  if (/captcha-delivery\.com|px-captcha|_pxAppId/.test(signs.text)) return true;
  return isWebPage(signs.text) && CHALLENGE_WORDS.test(signs.text);
}

const FIRST_TAG = /^<(?:!doctype\s+html|html|head|body|title|meta|script|h[1-6]|center|div|p)\b/i;
const MAX_TAG_CHARS = 100;

/** Where a text begins after white space and comments. A comment without an end is no comment. */
function afterComments(text: string): number {
  const space = /\s*/y;
  for (let at = 0; ; ) {
    space.lastIndex = at;
    space.exec(text);
    at = space.lastIndex;
    const end = text.startsWith('<!--', at) ? text.indexOf('-->', at + 4) : -1;
    if (end === -1) return at;
    at = end + 3;
  }
}

/** Whether a body is HTML, whatever its Content-Type says. XML is not: some gateways send their errors in it. */
function isWebPage(text: string): boolean {
  const at = afterComments(text);
  return FIRST_TAG.test(text.slice(at, at + MAX_TAG_CHARS));
}
