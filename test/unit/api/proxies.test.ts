import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { postJson } from '../../../src/api/index.js';
import { createS3Clients } from '../../../src/lake/store/s3/s3-client.js';
import { startConnectProxy } from '../../support/connect-proxy.js';
import { client, HTTP, json, KEY, PAGE, parseJson, rejection, service, TASKS } from './support.js';

/** A proxy in the variables, and an address that only the proxy can resolve. */
async function behindProxy(variable = 'http_proxy') {
  const proxy = await startConnectProxy();
  onTestFinished(() => proxy.close());
  for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'no_proxy', 'NO_PROXY'])
    vi.stubEnv(name, undefined);
  vi.stubEnv(variable, proxy.url);
  const { url, seen } = await service((request, response) => {
    if (request.url.startsWith('/lake')) response.writeHead(200, { 'content-length': '5' }).end('bytes');
    else json(response, 200, PAGE);
  });
  return { proxy, seen, local: url, remote: url.replace('127.0.0.1', 'service.test') };
}

const http = { ...HTTP, allowPlainHttp: true };

describe('a proxy of the environment', () => {
  test.each(['http_proxy', 'HTTP_PROXY'])(
    'a proxy in %s carries the requests to the service, without seeing the key',
    async (variable) => {
      const { proxy, seen, remote } = await behindProxy(variable);
      const one = client(remote, { http });
      for (let page = 0; page < 3; page++)
        expect(await one.listPage(TASKS, parseJson)).toMatchObject({ value: PAGE });
      expect(seen[0]!.headers.authorization).toBe(`Bearer ${KEY}`);
      expect(new Set(proxy.targets)).toEqual(new Set([new URL(remote).host]));
      expect(proxy.heads.join('\n')).toMatch(/^CONNECT .*proxy-authorization Basic/i);
      expect(proxy.heads.join('\n')).not.toMatch(/Bearer|wt_live/);
    },
  );

  test('carries notifications', async () => {
    const { proxy, seen, remote } = await behindProxy();
    const post = {
      url: `${remote}/hook`,
      headers: { 'x-secret': 'abc' },
      body: {},
      timeoutMs: 5000,
      name: 'notify.url',
    };
    expect([(await postJson(post)).status, (await postJson(post)).status]).toEqual([200, 200]);
    expect([seen.length, proxy.heads.join().includes('abc')]).toEqual([2, false]);
    expect(proxy.targets[0]).toBe(new URL(remote).host);
  });

  test('carries the requests to the store', async () => {
    const { proxy, seen, remote } = await behindProxy();
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'id');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    const clients = createS3Clients({
      url: 's3://lake/x',
      endpoint: remote,
      region: 'us-east-1',
      forcePathStyle: true,
    });
    onTestFinished(() => clients.close());
    const { GetObjectCommand } = await import('@aws-sdk/client-s3');
    const { Body } = await clients.client.send(
      new GetObjectCommand({ Bucket: 'lake', Key: 'x/latest.json' }),
    );
    expect(await Body!.transformToString()).toBe('bytes');
    expect([seen[0]!.url.split('?')[0], proxy.targets[0]]).toEqual([
      '/lake/x/latest.json',
      new URL(remote).host,
    ]);
    expect(proxy.heads.join()).not.toContain('AWS4-HMAC');
  });

  test('carries nothing to this machine', async () => {
    const { proxy, local } = await behindProxy();
    vi.stubEnv('NO_PROXY', 'nothing.test');
    expect(await client(local).listPage(TASKS, parseJson)).toMatchObject({ value: PAGE });
    await postJson({ url: local, headers: {}, body: {}, timeoutMs: 5000, name: 'notify.url' });
    expect(proxy.heads).toEqual([]);
  });

  test('a proxy that refuses to connect is a transient error', async () => {
    const { remote } = await behindProxy();
    vi.stubEnv('http_proxy', 'http://127.0.0.1:9');
    const once = { attempts: 1, maxDelayMs: 0 };
    expect(await rejection(client(remote, { http, retry: once }).listPage(TASKS, parseJson))).toMatchObject({
      reason: 'network',
    });
  });
});
