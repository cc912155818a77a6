import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { SECRET, sign, startReceiver } from './support.js';

const TASKS = '{"resource":"tasks"}';

/** A promise that the test settles. */
function gate() {
  let open = (): void => {};
  let fail = (_: Error): void => {};
  const passed = new Promise<void>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { passed, open, fail };
}

/** The receiver reads the clock once for each notice, after it has arrived. */
function countingClock() {
  let reads = 0;
  const now = (): number => {
    reads++;
    return Date.now();
  };
  return { now, reads: () => reads };
}

/** Everything that the server sends on a connection until it closes it. */
async function said(url: string, ...texts: string[]): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => {});
  for (const text of texts) socket.write(text);
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

describe('the receiver', () => {
  it('accepts a signed notice and sends a signal for its resource', async () => {
    const { post, sent } = await startReceiver();
    const response = await post(TASKS);
    expect([response.status, await response.json()]).toEqual([202, { resources: ['tasks'] }]);
    expect(sent).toEqual(['acme/tasks']);
  });

  it('treats a notice without a resource, or without valid JSON, as one for all resources', async () => {
    const { post, sent } = await startReceiver();
    for (const body of ['{}', 'hello', '', '[1]']) {
      expect((await post(body)).status).toBe(202);
      expect(sent.splice(0).sort()).toEqual(['acme/projects', 'acme/tasks']);
    }
  });

  it('accepts a notice of an ignored kind, and sends nothing', async () => {
    const { post, sent } = await startReceiver({ webhook: '      kinds: { ping: [] }\n' });
    expect((await post('{"resource":"ping"}')).status).toBe(202);
    expect(sent).toEqual([]);
  });

  it('rejects a missing, wrong or manipulated signature without the reason', async () => {
    const { post, sent, logged } = await startReceiver();
    const answers = await Promise.all([
      post(TASKS, {}),
      post(TASKS, sign(`${TASKS} `)),
      post(TASKS, { 'X-Webhook-Signature': 'zz' }),
      post(TASKS, { 'X-Webhook-Signature': SECRET }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1);
    expect(sent).toEqual([]);
    expect(logged.join('\n')).toContain('acme: a notice has no header X-Webhook-Signature');
    expect(logged.join('\n')).not.toContain(SECRET);
    // One warning for each cause, however many notices fail.
    expect(logged.length).toBe(2);
  });

  it('accepts unsigned notices only if configured', async () => {
    const { post } = await startReceiver({ webhook: '      signature: none\n' });
    expect((await post(TASKS, {})).status).toBe(202);
  });

  it('accepts a shared token', async () => {
    const { post } = await startReceiver({
      webhook:
        '      signature: { algorithm: token, header: Authorization, prefix: "Bearer ", secret: { env: WEBHOOK_UNIT_SECRET } }\n',
    });
    expect((await post(TASKS, { Authorization: `Bearer ${SECRET}` })).status).toBe(202);
    expect((await post(TASKS, { Authorization: `Bearer ${SECRET}2` })).status).toBe(401);
  });

  it('accepts the same notice again, and checks the time of one with a timestamp', async () => {
    let now = Date.parse('2026-11-21T02:00:00Z');
    const { post, sent } = await startReceiver({
      webhook: '      signature: { secret: { env: WEBHOOK_UNIT_SECRET }, timestamp: { tolerance: 1m } }\n',
      handler: { now: () => now },
    });
    const time = String(now / 1000);
    const headers = { ...sign(`${time}.${TASKS}`), 'X-Webhook-Timestamp': time };
    expect((await post(TASKS, headers)).status).toBe(202);
    expect((await post(TASKS, headers)).status).toBe(202);
    now += 61_000;
    expect((await post(TASKS, headers)).status).toBe(401);
    expect(sent.length).toBe(2);
  });

  it('answers 404 for an unknown path, and 405 with Allow for another method', async () => {
    const { url, post } = await startReceiver();
    for (const path of [
      '/',
      '/hooks',
      '/hooks/',
      '/hooks/nobody',
      '/hooks/polled',
      '/hooks/acme/',
      '/hooks/acme/x',
    ])
      expect((await post(TASKS, sign(TASKS), path)).status, path).toBe(404);
    expect((await post(TASKS, sign(TASKS), '/hooks/acme?attempt=2')).status).toBe(202);
    const get = await fetch(`${url}/hooks/acme`);
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await fetch(`${url}/healthz`, { method: 'POST' })).status).toBe(405);
  });

  it('answers 413 for a body that is too large, with or without Content-Length', async () => {
    const { url, post, sent } = await startReceiver({ webhook: '      maxBody: 1KiB\n' });
    const fits = Buffer.alloc(1024, 0x20);
    expect((await post(fits)).status).toBe(202);
    sent.length = 0;
    const large = Buffer.alloc(1025, 0x20);
    expect((await post(large)).status).toBe(413);
    expect((await post(Buffer.alloc(1024 ** 2, 0x20))).status).toBe(413);
    const chunked = httpRequest(`${url}/hooks/acme`, { method: 'POST', headers: sign(large) });
    chunked.write(large.subarray(0, 1000));
    chunked.end(large.subarray(1000));
    const [response] = await once(chunked, 'response');
    expect(response.statusCode).toBe(413);
    response.resume();
    expect(sent).toEqual([]);
  });

  it.each([
    ['{ status: 200, body: empty }', 200, ''],
    ['{ status: 204 }', 204, ''],
    ['{ status: 201 }', 201, '{"resources":["tasks"]}\n'],
  ])('gives the configured answer %s', async (answer, status, body) => {
    const { post, sent } = await startReceiver({ webhook: `      answer: ${answer}\n` });
    const response = await post(TASKS, sign(TASKS));
    expect([response.status, await response.text()]).toEqual([status, body]);
    expect(sent).toEqual(['acme/tasks']);
    expect((await post(TASKS, { 'X-Webhook-Signature': 'no' })).status).toBe(401);
  });

  it('never gives the configured answer to a notice that is not durable', async () => {
    const send = () => Promise.reject(new Error('Temporal is away'));
    const { post } = await startReceiver({ webhook: '      answer: { status: 200, body: empty }\n', send });
    expect((await post(TASKS, sign(TASKS))).status).toBe(503);
  });

  it('parses nothing of an unsigned request without a handshake, or of one that is large', async () => {
    const parse = vi.spyOn(JSON, 'parse');
    const plain = await startReceiver();
    expect((await plain.post(TASKS, {})).status).toBe(401);
    const shaking = await startReceiver({ webhook: '      handshake: challenge\n' });
    const large = JSON.stringify({ challenge: 'abc', filler: 'x'.repeat(70_000) });
    expect((await shaking.post(large, {})).status).toBe(401);
    expect(parse.mock.calls.filter(([text]) => /tasks|challenge/.test(String(text).slice(0, 100)))).toEqual(
      [],
    );
    parse.mockRestore();
    expect((await shaking.post('{"challenge":"abc"}', {})).status).toBe(200);
  });

  it('warns of a secret that can be guessed', async () => {
    const { logged, checkSecrets } = await startReceiver();
    await checkSecrets();
    expect(logged.join()).toContain('fewer than 16 characters');
  });

  it('answers 202 only after a signal that was sent after the notice is durable', async () => {
    const gates = [gate(), gate()];
    let sends = 0;
    const clock = countingClock();
    const { post, sent } = await startReceiver({
      send: () => gates[sends++]!.passed,
      handler: { now: clock.now },
    });
    const order: string[] = [];
    const first = post(TASKS).then(({ status }) => order.push(`first ${status}`));
    while (sent.length === 0) await new Promise(setImmediate);
    const second = post(TASKS).then(({ status }) => order.push(`second ${status}`));
    const third = post(TASKS).then(({ status }) => order.push(`third ${status}`));
    while (clock.reads() < 3) await new Promise(setImmediate);
    gates[0]!.open();
    await first;
    while (sent.length === 1) await new Promise(setImmediate);
    expect(order).toEqual(['first 202']);
    gates[1]!.open();
    await Promise.all([second, third]);
    expect(sent.length).toBe(2);
  });

  it('answers 503 with Retry-After if the signal fails or is late, and accepts notices again later', async () => {
    let trouble: 'fails' | 'hangs' | null = 'fails';
    const never = gate();
    const { post, logged } = await startReceiver({
      send: () =>
        trouble === 'fails'
          ? Promise.reject(new Error('14 UNAVAILABLE'))
          : trouble === 'hangs'
            ? never.passed
            : Promise.resolve(),
      handler: { waitMs: 50 },
    });
    const failed = await post(TASKS);
    expect([failed.status, failed.headers.get('retry-after')]).toEqual([503, '5']);
    trouble = 'hangs';
    expect((await post(TASKS)).status).toBe(503);
    trouble = null;
    never.open();
    await expect.poll(async () => (await post(TASKS)).status).toBe(202);
    expect(logged.join('\n')).toContain('UNAVAILABLE');
  });

  it('answers 503 and not 401 if its secret cannot be read, and logs its expected location', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'worktrack-hook-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'secret');
    let now = 0;
    const { post, logged, checkSecrets } = await startReceiver({
      webhook: `      signature: { secret: { file: ${file} } }\n`,
      handler: { now: () => now },
    });
    await expect(checkSecrets()).rejects.toThrow(file);
    expect((await post(TASKS)).status).toBe(503);
    expect(logged.join()).toContain(file);
    writeFileSync(file, `${SECRET}\n`);
    chmodSync(file, 0o644);
    expect((await post(TASKS)).status).toBe(202);
    expect(logged.join()).toContain('can be read by every user');
    // A changed secret is used without a restart.
    writeFileSync(file, 'another');
    now += 10_000;
    expect((await post(TASKS)).status).toBe(401);
    expect(logged.join()).not.toContain(SECRET);
  });

  it('is ready if Temporal answers', async () => {
    let ready = true;
    const { url } = await startReceiver({
      handler: { ready: () => (ready ? Promise.resolve() : Promise.reject(new Error('no'))) },
    });
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    ready = false;
    expect((await fetch(`${url}/healthz`)).status).toBe(503);
  });

  it('closes connections with late headers, late bodies or oversized headers', async () => {
    const { url } = await startReceiver({ server: { headersTimeoutMs: 200, requestTimeoutMs: 400 } });
    const head = 'POST /hooks/acme HTTP/1.1\r\nHost: x\r\n';
    expect(await said(url, head)).toContain('408');
    expect(await said(url, `${head}Content-Length: 10\r\n\r\nabc`)).not.toContain(' 202 ');
    const other = await startReceiver();
    expect(await said(other.url, `${head}X-Large: ${'x'.repeat(20_000)}\r\n\r\n`)).toContain('431');
    expect((await other.post(TASKS)).status).toBe(202);
  });

  it('drops connections above its limit, and accepts new ones below it', async () => {
    const { url, post } = await startReceiver({ server: { maxConnections: 2 } });
    const port = Number(new URL(url).port);
    const held = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
    await Promise.all(held.map((socket) => once(socket, 'connect')));
    await expect
      .poll(() =>
        post(TASKS).then(
          () => 'served',
          () => 'dropped',
        ),
      )
      .toBe('dropped');
    for (const socket of held) socket.destroy();
    await expect
      .poll(() =>
        post(TASKS).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(202);
  });

  it('answers requests in flight when it closes, and accepts no more', async () => {
    const held = gate();
    const { post, server, sent } = await startReceiver({ send: () => held.passed });
    const inFlight = post(TASKS);
    while (sent.length === 0) await new Promise(setImmediate);
    let closed = false;
    const closing = server.close().then(() => {
      closed = true;
    });
    await expect(post(TASKS)).rejects.toThrow('fetch failed');
    expect(closed).toBe(false);
    held.open();
    const answer = await inFlight;
    expect([answer.status, answer.headers.get('connection')]).toEqual([202, 'close']);
    await closing;
  });
});

describe('a notice that looks like a handshake', () => {
  it('is taken only if it is signed, and is never lost', async () => {
    let fails = false;
    const { post, sent } = await startReceiver({
      webhook: '      handshake: [secret, challenge, token]\n',
      send: () => (fails ? Promise.reject(new Error('14 UNAVAILABLE')) : Promise.resolve()),
    });
    const body = '{"resource":"tasks","challenge":"x"}';
    expect((await post(body, {})).status).toBe(401);
    const answer = await post(body);
    expect([answer.status, await answer.json()]).toEqual([200, { challenge: 'x' }]);
    expect(sent).toEqual(['acme/tasks']);
    fails = true;
    expect((await post(body)).status).toBe(503);
    expect((await post(TASKS, { ...sign(TASKS), 'X-Hook-Secret': 'x' })).status).toBe(503);
    expect((await post(TASKS, sign(TASKS), '/hooks/acme?validationToken=x')).status).toBe(503);
    expect((await post(TASKS, { 'X-Hook-Secret': 'x' })).status).toBe(401);
  });
});

describe('the receiver of many notices', () => {
  it('answers 503 with Retry-After above its limit, and accepts notices again below it', async () => {
    const slow = gate();
    const clock = countingClock();
    const { post, sent } = await startReceiver({
      handler: { maxNotices: 2, now: clock.now },
      send: () => slow.passed,
    });
    const taken = [post(TASKS), post(TASKS)];
    await expect.poll(clock.reads).toBe(2);
    await expect.poll(() => sent.length).toBe(1);
    const answers = await Promise.all([post(TASKS), post(TASKS)]);
    expect(answers.map(({ status }) => status)).toEqual([503, 503]);
    expect(answers[0]!.headers.get('retry-after')).toBe('5');
    expect(await answers[0]!.json()).toEqual({ message: 'too many concurrent notices' });
    slow.open();
    expect((await Promise.all(taken)).map(({ status }) => status)).toEqual([202, 202]);
    expect((await post(TASKS)).status).toBe(202);
  });

  it('calls Temporal once for all concurrent health checks', async () => {
    let asked = 0;
    const { url } = await startReceiver({
      handler: {
        ready: async () => {
          asked++;
          await new Promise(setImmediate);
        },
      },
    });
    // The server takes requests that arrive together before it continues with any of them.
    const check = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';
    const answers = await said(url, `${`${check}\r\n`.repeat(19)}${check}Connection: close\r\n\r\n`);
    expect(answers.match(/^HTTP.*/gm)).toEqual(Array(20).fill('HTTP/1.1 200 OK'));
    expect(asked).toBe(1);
  });

  it('closes a connection that sends more requests while too many responses are pending on it', async () => {
    const slow = gate();
    const { url, post } = await startReceiver({ server: { maxRequests: 3 }, send: () => slow.passed });
    const notice = `POST /hooks/acme HTTP/1.1\r\nHost: x\r\nContent-Length: ${TASKS.length}\r\n${Object.entries(
      sign(TASKS),
    )
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n${TASKS}`;
    expect(await said(url, notice.repeat(10))).toBe('');
    slow.open();
    expect((await post(TASKS)).status).toBe(202);
  });
});
