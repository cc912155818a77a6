import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { postAlert, postJson } from '../../../src/api/index.js';
import { parseSettings } from '../../../src/config/index.js';
import { exampleAlert } from '../../../src/core/alerts/index.js';
import { service } from './support.js';

describe('The answer of a target', () => {
  it('is shown without the parts of the address, the headers and the keys that it repeats', async () => {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        bodies.push(Buffer.concat(chunks).toString());
        response.writeHead(400, { 'retry-after': '7' });
        response.end(`no: ${request.headers.authorization} at ${request.url}, part hook_marker_1`);
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    try {
      const { port } = server.address() as AddressInfo;
      vi.stubEnv('HOOK_URL', `http://127.0.0.1:${port}/hooks/hook_marker_1?token=query_marker_2`);
      vi.stubEnv('HOOK_TOKEN', 'Bearer token_marker_3');
      vi.stubEnv('API_KEY', 'key_marker_4');
      const { connections } = parseSettings(
        `connections:
  acme:
    baseUrl: http://127.0.0.1
    apiKey: { env: API_KEY }
    lake: { url: "file:///tmp/lake" }
    notify: { url: { env: HOOK_URL }, format: slack, headers: { Authorization: { env: HOOK_TOKEN } } }
`,
        'worktrack.yaml',
      );
      const [connection] = connections;
      const [target] = connection!.notify;
      const example = exampleAlert('acme', 'failure', 0);
      const [group] = example.news.groups;
      const causes = [{ resources: ['tasks'], text: 'the service said key_marker_4\nand more' }];
      const message = { ...example, news: { ...example.news, groups: [{ ...group!, causes }] } };
      const answer = await postAlert({ connection: connection!, target: target!, message, named: [] });
      expect(answer).toMatchObject({ status: 400, retryAfterMs: 7000 });
      expect(answer.text).toContain('no: ');
      expect(answer.text).not.toContain('marker');
      expect(bodies.join()).toContain('the service said [redacted] and more');
    } finally {
      vi.unstubAllEnvs();
      server.close();
    }
  });
});

describe('A message for a target', () => {
  const PAGE = '<html><title>Just a moment...</title><body>Checking your browser</body></html>';

  it.each([
    ['202 with a header of a firewall', 202, { 'x-amzn-waf-action': 'challenge' }, ''],
    ['200 with a challenge page', 200, {}, PAGE],
    ['403 with a challenge page', 403, { 'retry-after': '7' }, PAGE],
  ])('was not delivered if the answer is %s', async (_, status, headers, text) => {
    const { url } = await service((_, response) => response.writeHead(status, headers).end(text));
    const posted = postJson({
      url,
      headers: {},
      body: {},
      timeoutMs: 5_000,
      name: 'connections.acme.notify.url',
    });
    await expect(posted).rejects.toMatchObject({
      ...{ kind: 'transient', retryable: true, evidence: 'challenge', status },
      retryAfterMs: 'retry-after' in headers ? 7_000 : null,
      message: expect.stringMatching(
        /^connections\.acme\.notify\.url cannot be reached: .* answered \d+ in its place/,
      ),
    });
  });

  it('was delivered if the answer is another page', async () => {
    const { url } = await service((_, response) => response.end('<html><title>Thank you</title></html>'));
    const post = { url, headers: {}, body: {}, timeoutMs: 5_000, name: 'n' };
    expect(await postJson(post)).toMatchObject({ status: 200 });
  });
});
