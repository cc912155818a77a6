import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RateBudget, type SendOutcome, type ServiceClientOptions } from '../../../src/api/index.js';
import { client, HTTP, json, KEY, KEY_VARIABLE, MAPPING, parseJson, rawService, service } from './support.js';

const CREATE = {
  resource: 'time-entries',
  method: 'POST',
  path: ['time-entries'],
  body: '{}',
  idempotencyKey: 'k-1',
} as const;

const TWICE = { attempts: 2, maxDelayMs: 20_000 };
const ONCE = { attempts: 1, maxDelayMs: 20_000 };
const HEAD = 'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n';

function send(
  url: string,
  options: Partial<ServiceClientOptions> = {},
  more: object = {},
): Promise<SendOutcome<unknown>> {
  return client(url, { retry: TWICE, ...options }).send({ ...CREATE, ...more }, parseJson);
}

/** A service that accepts the first request but loses the response; the test defines the second response. */
async function lossy(second: (socket: import('node:net').Socket) => void, beforeLoss = (): void => {}) {
  let requests = 0;
  const url = await rawService((socket, count) => {
    requests = count;
    if (count > 1) return second(socket);
    beforeLoss();
    socket.resetAndDestroy();
  });
  return { url, requests: () => requests };
}

function answer(status: number, body = '{"message":"no"}') {
  return (socket: import('node:net').Socket): void => {
    socket.end(`HTTP/1.1 ${status} Whatever\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  };
}

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return (server.address() as AddressInfo).port;
}

describe('a write counts as not sent', () => {
  test('a write counts as not sent when the connection is refused', async () => {
    expect(await send('http://127.0.0.1:1')).toMatchObject({
      kind: 'not-sent',
      error: { kind: 'transient' },
    });
  });

  test('a write counts as not sent when the connection breaks before it can carry a request, such as in its handshake', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined);
      socket.once('data', () => socket.resetAndDestroy());
    });
    onTestFinished(() => void server.close());
    const outcome = await send(`https://127.0.0.1:${await portOf(server)}`);
    expect(outcome).toMatchObject({ kind: 'not-sent', error: { kind: 'transient', reason: 'network' } });
    expect(connections).toBe(2);
  });

  test('a write counts as not sent when the key cannot be read, or the service requires a wait', async () => {
    const { url, seen } = await service((_, response) => json(response, 429, {}, { 'retry-after': '60' }));
    const apiKey = { env: 'WORKTRACK_NOT_SET' };
    expect(await send(url, { apiKey })).toMatchObject({
      kind: 'not-sent',
      error: { name: 'ConfigurationError' },
    });
    expect(seen).toHaveLength(0);
    const one = client(url);
    expect(await one.send(CREATE, parseJson)).toMatchObject({
      ...{ kind: 'answered', answer: { verdict: 'limited', error: { status: 429 } } },
    });
    expect(await one.send(CREATE, parseJson)).toMatchObject({ kind: 'not-sent', error: { reason: 'hold' } });
    expect(seen).toHaveLength(1);
  });

  test('a write counts as not sent when its deadline passes while it waits for a lease', async () => {
    const { url, seen } = await service(() => undefined);
    const outcome = await send(url, {}, { isExpired: () => true });
    expect(outcome).toMatchObject({ kind: 'not-sent', error: { kind: 'transient', reason: 'expired' } });
    expect(seen).toHaveLength(0);
  });

  test('a write counts as not sent when it is aborted while it waits for a connection, immediately', async () => {
    const controller = new AbortController();
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => undefined));
      // The handshake does not end before the request.
      socket.once('data', () => controller.abort());
    });
    onTestFinished(() => void server.close());
    const http = { ...HTTP, connectTimeoutMs: 600_000 };
    const sending = send(
      `https://127.0.0.1:${await portOf(server)}`,
      { http },
      { signal: controller.signal },
    );
    expect(await sending).toEqual({ kind: 'not-sent', error: controller.signal.reason });
    for (const socket of sockets) socket.destroy();
  });

  test('a write counts as not sent when it is aborted while it waits for a lease', async () => {
    const controller = new AbortController();
    const { url, seen } = await service(() => undefined);
    const budget = new RateBudget({ concurrency: 1, requestsPerSecond: null });
    await budget.acquire({ signal: undefined, maxHoldMs: 0, onHold: () => undefined });
    const sending = send(url, { budget }, { signal: controller.signal });
    controller.abort();
    expect(await sending).toEqual({ kind: 'not-sent', error: controller.signal.reason });
    expect(seen).toHaveLength(0);
  });
});

describe('a write stays in doubt once it may have reached the service', () => {
  test('a write stays in doubt when its response is lost and the connection of the retry is refused', async () => {
    const { url } = await lossy((socket) => socket.resetAndDestroy());
    expect(await send(url, { retry: ONCE })).toMatchObject({
      kind: 'in-doubt',
      error: { reason: 'network' },
    });
  });

  test('a write stays in doubt when its response is lost and the key cannot be read for the retry', async () => {
    const { url, requests } = await lossy(answer(201, '{"id":1}'), () => delete process.env[KEY_VARIABLE]);
    onTestFinished(() => {
      process.env[KEY_VARIABLE] = KEY;
    });
    expect(await send(url)).toMatchObject({ kind: 'in-doubt', error: { name: 'ConfigurationError' } });
    expect(requests()).toBe(1);
  });

  test.each([401, 402, 403, 404, 405, 409, 410, 412, 451, 500])(
    'a write stays in doubt when its response is lost and the retry is answered with %i, which does not apply to the first request',
    async (status) => {
      const { url } = await lossy(answer(status));
      expect(await send(url)).toMatchObject({ kind: 'in-doubt', error: { status } });
    },
  );

  test.each([401, 403, 404, 409])(
    'a write stays in doubt when an earlier call may have sent it and the response is %i',
    async (status) => {
      const { url } = await service((_, response) => json(response, status, {}));
      const outcome = await send(url, {}, { before: 'remembered' });
      expect(outcome).toMatchObject({ kind: 'in-doubt', error: { status } });
    },
  );

  test.each([409, 423])(
    'a write stays in doubt when the first response is %i because a proxy has sent the request twice',
    async (status) => {
      const { url } = await service((_, response) =>
        json(response, status, { message: 'A request with this Idempotency-Key is in progress.' }),
      );
      expect(await send(url)).toMatchObject({ kind: 'in-doubt', error: { status } });
      const other = await service((_, response) =>
        json(response, status, { message: 'A timer is in progress.' }),
      );
      expect(await send(other.url)).toMatchObject({ kind: 'answered', answer: { verdict: 'rejected' } });
    },
  );

  test.each([
    'The Idempotency-Key was used with another body.',
    'Invalid API key.',
    'Your plan has no API access.',
  ])(
    'a write stays in doubt when the retry is rejected before the service looks at the record: %s',
    async (message) => {
      const { url } = await lossy(answer(400, JSON.stringify({ message })));
      expect(await send(url)).toMatchObject({ kind: 'in-doubt', error: { status: 400 } });
    },
  );

  test.each([
    ['', '{"message":"The '],
    ['Content-Encoding: gzip\r\n', gzipSync('{"message":"The Idempotency-Key is in use"}').subarray(0, 20)],
  ])(
    'a write stays in doubt when the message of a rejection is cut, so that it may be about the key',
    async (coding, body) => {
      const { url } = await lossy((socket) => {
        socket.write(`HTTP/1.1 400 Bad Request\r\n${coding}Content-Length: 999\r\n\r\n`);
        socket.write(body, () => socket.resetAndDestroy());
      });
      expect(await send(url)).toMatchObject({ kind: 'in-doubt', error: { status: 400, isCut: true } });
    },
  );

  test('a write stays in doubt when it is rejected after the service may have forgotten its key', async () => {
    const { url } = await service((_, response) => json(response, 422, { message: 'It overlaps.' }));
    const outcome = await send(url, {}, { before: 'forgotten' });
    expect(outcome).toMatchObject({ kind: 'in-doubt', error: { status: 422 } });
  });

  test.each([500, 503, 408])(
    'a write stays in doubt when the configuration calls %i a refusal or a rejection',
    async (status) => {
      const { url } = await service((_, response) => json(response, status, {}));
      for (const errors of [
        { refused: [401, status], transient: [429] },
        { ...MAPPING, transient: [429] },
      ]) {
        const outcome = await send(url, { errors });
        expect(outcome).toMatchObject({ kind: 'in-doubt', error: { status } });
      }
    },
  );

  const whole = '{"id":"x","note":"0123456789"}';
  const spoilt: [string, string][] = [
    ['a body that is cut off', `${HEAD}Content-Length: 12\r\n\r\n${whole.slice(0, 12)}`],
    ['a body shorter than it says', `${HEAD}Content-Length: 99\r\n\r\n${whole}`],
    ['chunks without their end', `${HEAD}Transfer-Encoding: chunked\r\n\r\n1e\r\n${whole}\r\n`],
    ['a web page', `${HEAD}Content-Length: 13\r\n\r\n<html></html>`],
    ['what is not JSON', `${HEAD}Content-Length: 5\r\n\r\nhello`],
    ['no body, and no word that there is none', `${HEAD}Connection: close\r\n\r\n`],
    ['a body beyond the limit', `${HEAD}Content-Length: 5000\r\n\r\n"${'x'.repeat(4998)}"`],
    ['a redirect', 'HTTP/1.1 303 See Other\r\nLocation: /else\r\nContent-Length: 0\r\n\r\n'],
  ];
  test.each(spoilt)('a write stays in doubt when the response is %s', async (_, bytes) => {
    const url = await rawService((socket) => socket.end(bytes));
    const outcome = await send(url, { http: { ...HTTP, maxBodyBytes: 1024 } });
    expect(outcome.kind).toBe('in-doubt');
  });

  test('a write stays in doubt when it is aborted before the response', async () => {
    const controller = new AbortController();
    const { url } = await service(() => controller.abort());
    const outcome = await send(url, {}, { signal: controller.signal });
    expect(outcome).toEqual({ kind: 'in-doubt', error: controller.signal.reason });
  });

  test('a write stays in doubt when its deadline passes between two attempts', async () => {
    let now = 1_000;
    const { url, requests } = await lossy(answer(201, '{"id":1}'), () => (now = 9_000));
    const outcome = await send(url, {}, { isExpired: () => now > 8_000 });
    expect(outcome).toMatchObject({ kind: 'in-doubt', error: { reason: 'network' } });
    expect(requests()).toBe(1);
  });
});

describe('a write is settled', () => {
  test.each([401, 402, 403])('a write is settled by a %i to its only request: refused', async (status) => {
    const { url } = await service((_, response) => json(response, status, {}));
    const answered = { verdict: 'refused', error: { status } };
    expect(await send(url)).toMatchObject({ kind: 'answered', answer: answered });
  });

  test.each([400, 422])(
    'a write is settled by a %i for its content, even after a lost response: the result of an idempotency key does not change',
    async (status) => {
      const { url } = await lossy(answer(status, '{"message":"Bad minutes"}'));
      const answered = { verdict: 'rejected', error: { status, serviceMessage: 'Bad minutes' } };
      expect(await send(url)).toMatchObject({ kind: 'answered', answer: answered });
    },
  );

  test('a write is settled by the original result after a lost response', async () => {
    const { url } = await lossy(answer(201, '{"id":1}'));
    const answered = { verdict: 'accepted', received: { status: 201, retries: 1 } };
    expect(await send(url)).toMatchObject({ kind: 'answered', answer: answered });
  });
});

test.each([
  [401, 'No.'],
  [403, 'No.'],
  [403, 'Rate limit exceeded.'],
  [404, 'No.'],
  [405, 'No.'],
  [409, 'The timesheet is locked.'],
  [409, 'It exists.'],
])(
  'a %i after a 429 alone leaves a write in doubt: a proxy may have passed the first request on',
  async (status, message) => {
    const after = async (headers: Record<string, string>) => {
      const { url } = await service((_, response, count) =>
        count === 1 ? json(response, 429, {}, headers) : json(response, status, { message }),
      );
      return (await send(url, { retry: { attempts: 2, maxDelayMs: 10 } })).kind;
    };
    expect(await after({})).toBe('in-doubt');
    expect(await after({ 'retry-after': '0' })).toBe('answered');
  },
);
