import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { postAlert } from '../../../src/api/index.js';
import { parseSettings } from '../../../src/config/index.js';
import { exampleAlert } from '../../../src/core/alerts/index.js';

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
