import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { RateBudget } from '../../../src/api/index.js';
import { readListPage } from '../../../src/api/json/page.js';
import { toByteString } from '../../../src/core/brands.js';
import type { JsonSource } from '../../../src/json/scanner.js';
import { AllColumns } from './json/support.js';
import { client, cursor, json, PAGE, parseJson, rawService, rejection, service, TASKS } from './support.js';

const ONCE = { attempts: 1, maxDelayMs: 20_000 };
const rowsOf = (body: JsonSource) => readListPage(body, { columns: new AllColumns(), flatten: null });

async function served(answer: (response: ServerResponse, count: number, url: string) => void) {
  const { url, seen } = await service((request, response, count) => answer(response, count, request.url));
  return { url, seen };
}

describe('a body that is empty', () => {
  const bodies: [string, (response: ServerResponse) => void][] = [
    ['204', (response) => response.writeHead(204).end()],
    ['205', (response) => response.writeHead(205).end()],
    ['200 with Content-Length: 0', (response) => response.writeHead(200, { 'content-length': '0' }).end()],
    ['200 with no chunk', (response) => response.writeHead(200, { 'transfer-encoding': 'chunked' }).end()],
    ['200 with a line break', (response) => response.end('\r\n')],
    [
      '200 with a gzip label',
      (response) => response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': '0' }).end(),
    ],
  ];

  test.each(bodies)('%s is an empty list without a cursor', async (_, answer) => {
    const { url, seen } = await served((response) => answer(response));
    const received = await client(url).listPage(TASKS, rowsOf);
    expect(received).toMatchObject({ value: { rows: [], nextCursor: null }, isBlank: true });
    expect(seen).toHaveLength(1);
  });

  test.each([202, 206])(
    'a body that is empty with status %i is no list, because more is to come',
    async (status) => {
      const { url } = await served((response, count) =>
        count === 1 ? response.writeHead(status, { 'content-length': '0' }).end() : json(response, 200, PAGE),
      );
      const received = await client(url).listPage(TASKS, rowsOf);
      expect(received).toMatchObject({ value: { rows: [[expect.anything()]] }, isBlank: false, retries: 1 });
    },
  );

  test.each(bodies)('%s is transient with a cursor', async (_, answer) => {
    const { url, seen } = await served((response, count) =>
      count === 1 ? answer(response) : json(response, 200, PAGE),
    );
    const received = await client(url).listPage({ ...TASKS, cursor: cursor('c') }, rowsOf);
    expect(received).toMatchObject({ value: { rows: [[expect.anything()]] }, isBlank: false, retries: 1 });
    expect(seen).toHaveLength(2);
    const error = await rejection(
      client((await served((response) => answer(response))).url, { retry: ONCE }).listPage(
        { ...TASKS, cursor: cursor('c') },
        rowsOf,
      ),
    );
    expect(error).toMatchObject({
      kind: 'transient',
      patience: 'long',
      message: expect.stringContaining('empty'),
    });
  });

  test.each(bodies)('%s is no record of a request by id', async (_, answer) => {
    const { url } = await served((response) => answer(response));
    const request = { resource: 'projects', path: 'projects', id: 'p1' };
    expect(await rejection(client(url).fetchById(request, () => true))).toMatchObject({
      kind: 'broken-promise',
    });
  });
});

describe('a body whose Content-Type is wrong', () => {
  test.each([
    'text/html; charset=utf-8',
    'text/plain',
    'application/octet-stream',
    'application/xhtml+xml',
    '',
  ])('is JSON with the type %j', async (type) => {
    const { url } = await served((response) =>
      response.setHeader('content-type', type).end(JSON.stringify(PAGE)),
    );
    expect(await client(url).listPage(TASKS, parseJson)).toMatchObject({ value: PAGE, retries: 0 });
  });

  test('is a web page with the type of JSON', async () => {
    const { url } = await served((response) =>
      response.setHeader('content-type', 'application/json').end('\n<html>'),
    );
    expect(await rejection(client(url, { retry: ONCE }).listPage(TASKS, parseJson))).toMatchObject({
      message: expect.stringContaining('a web page instead of JSON'),
    });
  });

  test('is a challenge page with status 202', async () => {
    const { url } = await served((response) =>
      response.writeHead(202, { 'x-amzn-waf-action': 'challenge' }).end(),
    );
    expect(await rejection(client(url, { retry: ONCE }).listPage(TASKS, parseJson))).toMatchObject({
      kind: 'transient',
      evidence: 'challenge',
    });
  });

  test('is a short text, which the message quotes; a long one is not quoted', async () => {
    for (const [text, says] of [
      ['upstream connect error', /text instead of JSON: upstream connect error$/],
      [`id,name\n${'x'.repeat(300)}`, /text instead of JSON$/],
      // The beginning of a page was lost.
      ['a":[{"id":"7","note":"ill"}],"page":{"nextCursor":null}}', /text instead of JSON$/],
    ] as const) {
      const { url } = await served((response) => response.end(text));
      const error = await rejection(client(url, { retry: ONCE }).listPage(TASKS, parseJson));
      expect(error).toMatchObject({ kind: 'transient', message: expect.stringMatching(says) });
    }
  });
});

describe('an error with status 200', () => {
  test('is requested three times more, and then ends with the text of the service', async () => {
    const { url, seen } = await served((response) =>
      json(response, 200, { error: { message: 'Index is rebuilding' } }),
    );
    const error = await rejection(client(url).listPage(TASKS, rowsOf));
    expect(error).toMatchObject({
      kind: 'transient',
      retryable: false,
      serviceMessage: 'Index is rebuilding',
    });
    expect((error as Error).message).toMatch(
      /^tasks: GET .* answered 200, but its body reports an error: Index is/,
    );
    expect(seen).toHaveLength(4);
  });

  test('an error with status 200 that passes does no harm', async () => {
    const { url } = await served((response, count) =>
      json(response, 200, count < 4 ? { success: false, errors: ['busy'] } : PAGE),
    );
    expect(await client(url).listPage(TASKS, rowsOf)).toMatchObject({ retries: 3 });
  });

  test('never puts the key or the rest of the body into the message', async () => {
    const { url } = await service((request, response) =>
      json(response, 200, {
        success: false,
        message: `no: ${request.headers.authorization}`,
        data: [{ name: 'Secret' }],
      }),
    );
    const error = (await rejection(client(url, { retry: ONCE }).listPage(TASKS, rowsOf))) as Error;
    expect(error.message).toContain('no: Bearer [redacted]');
    expect(error.message).not.toContain('Secret');
  });
});

describe('a list that answers 404', () => {
  const missing = () => served((response) => json(response, 404, { message: 'Not Found' }));

  test('although it was read before is requested three times more', async () => {
    const { url, seen } = await missing();
    const error = await rejection(client(url).listPage({ ...TASKS, wasRead: true }, rowsOf));
    expect(error).toMatchObject({ kind: 'transient', retryable: false, status: 404 });
    expect((error as Error).message).toMatch(
      /answered 404 and says: Not Found\. It has had this list before/,
    );
    expect(seen).toHaveLength(4);
  });

  test('a list that answers 404 with a cursor, or for the first time, is reported immediately', async () => {
    const { url, seen } = await missing();
    expect(await rejection(client(url).listPage(TASKS, rowsOf))).toMatchObject({ kind: 'not-found' });
    const later = { ...TASKS, wasRead: true, cursor: cursor('c') };
    expect(await rejection(client(url).listPage(later, rowsOf))).toMatchObject({ kind: 'not-found' });
    expect(seen).toHaveLength(2);
  });
});

describe('a message with the words of the service', () => {
  const HEADERS = { 'x-ratelimit-remaining': '0' };
  test.each([
    [401, {}],
    [402, {}],
    [403, {}],
    [403, HEADERS],
    [404, {}],
    [500, { 'retry-after': '9000000' }],
  ])('consists of whole sentences, status %i %o', async (status, headers) => {
    for (const message of ['Not now', 'Not now.', 'Not now!']) {
      const { url } = await served((response) => json(response, status, { message }, headers));
      const one = client(url, { retry: ONCE, giveUpAfterMs: 1000 });
      const error = (await rejection(one.listPage({ ...TASKS, wasRead: true }, rowsOf))) as Error;
      expect(error.message).toMatch(/says: Not now[.!] [A-Z]/);
    }
  });
});

describe('JSON with raw control characters or NaN', () => {
  const text = '{"data":[{"id":"a","note":"tab\there","hours":NaN,"more":{"x":[-Infinity,"\n"]}}],"page":{}}';
  const odd = () => served((response) => response.end(text));

  test('is an error that names the option, after three retries', async () => {
    const { url, seen } = await odd();
    const error = await rejection(client(url).listPage(TASKS, rowsOf));
    expect(error).toMatchObject({ kind: 'transient', retryable: false });
    expect((error as Error).message).toContain('set `json: lenient`');
    expect(seen).toHaveLength(4);
  });

  test('is read with `json: lenient`, and the repairs are counted', async () => {
    const { url } = await odd();
    const received = await client(url, { json: 'lenient' }).listPage(TASKS, rowsOf);
    expect(received).toMatchObject({ repaired: 4, retries: 0 });
    expect(received.value.rows).toEqual([['a', 'tab\there', null, '{"x":[null,"\\u000a"]}'].map(toCell)]);
  });

  test('JSON with raw control characters or NaN that is cut is transient for long, in both modes', async () => {
    const { url } = await served((response) => response.end(text.slice(0, -5)));
    for (const mode of ['strict', 'lenient'] as const) {
      const error = await rejection(client(url, { json: mode, retry: ONCE }).listPage(TASKS, rowsOf));
      expect(error).toMatchObject({ kind: 'transient', patience: 'long' });
    }
  });
});

const toCell = (text: string | null) => (text === null ? null : toByteString(text));

describe('Retry-After', () => {
  const HOUR = 3_600_000;
  const waiting = (status: number, value: string) =>
    served((response) => response.writeHead(status, { 'retry-after': value }).end('{"message":"later"}'));

  test.each([
    [429, null],
    [503, null],
    [403, expect.objectContaining({ scope: 'grant' })],
  ])(
    'Retry-After of %i that is longer than giveUpAfter ends immediately, with its length and text',
    async (status, refusal) => {
      const { url, seen } = await waiting(status, '86400');
      const error = await rejection(client(url, { giveUpAfterMs: 6 * HOUR }).listPage(TASKS, rowsOf));
      expect(error).toMatchObject({ kind: 'transient', retryable: false, refusal });
      expect((error as Error).message).toMatch(
        /requires a wait of 1d \(Retry-After: 86400\), which is longer than `retries.giveUpAfter` \(6h\)/,
      );
      expect(seen).toHaveLength(1);
    },
  );

  test('Retry-After in the far future is quoted as it was sent', async () => {
    const at = Math.floor(Date.now() / 1000) + 500 * 86_400;
    const { url } = await waiting(429, String(at));
    const error = await rejection(client(url, { giveUpAfterMs: 6 * HOUR }).listPage(TASKS, rowsOf));
    expect((error as Error).message).toMatch(
      new RegExp(`a wait of (?:500d|499d23h) \\(Retry-After: ${at}\\)`),
    );
  });

  test('Retry-After that is odd holds other lists for a minute at most, and not at all if it is longer than giveUpAfter', async () => {
    for (const [value, giveUpAfterMs, holdMs] of [
      ['7200', 6 * HOUR, 60_000],
      ['86400', 6 * HOUR, 0],
      ['30', 6 * HOUR, 30_000],
    ] as const) {
      const budget = new RateBudget({ concurrency: 4, requestsPerSecond: null });
      const { url } = await waiting(503, value);
      await rejection(client(url, { budget, giveUpAfterMs, retry: ONCE }).listPage(TASKS, rowsOf));
      const { waitingUntil } = budget.state;
      const left = waitingUntil === null ? 0 : budget.remainingMs(waitingUntil);
      expect(left).toBeLessThanOrEqual(holdMs);
      expect(left).toBeGreaterThan(holdMs - 20_000);
    }
  });

  test('Retry-After that has passed means now', async () => {
    const { url } = await served((response, count) =>
      count === 1
        ? response.writeHead(429, { 'retry-after': '1000000000' }).end()
        : json(response, 200, PAGE),
    );
    expect(await client(url).listPage(TASKS, rowsOf)).toMatchObject({ retries: 1 });
  });
});

describe('a redirect', () => {
  test('a redirect to the path with a slash is followed with the whole query, and the page is read', async () => {
    const { url, seen } = await served((response, _, path) =>
      /\/tasks\?/.test(path)
        ? response.writeHead(301, { location: '/api/public/v2/tasks/' }).end()
        : json(response, 200, PAGE),
    );
    const request = { ...TASKS, cursor: cursor('a+b'), limit: 7 };
    expect(await client(url).listPage(request, parseJson)).toMatchObject({ value: PAGE, retries: 0 });
    expect(seen.map((one) => one.url)).toEqual([
      '/api/public/v2/tasks?limit=7&cursor=a%2Bb',
      '/api/public/v2/tasks/?limit=7&cursor=a%2Bb',
    ]);
    expect(seen[1]!.headers.authorization).toBe(seen[0]!.headers.authorization);
  });

  test('a redirect in a circle ends after a few retries', async () => {
    const { url, seen } = await served((response, _, path) =>
      response.writeHead(302, { location: path }).end(),
    );
    const error = await rejection(client(url).listPage(TASKS, parseJson));
    expect(error).toMatchObject({ reason: 'redirect', retryable: false });
    expect((error as Error).message).toContain('a redirect to itself');
    expect(seen).toHaveLength(4 * 6);
  });

  test('a redirect to another origin receives nothing, and its host is named after a few retries', async () => {
    const other = await served((response) => json(response, 200, PAGE));
    const { url, seen } = await served((response) =>
      response.writeHead(307, { location: `${other.url}/api/public/v2/tasks?token=t0ken` }).end(),
    );
    const error = await rejection(client(url).listPage(TASKS, parseJson));
    expect(error).toMatchObject({ reason: 'redirect', retryable: false });
    expect((error as Error).message).toContain(`a redirect to ${new URL(other.url).host}. Only redirects`);
    expect((error as Error).message).not.toContain('t0ken');
    expect([seen.length, other.seen.length]).toEqual([4, 0]);
  });

  test('a redirect of a write is not followed', async () => {
    const { url, seen } = await served((response) =>
      response.writeHead(308, { location: '/api/public/v2/t/' }).end(),
    );
    const write = { resource: 't', method: 'POST', path: ['t'], body: '{}', idempotencyKey: 'k' } as const;
    expect(await client(url, { retry: ONCE }).send(write, parseJson)).toMatchObject({
      error: { reason: 'redirect' },
    });
    expect(seen).toHaveLength(1);
  });

  test('a redirect without a valid Location is an error', async () => {
    const url = await rawService((socket) =>
      socket.end('HTTP/1.1 301 Moved\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'),
    );
    expect(await rejection(client(url).listPage(TASKS, parseJson))).toMatchObject({ reason: 'redirect' });
  });
});
