import type { IncomingHttpHeaders } from 'node:http';

/**
 * What a classification rests on: the status; a header that says when to come back or that a limit is used up; the words
 * of the response, which are weak evidence; a page of a proxy or firewall that tests for a browser.
 */
export type Evidence = 'status' | 'header' | 'words' | 'challenge';

/** What a response shows besides its status. */
export interface ResponseSigns {
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

/** Words and codes about a limit, in prose (`rate limit`) or as a code (`rateLimitExceeded`, `RATE_LIMITED`). */
const LIMIT_WORDS =
  /rate[\s_-]*limit|quota|too[\s_-]*many|throttl|slow[\s_-]*down|limit[\s_-]*(?:(?:has|was|is)\s+(?:been\s+)?)?(?:exceed|reached|hit)|exceed(?:s|ed|ing)?\b[^.]{0,40}\blimit|requests?[\s_-]*limit|(?:requests|calls)\s+(?:per|an?)\s+(?:second|minute|hour|day|month)|over[\s_-]*query|resource[\s_-]*exhausted/i;
/** Services name their documentation in each error, such as `https://…/errors#rate-limits`. */
const LINKS = /\bhttps?:[^\s"'<>]+/gi;

/** Whether the reason phrase, an error header or the body speaks of a limit. */
export function speaksOfLimit({ headers, reason, text }: ResponseSigns): boolean {
  const named = Object.entries(headers).flatMap(([name, value]) =>
    /error|reason/.test(name) ? [value] : [],
  );
  return LIMIT_WORDS.test([reason, ...named.flat(), text].join('\n').replace(LINKS, ' '));
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

/** Whether a body is HTML, whatever its Content-Type says. XML is not: some gateways send their errors in it. */
export function isWebPage(text: string): boolean {
  return /^\s*(?:<!--[\s\S]*?-->\s*)*<(?:!doctype\s+html|html|head|body|title|meta|script|h[1-6]|center|div|p)\b/i.test(
    text,
  );
}
