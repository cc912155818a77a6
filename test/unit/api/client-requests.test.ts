import { getEventListeners } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BrokenPromiseError, NotFoundError, RefusedError, RejectedError } from '../../../src/api/index.js';
import type { UtcSeconds } from '../../../src/core/brands.js';
import { ConfigurationError } from '../../../src/core/errors.js';
import {
  client,
  cursor,
  HTTP,
  json,
  KEY,
  KEY_VARIABLE,
  PAGE,
  parseJson,
  rejection,
  service,
  TASKS,
} from './support.js';

describe('listPage', () => {
  test('requests a page as specified and returns the response', async () => {
    const { url, seen } = await service((_, response) =>
      json(response, 200, PAGE, { date: 'Sat, 21 Nov 2026 02:00:00 GMT' }),
    );
    const received = await client(url).listPage(
      { ...TASKS, limit: 500, cursor: cursor('a+b/=&é'), updatedSince: '2026-11-21T02:00:00Z' as UtcSeconds },
      parseJson,
    );
    expect(received).toMatchObject({
      value: PAGE,
      status: 200,
      retries: 0,
      serviceDate: Date.UTC(2026, 10, 21, 2),
    });
    expect(received.bytes).toBe(JSON.stringify(PAGE).length);
    expect(seen[0]?.url).toBe(
      '/api/public/v2/tasks?limit=500&cursor=a%2Bb%2F%3D%26%C3%A9&updatedSince=2026-11-21T02%3A00%3A00Z',
    );
    expect(seen[0]?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, 'accept-encoding': 'gzip' });
  });

  test('an invalid Date header returns null', async () => {
    const { url } = await service((_, response) => json(response, 200, PAGE, { date: 'yesterday' }));
    expect((await client(url).listPage(TASKS, parseJson)).serviceDate).toBeNull();
  });

  test('a 404 throws NotFoundError', async () => {
    const { url } = await service((_, response) => json(response, 404, { message: 'Unknown resource' }));
    const error = await rejection(client(url).listPage(TASKS, parseJson));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ status: 404, resource: 'tasks', serviceMessage: 'Unknown resource' });
  });

  test('another 4xx throws RejectedError immediately, with its status', async () => {
    const { url, seen } = await service((_, response) => json(response, 410, { message: 'Cursor expired' }));
    const error = await rejection(client(url).listPage({ ...TASKS, cursor: cursor('c9') }, parseJson));
    expect(error).toBeInstanceOf(RejectedError);
    expect(error).toMatchObject({ kind: 'rejected', status: 410, resource: 'tasks' });
    expect((error as Error).message).toContain(
      `GET ${url}/api/public/v2/tasks?limit=10&cursor=… answered 410`,
    );
    expect(seen).toHaveLength(1);
  });

  test.each([
    [401, 'No', 'key'],
    [402, 'No', 'plan'],
    [403, 'No', 'grant'],
    [403, 'The plan has no API access', 'plan'],
  ])('%i (%s) is a refusal about the %s, and not retried', async (status, message, scope) => {
    const { url, seen } = await service((_, response) => json(response, status, { message }));
    const error = await rejection(client(url).listPage(TASKS, parseJson));
    expect(error).toMatchObject({ kind: 'refused', code: 'SERVICE_REFUSED', scope, status });
    expect(seen).toHaveLength(1);
  });

  test('a BrokenPromiseError from the parser is rethrown with its request', async () => {
    const { url, seen } = await service((_, response) => json(response, 200, {}));
    const error = await rejection(
      client(url).listPage({ ...TASKS, cursor: cursor('c1') }, () => {
        throw new BrokenPromiseError('The envelope has no data.', { row: 3 });
      }),
    );
    expect(error).toMatchObject({
      kind: 'broken-promise',
      resource: 'tasks',
      status: 200,
      row: 3,
    });
    expect((error as Error).message).toMatch(/cursor=…: The envelope has no data\./);
    expect(seen).toHaveLength(1);
  });

  test('a defect of the parser is not reported as a failure of the service', async () => {
    const { url, seen } = await service((_, response) => json(response, 200, PAGE));
    const defect = new TypeError('oops');
    const promise = client(url).listPage(TASKS, () => {
      throw defect;
    });
    expect(await rejection(promise)).toBe(defect);
    expect(seen).toHaveLength(1);
  });

  test('concurrent requests never exceed http.concurrency', async () => {
    let inside = 0;
    let most = 0;
    const waiting: (() => void)[] = [];
    const { url } = await service((_, response) => {
      inside += 1;
      most = Math.max(most, inside);
      waiting.push(() => {
        inside -= 1;
        json(response, 200, PAGE);
      });
      // No request is answered before the limit is reached, so a lower concurrency would never finish.
      if (waiting.length >= 3) for (const answer of waiting.splice(0)) answer();
    });
    const one = client(url, { http: { ...HTTP, concurrency: 3 } });
    await Promise.all(Array.from({ length: 9 }, () => one.listPage(TASKS, parseJson)));
    expect(most).toBe(3);
  });
});

describe('fetchById', () => {
  test('fetches one record, with its id encoded', async () => {
    const { url, seen } = await service((_, response) => json(response, 200, { id: 'a/b' }));
    const received = await client(url).fetchById(
      { resource: 'projects', path: 'projects', id: 'a/b' },
      parseJson,
    );
    expect(received?.value).toEqual({ id: 'a/b' });
    expect(seen[0]?.url).toBe('/api/public/v2/projects/a%2Fb');
  });

  test('returns null for a 404', async () => {
    const { url } = await service((_, response) => json(response, 404, { message: 'No such project' }));
    expect(
      await client(url).fetchById({ resource: 'projects', path: 'projects', id: 'x' }, parseJson),
    ).toBeNull();
  });

  test('an id that would form the path of another resource is never sent', async () => {
    const { url, seen } = await service((_, response) => json(response, 200, {}));
    const promise = client(url).fetchById({ resource: 'projects', path: 'projects', id: '..' }, parseJson);
    expect(await rejection(promise)).toMatchObject({ kind: 'rejected', status: null });
    expect(seen).toHaveLength(0);
  });
});

describe('send', () => {
  const asText = (body: string): string => body;
  const CREATE = {
    resource: 'time-entries',
    method: 'POST',
    path: ['time-entries'],
    body: '{"note":"é"}',
  } as const;

  test('retries a create with the same idempotency key until it is answered', async () => {
    const { url, seen } = await service((_, response, count) =>
      count < 3 ? json(response, 503, {}) : json(response, 201, { id: 't1' }),
    );
    const outcome = await client(url).send({ ...CREATE, idempotencyKey: 'k-1' }, asText);
    const received = { status: 201, value: '{"id":"t1"}', retries: 2 };
    expect(outcome).toMatchObject({ kind: 'answered', answer: { verdict: 'accepted', received } });
    expect(seen.map((one) => one.headers['idempotency-key'])).toEqual(['k-1', 'k-1', 'k-1']);
    expect(seen.map((one) => one.body)).toEqual([CREATE.body, CREATE.body, CREATE.body]);
    expect(seen[0]?.headers['content-type']).toBe('application/json');
  });

  test('does not retry a create without a key, because that could create two records', async () => {
    const { url, seen } = await service((_, response) => json(response, 503, {}));
    const error = { kind: 'transient' };
    expect(await client(url).send(CREATE, asText)).toMatchObject({ kind: 'in-doubt', error });
    expect(seen).toHaveLength(1);
  });

  test('retries an upsert, and builds its path from segments', async () => {
    const { url, seen } = await service((_, response, count) =>
      count < 2 ? json(response, 500, {}) : response.writeHead(204).end(),
    );
    const path = ['calendar-entries', { value: 'my source', shown: '<source>' }, 'a/b'];
    const outcome = await client(url).send({ ...CREATE, method: 'PUT', path }, asText);
    const received = { status: 204, value: '', retries: 1 };
    expect(outcome).toMatchObject({ kind: 'answered', answer: { verdict: 'accepted', received } });
    expect(seen[1]).toMatchObject({
      method: 'PUT',
      url: '/api/public/v2/calendar-entries/my%20source/a%2Fb',
    });
  });

  test.each([400, 404, 409, 422])('a %i rejects the row', async (status) => {
    const { url, seen } = await service((_, response) => json(response, status, { message: 'Bad minutes' }));
    const outcome = await client(url).send({ ...CREATE, idempotencyKey: 'k' }, asText);
    const error = { name: 'RejectedError', status, serviceMessage: 'Bad minutes', resource: CREATE.resource };
    expect(outcome).toMatchObject({ kind: 'answered', answer: { verdict: 'rejected', error } });
    expect(seen).toHaveLength(1);
  });

  test('an idempotency key that is not valid in a header is rejected before it is sent', async () => {
    const { url, seen } = await service((_, response) => json(response, 201, {}));
    const outcome = await client(url).send({ ...CREATE, idempotencyKey: 'a\r\nb' }, asText);
    expect(outcome).toMatchObject({ kind: 'not-sent', error: { name: 'RejectedError' } });
    expect(seen).toHaveLength(0);
  });
});

describe('the client', () => {
  test('refuses to send the key unencrypted', () => {
    expect(() => client('http://tracker.example.com')).toThrow(ConfigurationError);
  });

  test('a missing key is a configuration error, and its lease is released', async () => {
    const { url, seen } = await service((_, response) => json(response, 200, PAGE));
    const one = client(url, { apiKey: { env: 'WORKTRACK_NOT_SET' }, http: { ...HTTP, concurrency: 1 } });
    expect(await rejection(one.listPage(TASKS, parseJson))).toBeInstanceOf(ConfigurationError);
    expect(await rejection(one.listPage(TASKS, parseJson))).toBeInstanceOf(ConfigurationError);
    expect(seen).toHaveLength(0);
  });

  test('continues with a replaced key file after a 401 only if a guard shows the organization of the new key', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'worktrack-key-')), 'key');
    onTestFinished(() => rmSync(dirname(file), { recursive: true }));
    writeFileSync(file, 'first-key');
    const { url, seen } = await service((request, response) => {
      writeFileSync(file, 'second-key');
      const isNew = request.headers.authorization === 'Bearer second-key';
      json(response, isNew ? 200 : 401, isNew ? PAGE : { message: 'The key was revoked.' });
    });
    const one = client(url, { apiKey: { file }, awaitKeyMs: 5_000 });
    const unguarded = await rejection(one.listPage(TASKS, parseJson));
    expect([unguarded instanceof RefusedError && unguarded.scope, seen.length]).toEqual(['key', 1]);
    writeFileSync(file, 'first-key');
    const shown: string[] = [];
    const keys = {
      admits: (key: string) => shown.includes(key),
      show: async (key: string) => void shown.push(key),
    };
    const two = client(url, { apiKey: { file }, awaitKeyMs: 5_000 });
    await two.listPage({ ...TASKS, keys }, parseJson);
    expect([shown.length, seen.length]).toEqual([2, 3]);
  });

  test('uses a changed key without a restart', async () => {
    const { url, seen } = await service((_, response) => json(response, 200, PAGE));
    const one = client(url);
    await one.listPage(TASKS, parseJson);
    process.env[KEY_VARIABLE] = 'second-key';
    try {
      await one.listPage(TASKS, parseJson);
    } finally {
      process.env[KEY_VARIABLE] = KEY;
    }
    expect(seen.map((request) => request.headers.authorization)).toEqual([
      `Bearer ${KEY}`,
      'Bearer second-key',
    ]);
  });

  test('sends nothing after close, and can be closed twice', async () => {
    const { url, seen } = await service((_, response) => json(response, 200, PAGE));
    const one = client(url);
    await one.close();
    await one.close();
    expect((await rejection(one.listPage(TASKS, parseJson))) as Error).toHaveProperty(
      'message',
      'The service client is closed.',
    );
    expect(seen).toHaveLength(0);
  });

  test('leaves no listeners on a signal that outlives its requests', async () => {
    const { url } = await service((_, response, count) => json(response, count === 1 ? 503 : 200, PAGE));
    const { signal } = new AbortController();
    const one = client(url);
    for (let i = 0; i < 5; i += 1) await one.listPage({ ...TASKS, signal }, parseJson);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});
