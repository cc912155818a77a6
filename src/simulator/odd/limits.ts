import type { Reply } from '../http/reply.js';
import { firstRequests, isListRequest, type OddBehaviour, type OddService } from './odd-service.js';

function refusal(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: Buffer.from(body) };
}

/** Answers the first two requests for each page of a list with `reply`. */
function atFirst(reply: Reply): () => OddBehaviour {
  return () => {
    const isFirst = firstRequests(2);
    return { reply: (normal, call) => (isFirst(call) ? reply : normal) };
  };
}

const FORBIDDEN = '{"message":"Forbidden"}';

/** Services that report limits under other names than 429, and proxies in front of them. */
export const ODD_LIMITS: readonly OddService[] = [
  {
    name: 'limit-403-words',
    description: 'reports its rate limit as 403, and only the message says so',
    create: atFirst(
      refusal(403, '{"error":{"reason":"rateLimitExceeded","message":"User rate limit exceeded."}}'),
    ),
  },
  {
    name: 'limit-402-quota',
    description: 'reports a used-up quota as 402',
    create: atFirst(refusal(402, '{"message":"The quota of this minute is used up."}')),
  },
  {
    name: 'limit-403-retry-after',
    description: 'reports its rate limit as 403 with Retry-After',
    create: atFirst(refusal(403, FORBIDDEN, { 'retry-after': '1' })),
  },
  {
    name: 'limit-401-retry-after',
    description: 'reports its rate limit as 401 with Retry-After',
    create: atFirst(refusal(401, '{"message":"Unauthorized"}', { 'retry-after': '1' })),
  },
  {
    name: 'limit-403-headers',
    description: 'reports its rate limit as 403, and only X-RateLimit-Remaining: 0 says so',
    create: atFirst(refusal(403, FORBIDDEN, { 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '0' })),
  },
  {
    name: 'limit-420',
    description: 'reports its rate limit as 420',
    create: atFirst(refusal(420, '{"message":"Enhance your calm: too many requests."}')),
  },
  {
    name: 'challenge-page',
    description: 'has a proxy in front of it that answers with a challenge page first',
    create: atFirst(
      refusal(403, '<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>', {
        'content-type': 'text/html; charset=UTF-8',
        'cf-mitigated': 'challenge',
      }),
    ),
  },
  {
    name: 'limit-403-forever',
    description: 'answers 403 with words about a limit and Retry-After to every list, without an end',
    create: () => ({
      reply: (normal, call) =>
        isListRequest(call)
          ? refusal(403, '{"message":"Daily quota exceeded."}', { 'retry-after': '1' })
          : normal,
    }),
  },
  {
    name: 'challenge-forever',
    description: 'has a proxy in front of it that answers every list with a challenge page',
    create: () => ({
      reply: (normal, call) =>
        isListRequest(call)
          ? refusal(403, '<html><title>Attention Required! | Cloudflare</title></html>', {
              'content-type': 'text/html',
            })
          : normal,
    }),
  },
  {
    name: 'plain-403',
    description: 'answers 403 to every list: the key lacks the grant',
    create: () => ({ reply: (normal, call) => (isListRequest(call) ? refusal(403, FORBIDDEN) : normal) }),
  },
];
