import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { BrokenPromiseError, NotFoundError, RejectedError } from '../../../src/api/index.js';
import type { UtcSeconds } from '../../../src/core/brands.js';
import { ConfigurationError } from '../../../src/core/configuration-error.js';
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
  test('asks for a page as the spec says and hands back what came', async () => {
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

  test('a service clock that cannot be read is null', async () => {
    const { url } = await service((_, response) => json(response, 200, PAGE, { date: 'yesterday' }));
    expect((await client(url).listPage(TASKS, parseJson)).serviceDate).toBeNull();
  });

  test('a 404 says that there is no such list', async () => {
    const { url } = await service((_, response) => json(response, 404, { message: 'Unknown resource' }));
    const error = await rejection(client(url).listPage(TASKS, parseJson));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ status: 404, resource: 'tasks', serviceMessage: 'Unknown resource' });
  });

  test('another 4xx is rejected at once, with the status and cursor for the caller to decide', async () => {
    const { url, seen } = await service((_, response) => json(response, 410, { message: 'Cursor expired' }));
    const error = await rejection(client(url).listPage({ ...TASKS, cursor: cursor('c9') }, parseJson));
    expect(error).toBeInstanceOf(RejectedError);
    expect(error).toMatchObject({ kind: 'rejected', status: 410, cursor: 'c9', attempt: 1, method: 'GET' });
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

  test('a broken promise found by the parser passes through with its request', async () => {
    const { url, seen } = await service((_, response) => json(response, 200, {}));
    const error = await rejection(
      client(url).listPage({ ...TASKS, cursor: cursor('c1') }, () => {
        throw new BrokenPromiseError('The envelope has no data.', { row: 3 });
      }),
    );
    expect(error).toMatchObject({
      kind: 'broken-promise',
      resource: 'tasks',
      cursor: 'c1',
      status: 200,
      row: 3,
    });
    expect((error as Error).message).toContain('The envelope has no data.');
    expect(seen).toHaveLength(1);
  });

  test('a defect of the parser is not taken for trouble of the service', async () => {
    const { url, seen } = await service((_, response) => json(response, 200, PAGE));
    const defect = new TypeError('oops');
    const promise = client(url).listPage(TASKS, () => {
      throw defect;
    });
    expect(await rejection(promise)).toBe(defect);
    expect(seen).toHaveLength(1);
  });

  test('never more requests at a time than configured', async () => {
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
      // Nobody is answered before as many as allowed are inside, so fewer at a time would never end.
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

  test('is null for a 404', async () => {
    const { url } = await service((_, response) => json(response, 404, { message: 'No such project' }));
    expect(
      await client(url).fetchById({ resource: 'projects', path: 'projects', id: 'x' }, parseJson),
    ).toBeNull();
  });

  test('an id that would name another resource is never sent', async () => {
    const { url, seen } = await service((_, response) => json(response, 200, {}));
    const promise = client(url).fetchById({ resource: 'projects', path: 'projects', id: '..' }, parseJson);
    expect(await rejection(promise)).toMatchObject({ kind: 'rejected', status: null });
    expect(seen).toHaveLength(0);
  });
});

describe('send', () => {
  const CREATE = {
    resource: 'time-entries',
    method: 'POST',
    path: ['time-entries'],
    body: '{"note":"é"}',
  } as const;

  test('repeats a create with the same idempotency key until it is answered', async () => {
    const { url, seen } = await service((_, response, count) =>
      count < 3 ? json(response, 503, {}) : json(response, 201, { id: 't1' }),
    );
    const received = await client(url).send({ ...CREATE, idempotencyKey: 'k-1' });
    expect(received).toMatchObject({ status: 201, value: '{"id":"t1"}', retries: 2 });
    expect(seen.map((one) => one.headers['idempotency-key'])).toEqual(['k-1', 'k-1', 'k-1']);
    expect(seen.map((one) => one.body)).toEqual([CREATE.body, CREATE.body, CREATE.body]);
    expect(seen[0]?.headers['content-type']).toBe('application/json');
  });

  test('does not repeat a create without a key, which could make two records', async () => {
    const { url, seen } = await service((_, response) => json(response, 503, {}));
    expect(await rejection(client(url).send(CREATE))).toMatchObject({ kind: 'transient', attempt: 1 });
    expect(seen).toHaveLength(1);
  });

  test('repeats an upsert, and puts its path together from segments', async () => {
    const { url, seen } = await service((_, response, count) =>
      count < 2 ? json(response, 500, {}) : response.writeHead(204).end(),
    );
    const path = ['calendar-entries', 'my source', 'a/b'];
    const received = await client(url).send({ ...CREATE, method: 'PUT', path });
    expect(received).toMatchObject({ status: 204, value: '', retries: 1 });
    expect(seen[1]).toMatchObject({
      method: 'PUT',
      url: '/api/public/v2/calendar-entries/my%20source/a%2Fb',
    });
  });

  test.each([400, 404, 409, 422])('a %i is a verdict on the row', async (status) => {
    const { url, seen } = await service((_, response) => json(response, status, { message: 'Bad minutes' }));
    const error = await rejection(client(url).send({ ...CREATE, idempotencyKey: 'k' }));
    expect(error).toBeInstanceOf(RejectedError);
    expect(error).toMatchObject({ status, serviceMessage: 'Bad minutes', method: 'POST' });
    expect(seen).toHaveLength(1);
  });

  test('an idempotency key that no header can carry is rejected before it is sent', async () => {
    const { url, seen } = await service((_, response) => json(response, 201, {}));
    const error = await rejection(client(url).send({ ...CREATE, idempotencyKey: 'a\r\nb' }));
    expect(error).toBeInstanceOf(RejectedError);
    expect(seen).toHaveLength(0);
  });
});

describe('the client', () => {
  test('refuses to send the key in the clear', () => {
    expect(() => client('http://tracker.example.com')).toThrow(ConfigurationError);
  });

  test('a key that is not there is a configuration error, and frees its place in the budget', async () => {
    const { url, seen } = await service((_, response) => json(response, 200, PAGE));
    const one = client(url, { apiKey: { env: 'WORKTRACK_NOT_SET' }, http: { ...HTTP, concurrency: 1 } });
    expect(await rejection(one.listPage(TASKS, parseJson))).toBeInstanceOf(ConfigurationError);
    expect(await rejection(one.listPage(TASKS, parseJson))).toBeInstanceOf(ConfigurationError);
    expect(seen).toHaveLength(0);
  });

  test('takes up a changed key without a restart', async () => {
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

  test('does nothing once it is closed, and may be closed twice', async () => {
    const { url, seen } = await service((_, response) => json(response, 200, PAGE));
    const one = client(url);
    await one.close();
    await one.close();
    expect((await rejection(one.listPage(TASKS, parseJson))) as Error).toHaveProperty(
      'message',
      'The service client has been closed.',
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
