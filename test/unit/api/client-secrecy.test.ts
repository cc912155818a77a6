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

/** Everything that a log could show of a value. */
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

describe('the key never shows', () => {
  test.each([400, 401, 403, 404, 429, 500])('when the service echoes it with status %i', async (status) => {
    const { url } = await service((request, response) =>
      json(response, status, { message: `Got ${request.headers.authorization}, that is ${KEY}.` }),
    );
    const error = await rejection(client(url, { retry: ONCE }).listPage(TASKS, parseJson));
    expectNoKey(error);
    expect((error as Error).message).toContain('[redacted]');
  });

  test('when it is echoed in other forms, in text that is not JSON', async () => {
    const { url } = await service((_, response) =>
      response
        .writeHead(400, { 'content-type': 'text/plain' })
        .end(`${encodeURIComponent(KEY)} ${Buffer.from(KEY).toString('base64')} ${JSON.stringify(KEY)}`),
    );
    expectNoKey(await rejection(client(url).listPage(TASKS, parseJson)));
  });

  test('when it lies where a long message is cut', async () => {
    const { url } = await service((_, response) =>
      json(response, 400, { message: `${'x'.repeat(490)}${KEY}` }),
    );
    const error = (await rejection(client(url).listPage(TASKS, parseJson))) as { serviceMessage: string };
    expect(error.serviceMessage).not.toContain(KEY.slice(0, 6));
    expect(error.serviceMessage.length).toBeLessThanOrEqual(500);
  });

  test('when the answer is so broken that the HTTP parser keeps what it received', async () => {
    const url = await rawService((socket) => socket.end(`HTTP/1.1 2x0 ${KEY}\r\n\r\n`));
    expectNoKey(await rejection(client(url, { retry: ONCE }).listPage(TASKS, parseJson)));
  });

  test('when a parser quotes the body', async () => {
    const { url } = await service((_, response) => response.end(`{"a": ${KEY}`));
    const broken = client(url).listPage(TASKS, () => {
      throw new BrokenPromiseError(`No data in {"a": ${KEY}`, { cause: new Error(KEY) });
    });
    expectNoKey(await rejection(broken));
    expectNoKey(await rejection(client(url, { retry: ONCE }).listPage(TASKS, parseJson)));
  });

  test('when a cursor or a redirect holds it', async () => {
    const { url } = await service((_, response) =>
      response.writeHead(302, { location: `http://x/${encodeURIComponent(KEY)}` }).end(),
    );
    expectNoKey(
      await rejection(client(url, { retry: ONCE }).listPage({ ...TASKS, cursor: cursor(KEY) }, parseJson)),
    );
  });

  test('in the client itself', async () => {
    const { url } = await service((_, response) => json(response, 200, PAGE));
    const one = client(url);
    await one.listPage(TASKS, parseJson);
    expectNoKey(one);
  });
});

test('an error names the request and the number of the attempt', async () => {
  const { url } = await service((_, response) => json(response, 500, { message: 'Oops' }));
  const error = await rejection(
    client(url, { retry: { attempts: 2, maxDelayMs: 10 } }).listPage(TASKS, parseJson),
  );
  expect(error).toMatchObject({
    name: 'TransientError',
    method: 'GET',
    resource: 'tasks',
    url: `${url}/api/public/v2/tasks?limit=10`,
    attempt: 2,
  });
  expect((error as Error).stack).toMatch(/^TransientError: tasks: GET .* answered 500 and says: Oops/);
});
