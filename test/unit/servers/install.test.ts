import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cachedExecutable, versionFolder } from '../../../src/servers/install/cache.js';
import { type InstallOptions, install, installers } from '../../../src/servers/install/install.js';
import { serverSpec } from '../../../src/servers/install/known-servers.js';
import type { Installer } from '../../../src/servers/install/server-spec.js';
import { TEST_SERVER } from '../../support/time-skipping-server.js';

const spec = serverSpec('versitygw');
let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'worktrack-install-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

function options(...list: Installer[]): InstallOptions {
  return {
    env: process.env,
    root,
    installers: list,
    signal: AbortSignal.timeout(20_000),
    report: () => undefined,
  };
}

/** Writes a script in place of a server, and counts how often it was asked to. */
function scriptInstaller(script = '#!/bin/sh\nexit 0\n') {
  const runs: string[] = [];
  const installer: Installer = {
    source: 'go install',
    async run(_spec, context) {
      runs.push(context.target);
      await writeFile(join(context.target, spec.command), script);
      await chmod(join(context.target, spec.command), 0o755);
    },
  };
  return { runs, installer };
}

const failing: Installer = {
  source: 'download',
  run: async () => {
    throw new Error('no route to host');
  },
};

describe('installing a server into the cache', () => {
  it('tries the next installer if one fails', async () => {
    const { installer } = scriptInstaller();
    expect(await install(spec, options(failing, installer))).toEqual({
      source: 'go install',
      path: cachedExecutable(root, spec),
    });
  });

  it('reports every failure if no installer works, and leaves nothing behind', async () => {
    expect(await install(spec, options(failing))).toEqual({
      source: null,
      attempts: [{ what: 'download', why: 'no route to host' }],
    });
    expect(await readdir(root)).toEqual([]);
  });

  it('rejects an executable that does not run', async () => {
    const { installer } = scriptInstaller('#!/bin/sh\necho wrong machine >&2\nexit 126\n');
    const outcome = await install(spec, options(installer));
    expect(outcome).toMatchObject({ source: null, attempts: [{ what: 'go install' }] });
    expect(JSON.stringify(outcome)).toContain('wrong machine');
  });

  it('replaces a cached executable that does not run', async () => {
    await mkdir(join(root, versionFolder(spec)));
    await writeFile(cachedExecutable(root, spec), 'cut off', { mode: 0o755 });
    const { installer } = scriptInstaller();
    expect(await install(spec, options(installer))).toMatchObject({ source: 'go install' });
  });

  it('removes the partial files of a killed installation', async () => {
    await mkdir(join(root, `.installing-${versionFolder(spec)}-dead`));
    await install(spec, options(scriptInstaller().installer));
    expect(await readdir(root)).toEqual([versionFolder(spec)]);
  });

  it('installs once if several callers install at the same time', async () => {
    const { runs, installer } = scriptInstaller();
    const outcomes = await Promise.all([1, 2, 3].map(() => install(spec, options(installer))));
    expect(runs).toHaveLength(1);
    expect(outcomes.map((outcome) => outcome.source).sort()).toEqual([
      'another process',
      'another process',
      'go install',
    ]);
  });

  it('offers Maven for the test server, and no download when offline', () => {
    const sources = (env: Record<string, string>) =>
      installers(TEST_SERVER, env).map((installer) => installer.source);
    expect(sources({})).toEqual(['download', 'Maven']);
    expect(sources({ WORKTRACK_OFFLINE: '1' })).toEqual(['Maven']);
  });
});
