import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ConnectionSettings, Settings } from '../../../src/core/settings.js';
import { AnswerService, pageOf } from '../../support/answer-service.js';
import { mirrorEntries } from '../../support/entries-mirror.js';
import { readSnapshot } from '../../support/snapshot.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const DAY = 86_400_000;
const RECORDS = Array.from({ length: 40 }, (_, at) => ({ id: `r${String(at).padStart(2, '0')}` }));

/** A mirror whose clock is a day later with each run. */
async function start(answer: AnswerService['answer'], connection = '', resource = 'fetchById: false') {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  onTestFinished(() => void vi.restoreAllMocks());
  let now = NOW;
  const service = await AnswerService.start((asked, response) => {
    response.setHeader('date', new Date(now).toUTCString());
    return answer(asked, response);
  });
  const mirror = await mirrorEntries(service.url, resource, { connection, now: () => now });
  const run = async (request = {}) => {
    now += DAY;
    service.requests.splice(0);
    const ended = await mirror.run(request).catch((error: Error) => ({ error: error.message, warnings: [] }));
    return { ...ended, requests: service.requests.length };
  };
  return {
    service,
    mirror,
    run,
    rows: async () => (await readSnapshot(mirror.store, 'entries')).rows.length,
  };
}

/** Pages of up to `limit` records, with the position as the cursor. */
function pageAt(query: URLSearchParams): {
  records: readonly { id: string }[];
  next: string | null;
  from: number;
} {
  const from = Number(query.get('cursor') ?? 0);
  const to = from + Number(query.get('limit'));
  return { records: RECORDS.slice(from, to), next: to < RECORDS.length ? String(to) : null, from };
}

describe('A time of changes that the service refuses', () => {
  const since = (says: string, isRefused: (at: number) => boolean) =>
    start(({ query }) => {
      const asked = query.get('updatedSince');
      if (asked === null || !isRefused(Date.parse(asked))) return pageOf(RECORDS);
      return { status: 400, body: JSON.stringify({ error: 'INVALID_SINCE', description: says }) };
    });

  it.each([
    'updatedSince is too old: at most 90 days',
    'updatedSince is beyond the limit of 90 days',
    'Too many days between updatedSince and now',
    'The date exceeds the retention limit',
    'Bad Request',
  ])('is followed by a request for everything (%s)', async (says) => {
    const { run } = await since(says, () => true);
    await run();
    const { requests, warnings } = await run();
    expect(requests).toBe(2);
    expect(warnings.join()).toContain('the service refused the time');
  });

  it('is an hour earlier if it is too new', async () => {
    let newest = 0;
    const { run, service } = await since('updatedSince must be in the past', (at) => at > newest);
    await run();
    newest = NOW + DAY - 1_800_000;
    const { requests, warnings } = await run();
    expect(requests).toBe(2);
    const [first, then] = service.requests.map(({ query }) => Date.parse(query.get('updatedSince')!));
    expect(first! - then!).toBe(3_600_000);
    expect(warnings.join()).toContain('changes were read from');
  });
});

describe('A list that ends', () => {
  it('is named after one request that answers 410', async () => {
    const { run } = await start(() => ({ status: 410, body: '{"message":"Use tasks2."}' }));
    const { requests, ...ended } = await run();
    expect(requests).toBe(1);
    expect((ended as { error: string }).error).toContain('has ended the list (Use tasks2.)');
  });

  it('is announced with its date', async () => {
    const headers = {
      deprecation: '@1688169599',
      sunset: 'Sat, 01 May 2027 00:00:00 GMT',
      warning: '299 - "Use v3"',
      link: '<https://service.example/v3>; rel="sunset"',
    };
    const { run } = await start(() => ({ status: 200, headers, body: pageOf([]) }));
    expect((await run()).warnings).toEqual([
      'announced: entries: it is deprecated from 2023-06-30 on; it ends on 2027-05-01 (Sunset); the service warns: Use v3; ' +
        'see https://service.example/v3',
    ]);
  });
});

/** A mirror of a service whose pages have at most so many records, and that refuses other sizes. Each run is an increment after the first. */
function atMost(most: number, body: string, connection: string) {
  const answer: AnswerService['answer'] = ({ query }) => {
    if (Number(query.get('limit')) > most) return { status: 400, body };
    if (query.has('updatedSince')) return pageOf([]);
    const { records, next } = pageAt(query);
    return pageOf(records, next);
  };
  return start(answer, `sync: { ${connection} }`);
}

const BAD_REQUEST = '{"message":"Bad Request"}';

/** The settings of a mirror with other ones of `sync`. */
function withSync(
  { settings }: { readonly settings: ConnectionSettings },
  sync: Partial<ConnectionSettings['sync']>,
): Settings {
  return { source: 'test', connections: [{ ...settings, sync: { ...settings.sync, ...sync } }] };
}

describe('A larger page that a run tries', () => {
  const BODIES = [
    { message: 'Validation failed', details: [{ field: 'limit', issue: 'max 100' }] },
    { message: 'The given data was invalid.', errors: { limit: ['must not be greater than 100'] } },
    { message: 'Bad Request' },
    { message: 'The date of the limit is in the past' },
  ].map((body) => JSON.stringify(body));

  it.each(BODIES)('costs one request, and no time of changes, if it is refused with %s', async (body) => {
    const { run, service } = await atMost(100, body, 'reconcileEvery: never');
    await run();
    for (let count = 0; count < 9; count++) {
      const { warnings } = await run();
      expect(warnings).toEqual([]);
      expect(service.requests.every(({ query }) => query.has('updatedSince'))).toBe(true);
      expect(service.requests.length).toBe(count === 6 ? 2 : 1);
    }
  });

  it.each(BODIES)('is no time of changes after `sync.pageSize` was raised, refused with %s', async (body) => {
    const { run, mirror, service } = await atMost(100, body, 'pageSize: 50, reconcileEvery: never');
    await run();
    await mirror.use(withSync(mirror, { pageSize: 1000 }));
    const { warnings } = await run();
    expect(warnings).toEqual([]);
    expect(service.requests.map(({ query }) => query.get('limit'))).toEqual([
      '1000',
      '500',
      '250',
      '125',
      '62',
    ]);
    expect(service.requests.every(({ query }) => query.has('updatedSince'))).toBe(true);
  });

  it.each(BODIES)('is no time of changes after a cursor has expired, refused with %s', async (body) => {
    let lives = 3;
    const { run, service } = await start(({ query }) => {
      if (Number(query.get('limit')) > 20) return { status: 400, body };
      const isChange = query.has('updatedSince');
      if (isChange && query.has('cursor') && --lives <= 0 && lives > -2)
        return { status: 400, body: '{"message":"The cursor has expired"}' };
      const { records, next } = pageAt(query);
      return pageOf(records, next);
    }, 'sync: { pageSize: 10, reconcileEvery: never }');
    await run();
    const { warnings } = await run();
    expect(warnings.join()).not.toContain('the service refused the time');
    expect(service.requests.some(({ query }) => query.get('limit') === '100')).toBe(true);
    expect(service.requests.every(({ query }) => query.has('updatedSince'))).toBe(true);
  });

  it('does not hide that a time is refused', async () => {
    let isOld = false;
    const { run, service } = await start(({ query }) => {
      if (isOld && query.has('updatedSince'))
        return {
          status: 400,
          body: '{"message":"Invalid","details":[{"field":"updatedSince","issue":"too old"}]}',
        };
      if (Number(query.get('limit')) > 100) return { status: 400, body: BODIES[0]! };
      const { records, next } = pageAt(query);
      return pageOf(records, next);
    }, 'sync: { reconcileEvery: never }');
    for (let count = 0; count < 7; count++) await run();
    isOld = true;
    const { warnings } = await run();
    expect(warnings.join()).toContain('the service refused the time');
    const sizes = service.requests.map(({ query }) => [query.get('limit'), query.has('updatedSince')]);
    expect(sizes).toEqual([
      ['124', true],
      ['124', false],
      ['62', false],
    ]);
  });
});

describe('A full read that is due, of a list that cannot be read to its end', () => {
  it.each<[string, AnswerService['answer']]>([
    ['a cursor that is refused', () => ({ status: 400, body: '{"message":"No records after 30"}' })],
    ['a page that fails', () => ({ status: 500, body: '{"message":"Internal error"}' })],
    ['a cursor that comes again', () => pageOf(RECORDS.slice(0, 8), '16')],
    ['pages without a new record', ({ query }) => pageOf([], `${Number(query.get('cursor')) + 1}`)],
  ])('names the setting with which increments continue (%s)', async (_, fail) => {
    let isLong = false;
    const { run, mirror } = await start((asked, response) => {
      const { query } = asked;
      if (query.has('updatedSince')) return pageOf([]);
      if (Number(query.get('limit')) > 16) return { status: 400, body: BAD_REQUEST };
      const { records, next, from } = pageAt(query);
      return isLong && from + records.length > 32 ? fail(asked, response) : pageOf(records, next);
    }, 'sync: { pageSize: 16, reconcileEvery: 2d }');
    await run();
    isLong = true;
    expect(await run()).not.toHaveProperty('error');
    for (let count = 0; count < 2; count++) {
      const { error } = (await run()) as { error: string };
      expect(error).toMatch(
        /once per `sync\.reconcileEvery` \(2d\).*With `sync\.reconcileEvery: never`, increments continue/,
      );
    }
    const { error } = (await run({ full: true })) as { error: string };
    expect(error).toContain('Nothing was published');
    expect(error).not.toContain('reconcileEvery');
    await mirror.use(withSync(mirror, { reconcileEveryMs: null }));
    expect(await run()).not.toHaveProperty('error');
  });
});

describe('A list whose cursors live shorter than its reading', () => {
  /** Each cursor is accepted for so many requests after the first page. */
  const shortLived = (lives: number) => {
    let asked = 0;
    return start(({ query }) => {
      asked = query.has('cursor') ? asked + 1 : 0;
      if (asked > lives) return { status: 400, body: '{"message":"CursorExpiredError"}' };
      const { records, next } = pageAt(query);
      return pageOf(records, next);
    }, 'sync: { pageSize: 2 }');
  };

  it('is read in larger pages', async () => {
    const { run, rows } = await shortLived(5);
    const { requests } = await run();
    expect(await rows()).toBe(40);
    expect(requests).toBeLessThan(15);
  });

  it('fails with a message that says so, if these do not help', async () => {
    const { run } = await shortLived(0);
    const { error } = (await run()) as { error: string };
    expect(error).toMatch(
      /no longer accepted its own cursor.*live shorter than the list takes.*CursorExpiredError/,
    );
  });
});

describe('A page that fails at every size', () => {
  it('is named with its place, and the run ends', async () => {
    const { run } = await start(({ query }) => {
      const { records, next, from } = pageAt(query);
      const isPoisoned = from <= 30 && from + records.length > 30;
      return isPoisoned ? { status: 500, body: '{"message":"Internal error"}' } : pageOf(records, next);
    }, 'sync: { pageSize: 16 }');
    const { error } = (await run()) as { error: string };
    expect(error).toMatch(
      /the page after record 30 \(page \d+\) fails .* What is behind it cannot be reached/,
    );
    expect(error).not.toContain('sync.pageSize');
  });
});

describe('A response that breaks HTTP', () => {
  const body = '{"data":[{"id":"a","name":"ä"}],"page":{"nextCursor":null}}';
  const raw = (head: string, text = body) =>
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${head}\r\n\r\n${text}`;

  it.each([
    [
      'a length in characters',
      raw(`Content-Length: ${body.length}`),
      /longer than its Content-Length .*characters instead of bytes/,
    ],
    [
      'two lengths',
      raw(`Content-Length: ${Buffer.byteLength(body)}\r\nTransfer-Encoding: chunked`),
      /breaks HTTP/,
    ],
    [
      'a blank in a header name',
      raw(`X Odd: 1\r\nContent-Length: ${Buffer.byteLength(body)}`),
      /breaks HTTP/,
    ],
    [
      'headers of 70 KiB',
      raw(`X-Big: ${'x'.repeat(70_000)}\r\nContent-Length: ${Buffer.byteLength(body)}`),
      /breaks HTTP.*larger than 64 KiB/,
    ],
  ])('is named after at most three requests: %s', async (_, response, says) => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    onTestFinished(() => void vi.restoreAllMocks());
    let requests = 0;
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', () => {
        requests++;
        socket.write(response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const mirror = await mirrorEntries(`http://127.0.0.1:${port}`, 'fetchById: false');
    await expect(mirror.run()).rejects.toThrow(says);
    expect(requests).toBeLessThanOrEqual(3);
  });

  it('is read with headers of 60 KiB', async () => {
    const headers = { 'x-big': 'x'.repeat(60_000) };
    const { run, rows } = await start(() => ({ status: 200, headers, body: pageOf(RECORDS) }));
    await run();
    expect(await rows()).toBe(40);
  });
});
