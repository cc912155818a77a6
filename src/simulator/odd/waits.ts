import type { Reply } from '../http/reply.js';
import { firstRequests, isListRequest, type OddBehaviour, type OddService } from './odd-service.js';

const DAY_S = 86_400;
const nowS = (): number => Math.ceil(Date.now() / 1000);

function throttled(retryAfter: string): Reply {
  const headers = { 'content-type': 'application/json', 'retry-after': retryAfter };
  return { status: 429, headers, body: Buffer.from('{"message":"Slow down."}') };
}

/** Throttles the first request for each page of a list. */
function once(retryAfter: () => string): () => OddBehaviour {
  return () => {
    const isFirst = firstRequests(1);
    return { reply: (normal, call) => (isFirst(call) ? throttled(retryAfter()) : normal) };
  };
}

/** Services whose `Retry-After` is unusual. */
export const ODD_WAITS: readonly OddService[] = [
  {
    name: 'retry-after-epoch',
    description: 'sends Retry-After as seconds since 1970',
    create: once(() => String(nowS() + 1)),
  },
  {
    name: 'retry-after-epoch-ms',
    description: 'sends Retry-After as milliseconds since 1970, with a fraction',
    create: once(() => `${Date.now() + 500}.5`),
  },
  {
    name: 'retry-after-past',
    description: 'sends a Retry-After that has passed',
    create: once(() => String(nowS() - DAY_S)),
  },
  {
    name: 'retry-after-years',
    description: 'sends a Retry-After of years for tasks',
    create: () => ({
      reply: (normal, call) =>
        isListRequest(call) && call.resource === 'tasks' ? throttled(String(nowS() + 1000 * DAY_S)) : normal,
    }),
  },
];
