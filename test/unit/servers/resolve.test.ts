import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  resolveServer,
  ServerEnvironmentError,
  ServerInstallError,
  serverSpec,
} from '../../../src/servers/index.js';
import { cachedExecutable } from '../../../src/servers/install/cache.js';
import { installers } from '../../../src/servers/install/install.js';
import type { ServerSpec } from '../../../src/servers/install/server-spec.js';

const spec = serverSpec('versitygw');
let folder: string;
let mine: string;
let onPath: string;
let cached: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-resolve-'));
  mine = join(folder, 'mine');
  onPath = join(folder, 'bin', 'versitygw');
  cached = cachedExecutable(join(folder, 'cache'), spec);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A machine with these executables only, where nothing can be downloaded, and the build has the given end. */
async function machine(executables: readonly string[], build: 'works' | 'fails' = 'fails') {
  for (const path of executables) await script(path, 'exit 0');
  const lines: string[] = [];
  const attempted: string[] = [];
  const server: ServerSpec = {
    ...spec,
    installer: {
      ...spec.installer,
      async run(_spec, { target }) {
        attempted.push(spec.installer.source);
        if (build === 'fails') throw new Error('`go` is not on PATH');
        await script(join(target, spec.command), 'exit 0');
      },
    },
  };
  const places = {
    WORKTRACK_CACHE: join(folder, 'cache'),
    PATH: dirname(onPath),
    GOBIN: join(folder, 'go'),
    GOPATH: join(folder, 'gopath'),
    WORKTRACK_OFFLINE: '1',
  };
  return {
    lines,
    attempted,
    resolve: (env: Record<string, string> = {}) =>
      resolveServer(server, {
        env: { ...places, ...env },
        output: { write: (text) => lines.push(text) },
      }),
  };
}

async function script(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
}

describe('resolving a server', () => {
  it('uses the executable in its variable before anything else', async () => {
    const here = await machine([mine, onPath, cached]);
    expect(await here.resolve({ WORKTRACK_VERSITYGW: mine })).toEqual({ path: mine, source: 'environment' });
  });

  it('refuses a variable that names nothing executable, and does not look elsewhere', async () => {
    const here = await machine([onPath]);
    const refusal = here.resolve({ WORKTRACK_VERSITYGW: '/gone' });
    await expect(refusal).rejects.toThrow(ServerEnvironmentError);
    await expect(refusal).rejects.toThrow('WORKTRACK_VERSITYGW=/gone: does not exist');
    expect(here.attempted).toEqual([]);
  });

  it('treats an empty variable as unset', async () => {
    const here = await machine([onPath]);
    expect((await here.resolve({ WORKTRACK_VERSITYGW: '' })).source).toBe('PATH');
  });

  it('takes PATH before the cache', async () => {
    const here = await machine([onPath, cached]);
    expect(await here.resolve()).toEqual({ path: onPath, source: 'PATH' });
  });

  it('looks where go installs commands', async () => {
    const built = join(folder, 'go', 'versitygw');
    const here = await machine([built]);
    expect(await here.resolve()).toEqual({ path: built, source: 'PATH' });
  });

  it('takes the cache before it installs', async () => {
    const here = await machine([cached], 'works');
    expect(await here.resolve()).toEqual({ path: cached, source: 'cache' });
    expect(here.attempted).toEqual([]);
  });

  it('passes over an executable on PATH that does not run', async () => {
    const here = await machine([onPath, cached]);
    await script(onPath, 'exit 126');
    expect((await here.resolve()).source).toBe('cache');
  });

  it('tries the download before the package manager', () => {
    expect(installers(spec, {}).map(({ source }) => source)).toEqual(['download', 'go install']);
  });

  it('does not download when offline', async () => {
    const here = await machine([], 'works');
    expect(await here.resolve()).toEqual({ path: cached, source: 'go install' });
    expect(here.attempted).toEqual(['go install']);
  });

  it('prints the result in one line', async () => {
    const here = await machine([onPath]);
    await here.resolve();
    expect(here.lines).toEqual([
      expect.stringMatching(/^S3 server versitygw: \/.*\/bin\/versitygw \(PATH, \d+\.\d s\)\n$/),
    ]);
  });

  it('lists every attempt and the remedies if all failed', async () => {
    const here = await machine([]);
    const failure = await here.resolve().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ServerInstallError);
    const { message, attempts } = failure as ServerInstallError;
    expect(attempts.map((attempt) => attempt.what)).toEqual([
      'environment variable WORKTRACK_VERSITYGW',
      'PATH',
      'cache',
      'download',
      'go install',
    ]);
    expect(message).toContain('`go` is not on PATH');
    expect(message).toContain('install Go 1.25 or newer');
    expect(message).toContain('unset WORKTRACK_OFFLINE');
    expect(message).toContain('set WORKTRACK_VERSITYGW to the path');
  });
});
