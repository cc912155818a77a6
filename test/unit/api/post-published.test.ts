import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { postPublished } from '../../../src/api/index.js';
import { parseSettings } from '../../../src/config/index.js';
import type { PublishedReport } from '../../../src/core/contract/index.js';

const KEY = Buffer.from('0123456789abcdef0123456789abcdef');
const NOW = Date.UTC(2026, 10, 21, 2);
const SNAPSHOT = 'tasks/snapshots/dt=2026-11-21/run=20261121T020000Z-1a2b3c4d/_datapackage.json';
const REPORT = {
  ...{ resource: 'tasks', outcome: 'published', runId: '20261121T020000Z-1a2b3c4d', rows: 42 },
  ...{ warnings: ['of the run'], counts: { inserted: 2 }, snapshot: SNAPSHOT },
} as unknown as PublishedReport;

function connectionOf(notify: string) {
  const [connection] = parseSettings(
    `connections:
  acme:
    baseUrl: http://127.0.0.1
    apiKey: { env: API_KEY }
    lake: { url: "file:///tmp/lake" }
    notify: ${notify}
`,
    'worktrack.yaml',
  ).connections;
  return connection!;
}

describe('a published run that is announced', () => {
  let server: Server | undefined;
  afterEach(() => {
    vi.unstubAllEnvs();
    server?.close();
  });

  async function post(secret: string | null, now = NOW) {
    let seen!: { headers: IncomingHttpHeaders; body: string };
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        seen = { headers: request.headers, body: Buffer.concat(chunks).toString() };
        response.end();
      });
    });
    await new Promise<void>((done) => server!.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    if (secret !== null) vi.stubEnv('HOOK_SECRET', secret);
    const signed = secret === null ? '' : ', secret: { env: HOOK_SECRET }';
    const connection = connectionOf(`{ url: "http://127.0.0.1:${port}/", on: [published]${signed} }`);
    const [target] = connection.notify;
    const { status } = await postPublished({ connection, target: target!, report: REPORT, now });
    server.close();
    return { status, ...seen };
  }

  it('has a body with the run, and one id however often it is posted', async () => {
    const first = await post(null);
    const again = await post(null, NOW + 60_000);
    const id = first.headers['webhook-id'];
    expect(id).toMatch(/^msg_[0-9a-f]{32}$/);
    expect(JSON.parse(first.body)).toEqual({
      ...{ type: 'published', id, connection: 'acme' },
      resources: [
        { name: 'tasks', runId: REPORT.runId, rows: 42, counts: { inserted: 2 }, snapshot: SNAPSHOT },
      ],
    });
    expect(first.headers['webhook-signature']).toBeUndefined();
    expect([again.headers['webhook-id'], again.body]).toEqual([id, first.body]);
  });

  it.each([`whsec_${KEY.toString('base64')}`, KEY.toString('base64')])(
    'is signed as Standard Webhooks: %s',
    async (secret) => {
      const { headers, body } = await post(secret);
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
      const expected = createHmac('sha256', KEY).update(signed).digest('base64');
      expect(headers['webhook-timestamp']).toBe(String(NOW / 1000));
      expect(headers['webhook-signature']).toBe(`v1,${expected}`);
    },
  );

  it.each([
    ['a password', 'a-password-that-is-long-enough!'],
    ['a longer password', 'a-password-that-is-even-longer-than-24-bytes-in-Base64'],
    ['a key of 23 bytes', `whsec_${KEY.subarray(0, 23).toString('base64')}`],
  ])('is not sent with a secret that is no key: %s', async (_, secret) => {
    await expect(post(secret)).rejects.toThrow(/\.secret is not whsec_/);
  });

  it('is sent with the shortest key that is allowed', async () => {
    const { headers } = await post(`whsec_${KEY.subarray(0, 24).toString('base64')}`);
    expect(headers['webhook-signature']).toMatch(/^v1,/);
  });

  it.each([
    ['{ url: "https://a.example", on: [published], format: slack }', /published, which only `format: json`/],
    ['{ url: "https://a.example", secret: { env: A } }', /found a secret, but `on` has no published/],
  ])('needs a target that can have it: %s', (notify, says) => {
    expect(() => connectionOf(notify)).toThrow(says);
  });

  it('is no alert', () => {
    const [target] = connectionOf('{ url: "https://a.example", on: [published, failure] }').notify;
    expect(target).toMatchObject({ on: ['failure'], published: { secret: null } });
  });
});
