import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { RateBudget, TransientError } from '../../../src/api/index.js';
import { client, HTTP, json, PAGE, parseJson, rawService, rejection, service, TASKS } from './support.js';

const ONCE = { attempts: 1, maxDelayMs: 20_000 };
const WHOLE = JSON.stringify(PAGE);
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const GZIP_HEAD = `${HEAD}Content-Encoding: gzip\r\nContent-Length: 99\r\n\r\n`;

describe('retries', () => {
  test('a transient status is retried until the request succeeds', async () => {
    const { url, seen } = await service((_, response, count) =>
      json(response, count < 4 ? 502 : 200, count < 4 ? {} : PAGE),
    );
    expect(await client(url).listPage(TASKS, parseJson)).toMatchObject({ value: PAGE, retries: 3 });
    expect(seen).toHaveLength(4);
  });

  test('the client gives up after the configured attempts, with the last error', async () => {
    const { url, seen } = await service((_, response) => json(response, 503, { message: 'Down' }));
    const error = await rejection(client(url).listPage(TASKS, parseJson));
    expect(error).toBeInstanceOf(TransientError);
    expect(error).toMatchObject({ status: 503, retryAfterMs: null, serviceMessage: 'Down' });
    expect(seen).toHaveLength(5);
  });

  test('onWait reports the wait before a retry', async () => {
    const { url } = await service((_, response, count) => json(response, count < 2 ? 500 : 200, PAGE));
    const told: string[] = [];
    const one = client(url, { now: () => 5_000, random: () => 0.1 });
    await one.listPage({ ...TASKS, onWait: (until, why) => told.push(`${why} ${until}`) }, parseJson);
    expect(told).toEqual(['retry 5050']);
  });

  test('a wait longer than maxDelayMs is thrown, so that the caller can wait durably', async () => {
    const { url, seen } = await service((_, response) => json(response, 429, {}, { 'retry-after': '60' }));
    const one = client(url);
    const begun = performance.now();
    expect(await rejection(one.listPage(TASKS, parseJson))).toMatchObject({
      status: 429,
      retryAfterMs: 60_000,
    });
    // No other request is sent meanwhile either.
    const held = await rejection(one.listPage(TASKS, parseJson));
    expect(held).toMatchObject({ kind: 'transient', reason: 'hold', status: null });
    expect((held as TransientError).retryAfterMs).toBeGreaterThan(60_000 - (performance.now() - begun) - 1);
    expect(seen).toHaveLength(1);
  });

  test('no request of any resource is sent before the time in Retry-After', async () => {
    let refusedAt = Number.POSITIVE_INFINITY;
    const { url, seen } = await service((_, response, count) => {
      if (count > 1) return json(response, 200, PAGE);
      json(response, 429, {}, { 'retry-after': '1' });
      refusedAt = performance.now();
    });
    const waits: string[] = [];
    const budget = new RateBudget({ concurrency: 1, requestsPerSecond: null });
    const [one, other] = [client(url, { budget }), client(url, { budget })];
    const onWait = (_: number, why: string): unknown => waits.push(why);
    await Promise.all([
      one.listPage({ ...TASKS, onWait }, parseJson),
      other.listPage({ ...TASKS, resource: 'projects', path: 'projects', onWait }, parseJson),
    ]);
    expect(seen).toHaveLength(3);
    expect((seen[1]?.at ?? 0) - refusedAt).toBeGreaterThanOrEqual(1_000);
    expect(new Set(waits)).toEqual(new Set(['rate-limit']));
  });

  test('a date in Retry-After is relative to the service clock', async () => {
    const { url } = await service((_, response) =>
      json(
        response,
        503,
        {},
        {
          date: 'Sat, 21 Nov 2026 02:00:00 GMT',
          'retry-after': 'Sat, 21 Nov 2026 02:05:00 GMT',
        },
      ),
    );
    expect(await rejection(client(url).listPage(TASKS, parseJson))).toMatchObject({ retryAfterMs: 300_000 });
  });
});

describe('limits under other names', () => {
  const outcome = async (answer: (response: ServerResponse) => void) => {
    const { url } = await service((_, response) => answer(response));
    return rejection(client(url, { retry: { attempts: 1, maxDelayMs: 0 } }).listPage(TASKS, parseJson));
  };

  test('a refusal with words of a limit names both readings, and carries the refusal', async () => {
    const error = await outcome((response) => json(response, 403, { message: 'Rate limit exceeded' }));
    expect(error).toBeInstanceOf(TransientError);
    expect(error).toMatchObject({ evidence: 'words', refusal: { kind: 'refused', scope: 'grant' } });
    expect((error as Error).message).toMatch(
      /answered 403 and says: Rate limit exceeded\. .*a rate limit or a used-up quota.*Otherwise .*lack a grant/,
    );
  });

  test('a challenge page is named as such, and its HTML is not quoted', async () => {
    const error = await outcome((response) => {
      response.writeHead(403, { 'cf-mitigated': 'challenge', 'content-type': 'text/html' });
      response.end('<!DOCTYPE html><title>Just a moment...</title>');
    });
    expect(error).toMatchObject({ kind: 'transient', evidence: 'challenge', serviceMessage: null });
    expect((error as Error).message).toMatch(/answered 403\. This is a challenge or block page/);
    expect((error as Error).message).not.toContain('<');
  });

  test('the reason phrase is evidence', async () => {
    const error = await outcome((response) => response.writeHead(403, 'rate limit exceeded').end());
    expect(error).toMatchObject({ kind: 'transient', evidence: 'words' });
  });
});

describe('aborting', () => {
  test('ends a request in flight with the reason of the signal', async () => {
    const controller = new AbortController();
    const { url } = await service(() => controller.abort());
    const error = await rejection(client(url).listPage({ ...TASKS, signal: controller.signal }, parseJson));
    expect(error).toBe(controller.signal.reason);
    expect((error as Error).name).toBe('AbortError');
  });

  test('ends the wait before a retry, and no retry follows', async () => {
    const controller = new AbortController();
    const { url, seen } = await service((_, response) => json(response, 429, {}, { 'retry-after': '15' }));
    const request = { ...TASKS, signal: controller.signal, onWait: () => controller.abort() };
    expect(await rejection(client(url).listPage(request, parseJson))).toBe(controller.signal.reason);
    expect(seen).toHaveLength(1);
  });

  test('ends the reading of a body', async () => {
    const controller = new AbortController();
    const url = await rawService((socket) => {
      socket.write(`${HEAD}Content-Length: 100\r\n\r\n{"data`, () => controller.abort());
    });
    const error = await rejection(client(url).listPage({ ...TASKS, signal: controller.signal }, parseJson));
    expect(error).toBe(controller.signal.reason);
  });
});

describe('broken responses', () => {
  const cases: [string, (socket: import('node:net').Socket) => void, string][] = [
    ['a reset before any answer', (socket) => socket.resetAndDestroy(), 'network'],
    ['a connection closed before any answer', (socket) => socket.end(), 'network'],
    [
      'a reset within the body',
      (s) => s.write(`${HEAD}Content-Length: 99\r\n\r\n{"d`, () => s.resetAndDestroy()),
      'network',
    ],
    [
      'a reset within a gzip body',
      (s) =>
        s.write(Buffer.concat([Buffer.from(GZIP_HEAD), gzipSync(WHOLE).subarray(0, 12)]), () =>
          s.resetAndDestroy(),
        ),
      'network',
    ],
    [
      'a body shorter than its Content-Length',
      (s) => s.end(`${HEAD}Content-Length: 99\r\n\r\n${WHOLE}`),
      'network',
    ],
    [
      'a body shorter than its Content-Length on a connection that closes',
      (s) => s.end(`${HEAD}Connection: close\r\nContent-Length: 999\r\n\r\n${WHOLE}`),
      'network',
    ],
    [
      'chunks without their end',
      (s) => s.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\n6\r\n{"data\r\n`),
      'network',
    ],
    [
      'chunks without their end on a connection that closes',
      (s) => s.end(`${HEAD}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{"data\r\n`),
      'network',
    ],
    [
      'a body that ends with the connection',
      (s) => s.end(`${HEAD}Connection: close\r\n\r\n{"data":[`),
      'body',
    ],
    ['what is not HTTP', (s) => s.end('SSH-2.0-OpenSSH_9.6\r\n'), 'malformed'],
    ['bad gzip', (s) => s.end(`${HEAD}Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello`), 'body'],
    [
      'an unknown coding',
      (s) => s.end(`${HEAD}Content-Encoding: zstd\r\nContent-Length: 5\r\n\r\nhello`),
      'body',
    ],
    [
      'a web page with the content type of JSON',
      (s) => s.end(`${HEAD}Content-Length: 15\r\n\r\n <!doctype html`),
      'body',
    ],
    ['an empty body whose end is not marked', (s) => s.end(`${HEAD}Connection: close\r\n\r\n`), 'cut'],
    ['text', (s) => s.end(`${HEAD}Content-Length: 8\r\n\r\nOverload`), 'body'],
  ];

  test.each(cases)('%s is transient, and the next attempt succeeds', async (_, broken, reason) => {
    const url = await rawService((socket, count) => {
      if (count === 1) broken(socket);
      else socket.end(`${HEAD}Content-Length: ${WHOLE.length}\r\n\r\n${WHOLE}`);
    });
    const first = await rejection(client(url, { retry: ONCE }).listPage(TASKS, parseJson));
    expect(first).toBeInstanceOf(TransientError);
    expect(first).toMatchObject({ reason, resource: 'tasks', code: 'SERVICE_TRANSIENT' });
    expect(await client(url).listPage(TASKS, parseJson)).toMatchObject({ value: PAGE });
  });

  test('a body with invalid UTF-8 is read without a retry, with U+FFFD for the invalid bytes', async () => {
    const url = await rawService((socket) => {
      socket.end(Buffer.from(`${HEAD}Content-Length: 3\r\n\r\n"\xff"`, 'latin1'));
    });
    expect(await client(url).listPage(TASKS, parseJson)).toMatchObject({
      value: '\ufffd',
      replaced: 1,
      retries: 0,
    });
  });

  test('a login page with status 200 does not count as a written record', async () => {
    const { url } = await service((_, response) =>
      response.setHeader('content-type', 'text/html').end('Please log in'),
    );
    const write = { resource: 't', method: 'PUT', path: ['t'], body: '{}', attempts: 1 } as const;
    expect(await client(url).send(write, parseJson)).toMatchObject({
      kind: 'in-doubt',
      error: { kind: 'transient', reason: 'body' },
    });
  });

  test('a gzip bomb fails at the size limit and is not requested again', async () => {
    const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024, 0x20));
    const { url, seen } = await service((_, response) =>
      response.setHeader('content-encoding', 'gzip').end(bomb),
    );
    const error = await rejection(client(url).listPage(TASKS, parseJson));
    expect(error).toMatchObject({
      code: 'SERVICE_BODY_TOO_LARGE',
      kind: 'broken-promise',
      message: expect.stringMatching(/larger than 1048576 bytes.*raise http\.maxBody\./),
    });
    expect(seen).toHaveLength(1);
  });

  test.each([
    ['a body', 'HTTP/1.1 200 OK', { kind: 'broken-promise', code: 'SERVICE_BODY_TOO_LARGE' }],
    ['the body of an error', 'HTTP/1.1 403 Forbidden', { kind: 'refused', status: 403 }],
  ])('%s without an end is read up to a limit, and its connection is closed', async (_, line, expected) => {
    let closed = false;
    const url = await rawService((socket) => {
      const block = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
      function* endless() {
        yield `${line}\r\nTransfer-Encoding: chunked\r\n\r\n`;
        for (;;) yield block;
      }
      Readable.from(endless()).pipe(socket);
      socket.on('close', () => {
        closed = true;
      });
    });
    const one = client(url, { retry: ONCE });
    expect(await rejection(one.listPage(TASKS, parseJson))).toMatchObject(expected);
    await expect.poll(() => closed).toBe(true);
  });

  test('an interim response is not the answer', async () => {
    const url = await rawService((socket) => {
      socket.end(
        `HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n${HEAD}Content-Length: ${WHOLE.length}\r\n\r\n${WHOLE}`,
      );
    });
    expect(await client(url).listPage(TASKS, parseJson)).toMatchObject({ value: PAGE, status: 200 });
  });

  test('a whole gzip body is read', async () => {
    const { url } = await service((_, response) =>
      response.setHeader('content-encoding', 'gzip').end(gzipSync(WHOLE)),
    );
    expect(await client(url).listPage(TASKS, parseJson)).toMatchObject({ value: PAGE, bytes: WHOLE.length });
  });

  test('a refused connection is transient', async () => {
    const error = await rejection(client('http://127.0.0.1:1', { retry: ONCE }).listPage(TASKS, parseJson));
    expect(error).toMatchObject({ reason: 'network', message: expect.stringContaining('ECONNREFUSED') });
  });
});

describe('timeouts', () => {
  test('a service that never answers times out', async () => {
    const url = await rawService(() => undefined);
    const one = client(url, { retry: ONCE, http: { ...HTTP, headersTimeoutMs: 100 } });
    expect(await rejection(one.listPage(TASKS, parseJson))).toMatchObject({
      kind: 'transient',
      reason: 'timeout',
    });
  });

  test('a body that stops arriving times out', async () => {
    const url = await rawService((socket) => socket.write(`${HEAD}Content-Length: 100\r\n\r\n{"data`));
    const one = client(url, { retry: ONCE, http: { ...HTTP, bodyTimeoutMs: 100 } });
    expect(await rejection(one.listPage(TASKS, parseJson))).toMatchObject({
      kind: 'transient',
      reason: 'timeout',
    });
  });

  const drips: [string, string, string][] = [
    ['a body that drips', `${HEAD}Content-Length: ${WHOLE.length}\r\n\r\n`, WHOLE],
    ['a head that drips', 'HTTP/1.1 200 OK\r\nX-Long: ', 'x'.repeat(100_000)],
  ];
  test.each(drips)(
    '%s times out at http.responseTimeout, even if bytes keep arriving',
    async (_, head, rest) => {
      let received = 0;
      let closed = 0;
      const url = await rawService((socket) => {
        received += 1;
        socket.write(head);
        let at = 0;
        const drip = setInterval(() => socket.write(rest.charAt(at++)), 20);
        socket.on('close', () => {
          clearInterval(drip);
          closed += 1;
        });
      });
      const http = { ...HTTP, responseTimeoutMs: 150 };
      // A request that times out before it is sent, because the machine stalls, tests nothing.
      do {
        const error = await rejection(client(url, { retry: ONCE, http }).listPage(TASKS, parseJson));
        expect(error).toMatchObject({ kind: 'transient', reason: 'timeout' });
        expect((error as Error).message).toMatch(
          /tasks: GET .*not complete after 0.15 s.*http\.responseTimeout/,
        );
      } while (received === 0);
      await expect.poll(() => received - closed).toBe(0);
    },
  );

  test('an error with a slow body is classified by its status', async () => {
    const url = await rawService((socket) => {
      socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 1000\r\n\r\n');
      const drip = setInterval(() => socket.write('x'), 20);
      socket.on('close', () => clearInterval(drip));
    });
    const http = { ...HTTP, responseTimeoutMs: 500 };
    let error: unknown;
    // A request that times out before its status arrives, because the machine stalls, tests nothing.
    do error = await rejection(client(url, { retry: ONCE, http }).listPage(TASKS, parseJson));
    while ((error as TransientError).status === null);
    expect(error).toMatchObject({ kind: 'refused', status: 403 });
  });
});

describe('redirects', () => {
  test('are not followed; the error names only the target host', async () => {
    const target = await service((_, response) => json(response, 200, PAGE));
    const location = `${target.url}/login?token=abc123`;
    const { url } = await service((_, response) => response.writeHead(302, { location }).end());
    const error = await rejection(client(url, { retry: ONCE }).listPage(TASKS, parseJson));
    expect(error).toMatchObject({ kind: 'transient', reason: 'redirect', status: 302 });
    expect((error as Error).message).toContain(new URL(target.url).host);
    expect((error as Error).message).not.toContain('abc123');
    expect(target.seen).toHaveLength(0);
  });
});
