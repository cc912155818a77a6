import { chmodSync, lstatSync, mkdtempSync, rmdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { cacheRoot, versionFolder } from '../../../src/servers/install/cache.js';
import { digestFromList, releaseArchive } from '../../../src/servers/install/install.js';
import {
  goEnvironment,
  goInstallArgs,
  isGoAtLeast,
  serverSpec,
} from '../../../src/servers/install/known-servers.js';
import { startProgress } from '../../../src/servers/install/resolve.js';
import { isBindConflict } from '../../../src/servers/start/start-server.js';
import { temporalArgs, temporalEnvironment } from '../../../src/servers/start/temporal-dev-server.js';
import { versitygwArgs, versitygwEnvironment } from '../../../src/servers/start/versitygw.js';
import { javaWrapper, mavenArgs, testServerPom } from '../../support/maven-install.js';
import { TEST_SERVER } from '../../support/time-skipping-server.js';

describe('the cache folder', () => {
  it('is the configured one, or the XDG one, or under HOME', () => {
    const home = { HOME: mkdtempSync(join(tmpdir(), 'worktrack-home-')) };
    expect(cacheRoot({ ...home, XDG_CACHE_HOME: '/x', WORKTRACK_CACHE: '/w' })).toBe('/w');
    expect(cacheRoot({ ...home, XDG_CACHE_HOME: '/x', WORKTRACK_CACHE: '' })).toBe('/x/temporal-worktrack');
    expect(cacheRoot(home)).toBe(`${home.HOME}/.cache/temporal-worktrack`);
    rmSync(home.HOME, { recursive: true });
  });

  it('is a folder of this user if HOME is unset, empty, relative or the root', () => {
    expect(cacheRoot({})).toContain(`${tmpdir()}/temporal-worktrack-`);
    for (const HOME of ['', '/', 'somewhere']) expect(cacheRoot({ HOME })).toBe(cacheRoot({}));
  });

  it('is rejected in the temporary folder if others can change it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'worktrack-tmp-'));
    vi.stubEnv('TMPDIR', folder);
    const own = cacheRoot({});
    expect(lstatSync(own).mode & 0o777).toBe(0o700);
    chmodSync(own, 0o777);
    expect(() => cacheRoot({})).toThrow(`the temporary folder ${own} can be changed by other users`);
    rmdirSync(own);
    symlinkSync('/etc', own);
    expect(() => cacheRoot({})).toThrow('belongs to another user');
    rmSync(folder, { recursive: true });
  });

  it('contains version and machine', () => {
    expect(versionFolder(serverSpec('temporal'), 'linux', 'arm64')).toBe('temporal-1.5.1-linux-arm64');
  });
});

describe('official releases', () => {
  it('are named as each project names them', () => {
    const mac = { platform: 'darwin', arch: 'arm64' };
    const linux = { platform: 'linux', arch: 'x64' };
    expect(releaseArchive(serverSpec('temporal'), linux)?.file).toBe('temporal_cli_1.5.1_linux_amd64.tar.gz');
    expect(releaseArchive(serverSpec('versitygw'), linux)?.file).toBe('versitygw_v1.8.0_Linux_x86_64.tar.gz');
    expect(releaseArchive(serverSpec('versitygw'), mac)?.file).toBe('versitygw_v1.8.0_Darwin_arm64.tar.gz');
    expect(releaseArchive(TEST_SERVER, mac)).toMatchObject({
      file: 'temporal-test-server_1.32.1_macOS_arm64.tar.gz',
      checksum: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
  });

  it('are null for a machine without one', () => {
    expect(releaseArchive(serverSpec('versitygw'), { platform: 'win32', arch: 'x64' })).toBeNull();
    expect(releaseArchive(serverSpec('temporal'), { platform: 'linux', arch: 'riscv64' })).toBeNull();
  });

  it('have their digest read from the list by exact name', () => {
    const digest = 'AB'.repeat(32);
    expect(digestFromList(`${'0'.repeat(64)}  x.tar.gz.sig\n${digest} *x.tar.gz\n`, 'x.tar.gz')).toBe(
      'ab'.repeat(32),
    );
    expect(digestFromList('<html>not found</html>', 'x.tar.gz')).toBeNull();
  });
});

describe('building with Go', () => {
  it('requests the exact version', () => {
    const command = { package: 'example.com/cmd/server', versionVariable: 'main.Version' };
    expect(goInstallArgs(command, '1.8.0')).toEqual([
      ...['install', '-ldflags', '-s -w -X main.Version=1.8.0'],
      'example.com/cmd/server@v1.8.0',
    ]);
  });

  it('compares Go versions by number', () => {
    expect(isGoAtLeast('go1.26.8', '1.25')).toBe(true);
    expect(isGoAtLeast('go1.9', '1.25')).toBe(false);
    expect(isGoAtLeast('', '1.21')).toBe(false);
  });

  it('keeps the user caches with a home, and keeps its own without one', () => {
    expect(goEnvironment({ HOME: '/h' }, '/h', '/cache')).not.toHaveProperty('GOPATH');
    expect(goEnvironment({ GOFLAGS: '-v', GOARCH: 'arm' }, null, '/cache')).toMatchObject({
      GOPATH: '/cache/go',
      GOCACHE: '/cache/go/build',
      GOFLAGS: '-v -modcacherw',
      GOARCH: undefined,
    });
  });
});

describe('building with Maven', () => {
  it('requests the exact version, and uses a separate repository without a home', () => {
    expect(testServerPom('1.32.1')).toContain('<version>1.32.1</version>');
    expect(mavenArgs('/p', '/j', '/h', '/c').join(' ')).not.toContain('repo.local');
    expect(mavenArgs('/p', '/j', null, '/c')).toContain('-Dmaven.repo.local=/c/m2');
  });

  it('creates an executable that becomes the server', () => {
    expect(javaWrapper).toMatch(/^#!\/bin\/sh\n/);
    expect(javaWrapper).toMatch(/\nexec .*io\.temporal\.testserver\.TestServer "\$@"\n$/);
  });
});

describe('starting', () => {
  const gateway = { port: 7070, region: 'us-east-1', iamDir: '/iam', dataDir: '/data' };

  it('passes secrets to versitygw in the environment, and no other variables of the host', () => {
    expect(versitygwArgs(gateway)).toEqual(
      '--port 127.0.0.1:7070 --region us-east-1 --iam-dir /iam --keep-alive --quiet posix /data'.split(' '),
    );
    const env = versitygwEnvironment({ PATH: '/bin', LOGFILE: '/l', API_KEY: 'k' }, 'access', 'secret');
    expect(env).toMatchObject({ PATH: '/bin', ROOT_ACCESS_KEY: 'access', ROOT_SECRET_KEY: 'secret' });
    expect(env).not.toHaveProperty('LOGFILE');
    expect(env).not.toHaveProperty('API_KEY');
  });

  it('gives the dev server its ports, namespace and database', () => {
    const options = { port: 1, uiPort: 2, namespace: 'n', dbFile: '/s.db', extraArgs: ['--x'] };
    const line = temporalArgs(options).join(' ');
    expect(line).toContain('server start-dev --ip 127.0.0.1 --port 1 --ui-port 2 --namespace n');
    expect(line).toContain('--db-filename /s.db');
    // At the default of 20 a second, each step of a workflow waits for a tick of 50 ms.
    expect(line).toContain('--dynamic-config-value history.transferProcessorMaxPollRPS=1000');
    // At the default of a second, each shorter timer takes a second.
    expect(line).toContain('--dynamic-config-value history.timerProcessorMaxTimeShift="1ms"');
    expect(line.endsWith('--x')).toBe(true);
    expect(temporalArgs({ ...options, uiPort: null, dbFile: null })).toContain('--headless');
  });

  it('keeps client settings away from the dev server', () => {
    const own = { PATH: '/bin', USER: 'a', HOME: '/users/a' };
    expect(temporalEnvironment({ TEMPORAL_ADDRESS: 'cloud', ...own })).toEqual(own);
  });

  it('names a user and a home for Temporal, which needs both to start', () => {
    expect(temporalEnvironment({ HOME: '' })).toEqual({ USER: 'worktrack', HOME: tmpdir() });
  });

  it('distinguishes a used port from other failures', () => {
    expect(isBindConflict('listen tcp 127.0.0.1:1: bind: address already in use')).toBe(true);
    expect(isBindConflict('xattr not supported on this filesystem')).toBe(false);
  });
});

describe('progress', () => {
  beforeEach(() => void vi.spyOn(performance, 'now').mockReturnValue(0));

  it('is a line per step without a terminal, not per number', () => {
    const lines: string[] = [];
    const progress = startProgress({ write: (text) => lines.push(text) }, 'S3');
    for (const what of ['download', 'download 1 MB', 'download 2 MB', 'go install']) progress.update(what);
    progress.stop();
    expect(lines).toEqual(['S3: download, 0 s\n', 'S3: download 1 MB, 0 s\n', 'S3: go install, 0 s\n']);
  });

  it('is one line that is redrawn and cleared on a terminal', () => {
    const drawn: string[] = [];
    const progress = startProgress({ isTTY: true, write: (text) => drawn.push(text) }, 'S3');
    progress.update('go install');
    progress.stop();
    expect(drawn).toEqual(['\r\x1b[2KS3: go install, 0 s', '\r\x1b[2K']);
  });
});
