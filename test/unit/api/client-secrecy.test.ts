import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { BrokenPromiseError } from '../../../src/api/index.js';
import {
  client,
  cursor,
  json,
  KEY,
  PAGE,
  parseJson,
  rawService,
  rejection,
  service,
  TASKS,
} from './support.js';

const ONCE = { attempts: 1, maxDelayMs: 20_000 };

/** Everything that a log could print of a value. */
function everythingOf(value: unknown): string {
  const own: string[] = [];
  for (let each = value; each instanceof Error; each = each.cause) {
    own.push(JSON.stringify(each), each.message, String(each.stack));
  }
  return [inspect(value, { depth: Number.POSITIVE_INFINITY, showHidden: false }), String(value), ...own].join(
    '\n',
  );
}

function expectNoKey(value: unknown): void {
  const shown = everythingOf(value);
  for (const form of [
    KEY,
    JSON.stringify(KEY).slice(1, -1),
    encodeURIComponent(KEY),
    Buffer.from(KEY).toString('base64'),
  ]) {
    expect(shown).not.toContain(form);
  }
}

describe('the key never appears', () => {
  test.each([400, 401, 403, 404, 429, 500])(
    'the key never appears when the service echoes it with status %i',
    async (status) => {
      const { url } = await service((request, response) =>
        json(response, status, { message: `Got ${request.headers.authorization}, that is ${KEY}.` }),
      );
      const error = await rejection(client(url, { retry: ONCE }).listPage(TASKS, parseJson));
      expectNoKey(error);
      expect((error as Error).message).toContain('[redacted]');
    },
  );

  test('the key never appears when it is echoed in other forms, in text that is not JSON', async () => {
    const { url } = await service((_, response) =>
      response
        .writeHead(400, { 'content-type': 'text/plain' })
        .end(`${encodeURIComponent(KEY)} ${Buffer.from(KEY).toString('base64')} ${JSON.stringify(KEY)}`),
    );
    expectNoKey(await rejection(client(url).listPage(TASKS, parseJson)));
  });

  test('the key never appears when it is at the cut of a long message', async () => {
    const { url } = await service((_, response) =>
      json(response, 400, { message: `${'x'.repeat(490)}${KEY}` }),
    );
    const error = (await rejection(client(url).listPage(TASKS, parseJson))) as { serviceMessage: string };
    expect(error.serviceMessage).not.toContain(KEY.slice(0, 6));
    expect(error.serviceMessage.length).toBeLessThanOrEqual(500);
  });

  test('the key never appears when the response is not HTTP and the error of the parser contains the received bytes', async () => {
    const url = await rawService((socket) => socket.end(`HTTP/1.1 2x0 ${KEY}\r\n\r\n`));
    expectNoKey(await rejection(client(url, { retry: ONCE }).listPage(TASKS, parseJson)));
  });

  test('the key never appears when a parser quotes the body', async () => {
    const { url } = await service((_, response) => response.end(`{"a": ${KEY}`));
    const broken = client(url).listPage(TASKS, () => {
      throw new BrokenPromiseError(`No data in {"a": ${KEY}`, { cause: new Error(KEY) });
    });
    expectNoKey(await rejection(broken));
    expectNoKey(await rejection(client(url, { retry: ONCE }).listPage(TASKS, parseJson)));
  });

  test('the key never appears when a cursor or a redirect contains it', async () => {
    const { url } = await service((_, response) =>
      response.writeHead(302, { location: `http://x/${encodeURIComponent(KEY)}` }).end(),
    );
    expectNoKey(
      await rejection(client(url, { retry: ONCE }).listPage({ ...TASKS, cursor: cursor(KEY) }, parseJson)),
    );
  });

  test('the key never appears in the client itself', async () => {
    const { url } = await service((_, response) => json(response, 200, PAGE));
    const one = client(url);
    await one.listPage(TASKS, parseJson);
    expectNoKey(one);
  });
});

describe('a record id never appears', () => {
  const ID = '01JD9KX7Q2ZT5W8M3R6V4Y0ABC';
  const formsOf = (id: string): string[] => [
    id,
    id.toLowerCase(),
    encodeURIComponent(id),
    Buffer.from(id).toString('base64').slice(4, 20),
  ];
  const echo = (id: string): object => ({
    message: `No ${id} (${id.toLowerCase()}, ${encodeURIComponent(id)}, ${Buffer.from(`x${id}`).toString('base64')}).`,
  });

  test.each([403, 409, 422, 500])(
    'a record id never appears after a fetch by id, even if the service echoes it with status %i',
    async (status) => {
      const { url } = await service((_, response) => json(response, status, echo(ID)));
      const request = { resource: 'projects', path: 'projects', id: ID };
      const error = await rejection(client(url, { retry: ONCE }).fetchById(request, parseJson));
      for (const form of formsOf(ID)) expect(everythingOf(error)).not.toContain(form);
      expect(error).toMatchObject({ status, resource: 'projects' });
      expect((error as Error).message).toContain(`GET ${url}/api/public/v2/projects/<id> answered ${status}`);
    },
  );

  test('a record id never appears after a fetch by id whose connection breaks or whose response is not HTTP', async () => {
    const request = { resource: 'projects', path: 'projects', id: ID };
    for (const bytes of [null, `HTTP/1.1 2x0 ${ID}\r\n\r\n`]) {
      const url = await rawService((socket) =>
        bytes === null ? socket.resetAndDestroy() : socket.end(bytes),
      );
      const error = await rejection(client(url, { retry: ONCE }).fetchById(request, parseJson));
      for (const form of formsOf(ID)) expect(everythingOf(error)).not.toContain(form);
      expect((error as Error).message).toContain('/projects/<id>');
    }
  });

  test('a record id never appears after an upsert, neither from its path nor from the response', async () => {
    const [source, sourceKey] = ['calendar ü', '4/7 "x"'];
    const { url, seen } = await service((_, response) => json(response, 500, echo(sourceKey)));
    const path = [
      'calendar-entries',
      { value: source, shown: '<source>' },
      { value: sourceKey, shown: '<sourceKey>' },
    ];
    const request = { resource: 'calendar-entries', method: 'PUT', path, body: '{}', attempts: 1 } as const;
    const outcome = await client(url).send(request, parseJson);
    expect(seen[0]?.url).toContain(encodeURIComponent(sourceKey));
    const { error } = outcome as { error: Error };
    for (const form of [source, sourceKey].flatMap((text) => [text, encodeURIComponent(text)]))
      expect(everythingOf(error)).not.toContain(form);
    expect(error.message).toContain(`PUT ${url}/api/public/v2/calendar-entries/<source>/<sourceKey> `);
  });

  test('a short id does not change longer words and numbers', async () => {
    const { url } = await service((_, response) => json(response, 500, { message: 'No 4 in 2024, id=4.' }));
    const request = { resource: 'projects', path: 'projects', id: '4' };
    expect(await rejection(client(url, { retry: ONCE }).fetchById(request, parseJson))).toMatchObject({
      serviceMessage: 'No <id> in 2024, id=<id>.',
    });
  });
});

test('an error names the request', async () => {
  const { url } = await service((_, response) => json(response, 500, { message: 'Oops' }));
  const error = await rejection(
    client(url, { retry: { attempts: 2, maxDelayMs: 10 } }).listPage(TASKS, parseJson),
  );
  expect(error).toMatchObject({ name: 'TransientError', resource: 'tasks' });
  const message = `tasks: GET ${url}/api/public/v2/tasks?limit=10 answered 500 and says: Oops`;
  expect((error as Error).stack?.startsWith(`TransientError: ${message}`)).toBe(true);
});
