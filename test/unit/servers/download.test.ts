import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { downloadArchive } from '../../../src/servers/install/install.js';
import { serverSpec } from '../../../src/servers/install/known-servers.js';
import { freePort } from '../../support/ports.js';

const spec = serverSpec('versitygw');
const file = 'release.tar.gz';
let folder: string;
let target: string;
let server: Server;
let base: string;
let archive: Buffer;
let files: Map<string, Buffer | string>;

beforeEach(async () => {
  for (const name of ['NO_PROXY', 'no_proxy']) vi.stubEnv(name, '127.0.0.1');
  folder = await mkdtemp(join(tmpdir(), 'worktrack-download-'));
  target = join(folder, 'target');
  await mkdir(target);
  await mkdir(join(folder, 'inside'));
  await writeFile(join(folder, 'inside', spec.command), '#!/bin/sh\n');
  execFileSync('tar', ['-czf', join(folder, file), '-C', folder, 'inside']);
  archive = await readFile(join(folder, file));
  files = new Map([[`/${file}`, archive]]);
  server = createServer((request, response) => {
    const body = files.get(request.url ?? '');
    response.writeHead(body === undefined ? 404 : 200).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

function download(from = base) {
  return downloadArchive(
    { url: `${from}/${file}`, file, checksum: { listUrl: `${from}/checksums.txt` } },
    spec,
    {
      env: process.env,
      root: folder,
      target,
      signal: AbortSignal.timeout(20_000),
      report: () => undefined,
    },
  );
}

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

describe('downloading a release', () => {
  it('leaves only the executable in the target if the digest is correct', async () => {
    files.set('/checksums.txt', `${digest(archive)}  ${file}\n`);
    await download();
    expect(await readdir(target)).toEqual([spec.command]);
  });

  it('leaves nothing if the digest is wrong', async () => {
    files.set('/checksums.txt', `${'0'.repeat(64)}  ${file}\n`);
    await expect(download()).rejects.toThrow(`is ${digest(archive)}, but 000`);
    expect(await readdir(target)).toEqual([]);
  });

  it('fails without a published digest', async () => {
    await expect(download()).rejects.toThrow('checksums.txt responded with 404');
    files.set('/checksums.txt', 'nothing of ours');
    await expect(download()).rejects.toThrow(`does not list ${file}`);
  });

  it('names the URL and the cause if it cannot be reached', async () => {
    const closed = `http://127.0.0.1:${await freePort()}`;
    await expect(download(closed)).rejects.toThrow(/cannot reach .*checksums\.txt: .*ECONNREFUSED/);
  });
});
