import { isListRequest } from '../faults.js';
import type { Call } from '../http/call.js';
import { type Reply, replyWith } from '../http/reply.js';
import type { OddBehaviour, OddCatalog } from './odd-service.js';

/** Changes the responses to requests for lists. */
function onLists(change: (reply: Reply, call: Call) => Reply): () => OddBehaviour {
  return () => ({ reply: (reply, call) => (isListRequest(call) ? change(reply, call) : reply) });
}

/** Changes the pages of lists that were served. */
function onPages(change: (reply: Reply, call: Call) => Reply): () => OddBehaviour {
  return onLists((reply, call) => (reply.status === 200 ? change(reply, call) : reply));
}

/** Changes the pages of lists that have no records. */
function onEmptyPages(change: (reply: Reply, call: Call) => Reply): () => OddBehaviour {
  return onPages((reply, call) => (isEmpty(reply) ? change(reply, call) : reply));
}

const isEmpty = ({ body }: Reply): boolean => body.subarray(0, 10).toString() === '{"data":[]';

const asJson = (reply: Reply, body: string | Buffer): Reply => ({ ...reply, body: Buffer.from(body) });

const labelled = (reply: Reply, name: string, value: string): Reply => ({
  ...reply,
  headers: { ...reply.headers, [name]: value },
});

/** Replaces text in a body. */
const replaced = (reply: Reply, pattern: RegExp, by: string): Reply =>
  asJson(reply, reply.body.toString().replace(pattern, by));

/** Breaks the head of each response to a request for a list. */
function brokenHead(line: string): () => OddBehaviour {
  return () => ({ fault: (call) => (isListRequest(call) ? { kind: 'broken-head', line } : null) });
}

/** Services whose answers mean something else than their status or label, or break HTTP. */
export const ODD_ANSWERS: OddCatalog = {
  'empty-204': [
    'answers an empty list with 204 and no body',
    onEmptyPages(() => ({ status: 204, headers: {}, body: Buffer.alloc(0) })),
  ],
  'empty-body': [
    'answers an empty list with 200 and an empty body',
    onEmptyPages((reply) => asJson(reply, '')),
  ],
  'null-data': [
    'answers an empty list with "data": null',
    onEmptyPages((reply) => replaced(reply, /^\{"data":\[\]/, '{"data":null')),
  ],
  'null-data-always': [
    'answers every list with "data": null',
    onPages((reply) => asJson(reply, '{"data":null,"page":{"nextCursor":null}}')),
  ],
  'empty-object': ['answers every list with {}', onPages((reply) => asJson(reply, '{}'))],
  'increment-404': [
    'answers 404 to every request for changes',
    onLists((reply, call) =>
      call.query.has('updatedSince') ? replyWith(404, '{"message":"Not Found"}') : reply,
    ),
  ],
  'html-label': [
    'labels its JSON as text/html',
    onPages((reply) => labelled(reply, 'content-type', 'text/html')),
  ],
  latin1: [
    'sends ISO-8859-1 and declares it',
    onPages((reply) =>
      labelled(
        asJson(reply, Buffer.from(reply.body.toString(), 'latin1')),
        'content-type',
        'application/json; charset=ISO-8859-1',
      ),
    ),
  ],
  'utf-16': [
    'sends UTF-16 with a byte order mark',
    onPages((reply) => asJson(reply, Buffer.from(`\ufeff${reply.body.toString()}`, 'utf16le'))),
  ],
  'coding-utf-8': [
    'sends Content-Encoding: UTF-8',
    onPages((reply) => labelled(reply, 'content-encoding', 'UTF-8')),
  ],
  'gzip-label': [
    'sends Content-Encoding: gzip with a body that is not compressed',
    onPages((reply) => labelled(reply, 'content-encoding', 'gzip')),
  ],
  'error-in-200': [
    'answers every list with 200 and an error in the body',
    onPages((reply) => asJson(reply, '{"success":false,"error":{"message":"The index is being rebuilt."}}')),
  ],
  'error-in-200-at-first': [
    'answers the first two requests with 200 and an error in the body',
    () => {
      let requests = 0;
      return onPages((reply) => {
        requests += 1;
        return requests > 2
          ? reply
          : asJson(reply, '{"errors":[{"message":"Timeout of a shard"}],"data":null}');
      })();
    },
  ],
  'length-in-characters': [
    'counts characters instead of bytes in Content-Length',
    () => ({
      start: ({ options }) => {
        options.gzip = 'off';
      },
      reply: (reply) => labelled(reply, 'content-length', String(reply.body.toString().length)),
    }),
  ],
  'head-large': [
    'sends 40 KiB of headers',
    onPages((reply) =>
      Array.from({ length: 10 }).reduce<Reply>(
        (sent, _, at) => labelled(sent, `x-policy-${at}`, 'x'.repeat(4096)),
        reply,
      ),
    ),
  ],
  'head-two-lengths': [
    'states the length of its bodies in Content-Length and in Transfer-Encoding',
    brokenHead('transfer-encoding: chunked'),
  ],
  'head-blank-name': ['has a blank in the name of a header', brokenHead('x policy: default')],
  'control-characters': [
    'sends tabs in strings as they are (see `json: lenient`)',
    onPages((reply) => replaced(reply, /\\t/g, '\t')),
  ],
  'not-a-number': [
    'sends NaN instead of null (see `json: lenient`)',
    onPages((reply) => replaced(reply, /:null(?=[,}])(?!\}\}$)/g, ':NaN')),
  ],
};

/** Answers the first requests for each page of a list, two without another number, with `reply`. */
function atFirst(reply: Reply | (() => Reply), count = 2): () => OddBehaviour {
  return () => {
    const seen = new Map<string, number>();
    return onLists((normal, { target }) => {
      const before = seen.get(target) ?? 0;
      seen.set(target, before + 1);
      if (before >= count) return normal;
      return typeof reply === 'function' ? reply() : reply;
    })();
  };
}

const FORBIDDEN = '{"message":"Forbidden"}';

const forbidden = (message: string): (() => OddBehaviour) =>
  onLists(() => replyWith(403, JSON.stringify({ message })));

const throttledUntil = (headers: Readonly<Record<string, string>>): Reply =>
  replyWith(429, '{"message":"Slow down."}', headers);

/** Services that report limits under other names than 429, and proxies in front of them. */
export const ODD_LIMITS: OddCatalog = {
  'limit-403-words': [
    'reports its rate limit as 403, and only the message says so',
    atFirst(replyWith(403, '{"error":{"reason":"rateLimitExceeded","message":"User rate limit exceeded."}}')),
  ],
  'limit-402-quota': [
    'reports a used-up quota as 402',
    atFirst(replyWith(402, '{"message":"The quota of this minute is used up."}')),
  ],
  'limit-403-retry-after': [
    'reports its rate limit as 403 with Retry-After',
    atFirst(replyWith(403, FORBIDDEN, { 'retry-after': '1' })),
  ],
  'limit-401-retry-after': [
    'reports its rate limit as 401 with Retry-After',
    atFirst(replyWith(401, '{"message":"Unauthorized"}', { 'retry-after': '1' })),
  ],
  'limit-403-headers': [
    'reports its rate limit as 403, and only X-RateLimit-Remaining: 0 says so',
    atFirst(replyWith(403, FORBIDDEN, { 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '0' })),
  ],
  'limit-420': [
    'reports its rate limit as 420',
    atFirst(replyWith(420, '{"message":"Enhance your calm: too many requests."}')),
  ],
  'challenge-page': [
    'has a proxy in front of it that answers with a challenge page first',
    atFirst(
      replyWith(403, '<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>', {
        'content-type': 'text/html; charset=UTF-8',
        'cf-mitigated': 'challenge',
      }),
    ),
  ],
  'limit-403-forever': [
    'answers 403 with words about a limit and Retry-After to every list, without an end',
    onLists(() => replyWith(403, '{"message":"Daily quota exceeded."}', { 'retry-after': '1' })),
  ],
  'challenge-forever': [
    'has a proxy in front of it that answers every list with a challenge page',
    onLists(() =>
      replyWith(403, '<html><title>Attention Required! | Cloudflare</title></html>', {
        'content-type': 'text/html',
      }),
    ),
  ],
  'limit-429-reset-ms': [
    'reports its rate limit as 429, and names its end only in X-RateLimit-Reset, in milliseconds since 1970',
    atFirst(() => throttledUntil({ 'x-ratelimit-reset': String(Date.now() + 1000) })),
  ],
  'limit-429-reset-seconds': [
    'reports its rate limit as 429, and names its end only in RateLimit-Reset, in seconds',
    atFirst(() => throttledUntil({ 'ratelimit-reset': '1' })),
  ],
  'gateway-header': [
    'has a gateway in front of it that answers 403 with HTML unless CF-Access-Client-Id is sent',
    () => ({
      reply: (reply, { headers }) =>
        headers['cf-access-client-id'] === undefined
          ? replyWith(403, '<html><title>Access denied</title></html>', { 'content-type': 'text/html' })
          : reply,
    }),
  ],
  'forbidden-address': [
    'answers 403 to every list: the address of the client is not admitted',
    forbidden('Your IP address 192.0.2.7 is not on the allow list of this organization.'),
  ],
  'forbidden-sign-on': [
    'answers 403 to every list: single sign-on is required',
    forbidden('Single sign-on (SSO) is required. Authorize your key for this organization.'),
  ],
  'forbidden-suspended': [
    'answers 403 to every list: the account is suspended',
    forbidden('Your account is suspended. Contact support.'),
  ],
  'forbidden-terms': [
    'answers 403 to every list: new terms have to be accepted',
    forbidden('You must accept the new terms of service before you can use the API.'),
  ],
  'plain-403': [
    'answers 403 to every list: the key lacks the grant',
    onLists(() => replyWith(403, FORBIDDEN)),
  ],
};

const DAY_S = 86_400;
const nowS = (): number => Math.ceil(Date.now() / 1000);

const throttled = (retryAfter: string): Reply => throttledUntil({ 'retry-after': retryAfter });

/** Throttles the first request for each page of a list. */
const once = (retryAfter: () => string): (() => OddBehaviour) => atFirst(() => throttled(retryAfter()), 1);

/** Services whose `Retry-After` is unusual. */
export const ODD_WAITS: OddCatalog = {
  'retry-after-epoch': ['sends Retry-After as seconds since 1970', once(() => String(nowS() + 1))],
  'retry-after-epoch-ms': [
    'sends Retry-After as milliseconds since 1970, with a fraction',
    once(() => `${Date.now() + 500}.5`),
  ],
  'retry-after-past': ['sends a Retry-After that has passed', once(() => String(nowS() - DAY_S))],
  'retry-after-years': [
    'sends a Retry-After of years for tasks',
    onLists((normal, { resource }) =>
      resource === 'tasks' ? throttled(String(nowS() + 1000 * DAY_S)) : normal,
    ),
  ],
};

const redirect = (status: number, location: string): Reply => ({
  status,
  headers: { location },
  body: Buffer.alloc(0),
});

/** Services that redirect. */
export const ODD_REDIRECTS: OddCatalog = {
  'redirect-slash': [
    'redirects each list to the same path with a slash, without the query',
    () => ({
      request: withoutSlash,
      reply: (reply, call) =>
        isListRequest(call) && !call.path.endsWith('/') ? redirect(301, `${call.path}/`) : reply,
    }),
  ],
  'redirect-elsewhere': [
    'redirects each list to another host',
    onLists(() => redirect(302, 'https://login.example/?next=tasks')),
  ],
};

/** The list without the slash at the end of its path. */
function withoutSlash(call: Call): Call {
  const { path, segments } = call;
  if (!path.endsWith('/') || segments?.length !== 1 || segments[0] !== '') return call;
  return { ...call, path: path.slice(0, -1), segments: [] };
}
