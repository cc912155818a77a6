import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthority } from '../../support/certificates.js';
import { type ConnectProxy, startConnectProxy } from '../../support/connect-proxy.js';

const moduleAt = (path: string): string =>
  JSON.stringify(pathToFileURL(join(import.meta.dirname, '../../../dist/src/api', path)).href);
/** Sends two requests over one connection, and prints what becomes of them. */
const SCRIPT = `
  const { dispatcherFor } = await import(${moduleAt('dispatcher.js')});
  const { exchange } = await import(${moduleAt('exchange.js')});
  const limits = { headersTimeoutMs: 60_000, bodyTimeoutMs: 60_000, responseTimeoutMs: 60_000, maxBodyBytes: 1000 };
  const dispatcher = dispatcherFor(process.env.ORIGIN, { connections: 1 });
  const request = { method: 'GET', origin: process.env.ORIGIN, path: '/' };
  const send = () => exchange(dispatcher, request, limits, Date.now).then(
    ({ status, body }) => status + ' ' + body.text.whole(),
    (error) => error.code,
  );
  console.log(await send(), await send());
  await dispatcher.close();`;

describe('a service with TLS', () => {
  let folder: string;
  let authorityFile: string;
  let service: Server;
  let proxy: ConnectProxy;
  let port: number;
  let sockets = 0;

  beforeAll(async () => {
    const authority = createAuthority('Test authority');
    folder = await mkdtemp(join(tmpdir(), 'worktrack-tls-'));
    authorityFile = join(folder, 'ca.crt');
    await writeFile(authorityFile, authority.crt);
    const { crt, key } = authority.issue('service.test');
    service = createServer({ cert: crt, key }, (_, response) => response.end('ok'));
    service.on('secureConnection', () => sockets++);
    service.on('tlsClientError', () => {});
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    port = (service.address() as AddressInfo).port;
    proxy = await startConnectProxy();
  });
  afterAll(async () => {
    service.closeAllConnections();
    service.close();
    await proxy.close();
    await rm(folder, { recursive: true });
  });

  /** What the script prints in a process with this environment. */
  async function printed(host: string, env: NodeJS.ProcessEnv): Promise<string> {
    const { NODE_EXTRA_CA_CERTS: _, ...own } = process.env;
    const child = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT], {
      env: { ...own, ORIGIN: `https://${host}:${port}`, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [out] = await Promise.all([text(child.stdout), once(child, 'close')]);
    return out.trim();
  }
  const trusting = () => ({ NODE_EXTRA_CA_CERTS: authorityFile });

  it('is reached directly, over one connection, if its certificate is trusted', async () => {
    sockets = 0;
    expect(await printed('localhost', trusting())).toBe('200 ok 200 ok');
    expect(sockets).toBe(1);
  });

  it('is reached through a proxy, which sees neither the request nor its answer', async () => {
    sockets = 0;
    const through = { HTTPS_PROXY: proxy.url, NO_PROXY: undefined, no_proxy: undefined };
    expect(await printed('service.test', { ...trusting(), ...through })).toBe('200 ok 200 ok');
    expect([sockets, proxy.targets]).toEqual([1, [`service.test:${port}`]]);
    expect(proxy.heads.map((head) => head.split(' ')[0])).toEqual(['CONNECT']);
  });

  it('is not reached if its certificate is not trusted', async () => {
    const codes = await printed('localhost', {});
    expect(codes).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  });
});
