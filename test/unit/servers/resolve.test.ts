import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  resolveServer,
  ServerEnvironmentError,
  ServerInstallError,
  serverSpec,
} from '../../../src/servers/index.js';
import { cachedExecutable } from '../../../src/servers/install/cache.js';
import type { ResolveProbes } from '../../../src/servers/install/resolve.js';

const spec = serverSpec('versitygw');
const cached = cachedExecutable('/cache', spec);

/** A machine where only the given paths can be executed, and where installing gives the given result. */
function machine(executables: readonly string[], installed: Awaited<ReturnType<ResolveProbes['install']>>) {
  const lines: string[] = [];
  const offered: string[][] = [];
  const why = async (path: string) => (executables.includes(path) ? null : 'does not exist');
  const probes: ResolveProbes = {
    whyNotExecutable: why,
    whyNotRunning: (_spec, path) => why(path),
    find: async (command, folders) =>
      folders.map((folder) => join(folder, command)).find((path) => executables.includes(path)) ?? null,
    goFolders: async () => ['/go/bin'],
    install: async (_spec, options) => {
      offered.push(options.installers.map((installer) => installer.source));
      return installed;
    },
  };
  return {
    lines,
    offered,
    resolve: (env: Record<string, string>) =>
      resolveServer('versitygw', {
        env: { WORKTRACK_CACHE: '/cache', PATH: '/bin', ...env },
        output: { write: (text) => lines.push(text) },
        probes,
      }),
  };
}

const nothing = {
  source: null,
  attempts: [{ what: 'go install', why: '`go` is not on PATH' }],
} as const;

describe('resolving a server', () => {
  it('uses the executable in its variable before anything else', async () => {
    const here = machine(['/mine', '/bin/versitygw', cached], nothing);
    const server = await here.resolve({ WORKTRACK_VERSITYGW: '/mine' });
    expect(server).toMatchObject({ path: '/mine', source: 'environment' });
  });

  it('refuses a variable that names nothing executable, and does not look elsewhere', async () => {
    const here = machine(['/bin/versitygw'], nothing);
    const refusal = here.resolve({ WORKTRACK_VERSITYGW: '/gone' });
    await expect(refusal).rejects.toThrow(ServerEnvironmentError);
    await expect(refusal).rejects.toThrow('WORKTRACK_VERSITYGW=/gone: does not exist');
    expect(here.offered).toEqual([]);
  });

  it('treats an empty variable as unset', async () => {
    const here = machine(['/bin/versitygw'], nothing);
    expect((await here.resolve({ WORKTRACK_VERSITYGW: '' })).source).toBe('PATH');
  });

  it('takes PATH before the cache', async () => {
    const here = machine(['/bin/versitygw', cached], nothing);
    expect(await here.resolve({})).toMatchObject({ path: '/bin/versitygw', source: 'PATH' });
  });

  it('looks where go installs commands', async () => {
    const here = machine(['/go/bin/versitygw'], nothing);
    expect(await here.resolve({})).toMatchObject({ path: '/go/bin/versitygw', source: 'PATH' });
  });

  it('takes the cache before it installs', async () => {
    const here = machine([cached], nothing);
    expect(await here.resolve({})).toMatchObject({ path: cached, source: 'cache' });
    expect(here.offered).toEqual([]);
  });

  it('passes over an executable on PATH that does not run', async () => {
    const server = await resolveServer('versitygw', {
      env: { WORKTRACK_CACHE: '/cache' },
      output: { write: () => true },
      probes: {
        find: async () => '/bin/versitygw',
        goFolders: async () => [],
        whyNotRunning: async (_spec, path) => (path === cached ? null : 'does not run'),
      },
    });
    expect(server.source).toBe('cache');
  });

  it('tries the download before the package manager', async () => {
    const here = machine([], { source: 'download', path: cached });
    expect(await here.resolve({})).toMatchObject({ path: cached, source: 'download' });
    expect(here.offered).toEqual([['download', 'go install']]);
  });

  it('does not download when offline', async () => {
    const here = machine([], { source: 'go install', path: cached });
    await here.resolve({ WORKTRACK_OFFLINE: '1' });
    expect(here.offered).toEqual([['go install']]);
  });

  it('prints the result in one line', async () => {
    const here = machine(['/bin/versitygw'], nothing);
    await here.resolve({});
    expect(here.lines).toEqual([
      expect.stringMatching(/^S3 server versitygw: \/bin\/versitygw \(PATH, \d+\.\d s\)\n$/),
    ]);
  });

  it('lists every attempt and the remedies if all failed', async () => {
    const here = machine([], nothing);
    const failure = await here.resolve({ WORKTRACK_OFFLINE: '1' }).catch((error: unknown) => error);
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
