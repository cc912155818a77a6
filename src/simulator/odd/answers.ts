import type { Call } from '../http/call.js';
import type { Reply } from '../http/reply.js';
import { isListRequest, type OddBehaviour, type OddService } from './odd-service.js';

const isIncrement = (call: Call): boolean => isListRequest(call) && call.query.has('updatedSince');

/** Changes the pages of lists that were served. */
function onPages(change: (reply: Reply, call: Call) => Reply): () => OddBehaviour {
  return () => ({
    reply: (reply, call) => (isListRequest(call) && reply.status === 200 ? change(reply, call) : reply),
  });
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

/** Services whose answers mean something else than their status or label. */
export const ODD_ANSWERS: readonly OddService[] = [
  {
    name: 'empty-204',
    description: 'answers an empty list with 204 and no body',
    create: onEmptyPages(() => ({ status: 204, headers: {}, body: Buffer.alloc(0) })),
  },
  {
    name: 'empty-body',
    description: 'answers an empty list with 200 and an empty body',
    create: onEmptyPages((reply) => asJson(reply, '')),
  },
  {
    name: 'null-data',
    description: 'answers an empty list with "data": null',
    create: onEmptyPages((reply) => replaced(reply, /^\{"data":\[\]/, '{"data":null')),
  },
  {
    name: 'null-data-always',
    description: 'answers every list with "data": null',
    create: onPages((reply) => asJson(reply, '{"data":null,"page":{"nextCursor":null}}')),
  },
  {
    name: 'empty-object',
    description: 'answers every list with {}',
    create: onPages((reply) => asJson(reply, '{}')),
  },
  {
    name: 'increment-404',
    description: 'answers 404 to every request for changes',
    create: () => ({
      reply: (reply, call) =>
        isIncrement(call)
          ? {
              status: 404,
              headers: { 'content-type': 'application/json' },
              body: Buffer.from('{"message":"Not Found"}'),
            }
          : reply,
    }),
  },
  {
    name: 'html-label',
    description: 'labels its JSON as text/html',
    create: onPages((reply) => labelled(reply, 'content-type', 'text/html')),
  },
  {
    name: 'latin1',
    description: 'sends ISO-8859-1 and declares it',
    create: onPages((reply) =>
      labelled(
        asJson(reply, Buffer.from(reply.body.toString(), 'latin1')),
        'content-type',
        'application/json; charset=ISO-8859-1',
      ),
    ),
  },
  {
    name: 'utf-16',
    description: 'sends UTF-16 with a byte order mark',
    create: onPages((reply) => asJson(reply, Buffer.from(`\ufeff${reply.body.toString()}`, 'utf16le'))),
  },
  {
    name: 'coding-utf-8',
    description: 'sends Content-Encoding: UTF-8',
    create: onPages((reply) => labelled(reply, 'content-encoding', 'UTF-8')),
  },
  {
    name: 'gzip-label',
    description: 'sends Content-Encoding: gzip with a body that is not compressed',
    create: onPages((reply) => labelled(reply, 'content-encoding', 'gzip')),
  },
  {
    name: 'error-in-200',
    description: 'answers every list with 200 and an error in the body',
    create: onPages((reply) =>
      asJson(reply, '{"success":false,"error":{"message":"The index is being rebuilt."}}'),
    ),
  },
  {
    name: 'error-in-200-at-first',
    description: 'answers the first two requests with 200 and an error in the body',
    create: () => {
      let requests = 0;
      return onPages((reply) => {
        requests += 1;
        return requests > 2
          ? reply
          : asJson(reply, '{"errors":[{"message":"Timeout of a shard"}],"data":null}');
      })();
    },
  },
  {
    name: 'control-characters',
    description: 'sends tabs in strings as they are (see `json: lenient`)',
    create: onPages((reply) => replaced(reply, /\\t/g, '\t')),
  },
  {
    name: 'not-a-number',
    description: 'sends NaN instead of null (see `json: lenient`)',
    create: onPages((reply) => replaced(reply, /:null(?=[,}])(?!\}\}$)/g, ':NaN')),
  },
];
