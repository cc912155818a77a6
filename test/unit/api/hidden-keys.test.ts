import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { SendRequest, SentBefore } from '../../../src/api/index.js';
import { cursorTexts, displayQuery } from '../../../src/api/url.js';
import { client, cursor, json, parseJson, rejection, type Seen, service, TASKS } from './support.js';

/** The key of a record, as it may be in any place of a URL. No port, time or hash contains it. */
const MARK = 'K-q4w7z1x1/zz&9';
const FORMS = [
  MARK,
  'q4w7z1x1',
  encodeURIComponent(MARK),
  JSON.stringify(MARK).slice(1, -1),
  ...[0, 1, 2].map((at) =>
    Buffer.from('x'.repeat(at) + MARK)
      .toString('base64')
      .slice(2, -4),
  ),
];

function expectNoMark(error: unknown): void {
  const own: string[] = [inspect(error, { depth: Number.POSITIVE_INFINITY })];
  for (let each = error; each instanceof Error; each = each.cause)
    own.push(JSON.stringify(each), each.message, String(each.stack));
  for (const form of FORMS) expect(own.join('\n')).not.toContain(form);
}

/** Cursors that contain the key. */
const CURSORS: readonly [string, string][] = [
  ['the key', MARK],
  ['the key in percent-encoding', encodeURIComponent(MARK)],
  ['Base64', Buffer.from(MARK).toString('base64')],
  ['an object in Base64', Buffer.from(JSON.stringify({ after: MARK, dir: 'next' })).toString('base64url')],
  ['several fields', `id:${MARK};dir:next`],
  ['a long text', `${'p'.repeat(3000)}:${MARK}`],
];

type Answer = (request: Seen, response: ServerResponse, count: number) => void;

/** What services say about a request: its URL, its cursor, and the key itself. */
function words({ url }: Seen, sent: string): string {
  return `Cannot GET ${url} (after ${sent}): "${MARK}" is unknown`;
}

/** How requests fail. @param sent the cursor or id of the request */
const FAILURES: readonly [string, (sent: string) => Answer][] = [
  ...[400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 422, 429, 500, 502, 503].map(
    (status): [string, (sent: string) => Answer] => [
      `status ${status}`,
      (sent) => (request, response) => json(response, status, { message: words(request, sent) }),
    ],
  ),
  [
    'an error page',
    (sent) => (request, response) =>
      response.writeHead(404, { 'content-type': 'text/html' }).end(`<pre>${words(request, sent)}</pre>`),
  ],
  [
    'text instead of JSON',
    (sent) => (request, response) => response.end(`Sorry: ${words(request, sent).replaceAll('"', "'")}`),
  ],
  [
    'JSON that is cut',
    (sent) => (_, response) => response.end(`{"data":[{"id":${JSON.stringify(MARK + sent)}`),
  ],
  [
    'JSON that is wrong',
    (sent) => (_, response) => response.end(`{"data":[{"id":${JSON.stringify(MARK + sent)} x`),
  ],
  [
    'an error in the body',
    (sent) => (request, response) => json(response, 200, { error: { message: words(request, sent) } }),
  ],
  [
    'a long wait',
    (sent) => (request, response) =>
      json(response, 429, { message: words(request, sent) }, { 'retry-after': '90000' }),
  ],
  ['a connection that breaks', () => (_, response) => response.socket?.destroy()],
  [
    'a body that breaks',
    (sent) => (_, response) => {
      response.writeHead(200, { 'content-length': '9999' });
      response.write(`{"data":[{"id":${JSON.stringify(MARK + sent)}`, () => response.socket?.destroy());
    },
  ],
  ['a large body', () => (_, response) => response.end(MARK.repeat(100_000))],
  [
    'a redirect to another host',
    (sent) => (_, response) =>
      response
        .writeHead(302, {
          location: `http://other.example/${encodeURIComponent(MARK)}?after=${encodeURIComponent(sent)}`,
        })
        .end(),
  ],
  [
    'a redirect to an error page',
    (sent) => (request, response, count) =>
      count === 1
        ? response
            .writeHead(302, {
              location: `/item/${encodeURIComponent(MARK)}?after=${encodeURIComponent(MARK)}`,
            })
            .end()
        : json(response, 404, { message: words(request, sent) }),
  ],
  [
    'redirects without end',
    () => (_, response, count) =>
      response.writeHead(302, { location: `/item/${encodeURIComponent(MARK)}${count}` }).end(),
  ],
];

const ONCE = { retry: { attempts: 1, maxDelayMs: 20_000 }, giveUpAfterMs: 3_600_000 };

describe('A failed request', () => {
  it.each(FAILURES)('a list shows no key: %s', async (_, failure) => {
    for (const [, text] of CURSORS) {
      const { url } = await service(failure(text));
      const request = { ...TASKS, cursor: cursor(text) };
      const error = await rejection(client(url, ONCE).listPage(request, parse));
      expectNoMark(error);
      expect((error as Error).message).toContain('tasks');
    }
  });

  it.each(FAILURES.filter(([name]) => !/404|410|error page/.test(name)))(
    'a GET by id shows no key: %s',
    async (_, failure) => {
      const { url } = await service(failure(MARK));
      const request = { resource: 'tasks', path: 'tasks', id: MARK };
      expectNoMark(await rejection(client(url, ONCE).fetchById(request, parse)));
    },
  );
});

/** What a write-back request says of a failure; `null`: the service has accepted it. */
async function failureOfSend(url: string, path: SendRequest['path'], before: SentBefore): Promise<unknown> {
  const body = JSON.stringify({ name: 'x' });
  const one = { resource: 'calendar-entries', body, idempotencyKey: 'wt-1', attempts: 1, before };
  const method = path.length === 1 ? 'POST' : 'PUT';
  const outcome = await client(url, ONCE).send({ ...one, method, path }, parse);
  if (outcome.kind !== 'answered') return outcome.error;
  return outcome.answer.verdict === 'accepted' ? null : outcome.answer.error;
}

describe('A failed write', () => {
  const source = { value: `s ${MARK}`, shown: '<source>' };
  const sourceKey = { value: MARK, shown: '<sourceKey>' };

  it.each(FAILURES)('an upsert shows neither part of its key: %s', async (_, failure) => {
    for (const before of ['never', 'remembered', 'forgotten'] as const)
      for (const sent of [MARK, encodeURIComponent(MARK), JSON.stringify({ key: MARK })]) {
        const { url, seen } = await service(failure(sent));
        const error = await failureOfSend(url, ['calendar-entries', source, sourceKey], before);
        expect(seen[0]!.url).toContain(encodeURIComponent(MARK));
        expect(error).toBeInstanceOf(Error);
        expectNoMark(error);
      }
  });

  it.each([301, 302, 303, 307, 308])(
    'a create shows nothing of where it is redirected to with %i',
    async (status) => {
      const query = `after=${encodeURIComponent(MARK)}`;
      for (const location of [
        `/entries?${query}`,
        `http://other.example/${encodeURIComponent(MARK)}?${query}`,
      ]) {
        const { url } = await service((_, response) => response.writeHead(status, { location }).end());
        const error = await failureOfSend(url, ['time-entries'], 'never');
        expect(error).toBeInstanceOf(Error);
        expectNoMark(error);
      }
    },
  );
});

function parse(body: Parameters<typeof parseJson>[0]): unknown {
  const value = parseJson(body) as { readonly error?: { readonly message: string } };
  if (value.error !== undefined) throw new SyntaxError(`unexpected ${JSON.stringify(value.error)}`);
  return value;
}

describe('The query of a URL in a message', () => {
  it.each([
    ['', ''],
    ['?limit=10', '?limit=10'],
    [
      '?limit=10&cursor=c1&updatedSince=2026-11-21T02%3A00%3A00Z',
      '?limit=10&cursor=…&updatedSince=2026-11-21T02%3A00%3A00Z',
    ],
    ['?after=K&limit=5&x=', '?after=…&limit=5&x=…'],
    ['?limit=5&Limit=K', '?limit=5&Limit=…'],
  ])('%s has only values that are no data: %s', (query, shown) => {
    expect(displayQuery(query)).toBe(shown);
  });

  it('costs as much for a cursor of 64 KiB as for a short one, as few texts are hidden', () => {
    expect(cursorTexts('k1:'.repeat(22_000)).length).toBeLessThanOrEqual(40);
  });
});
