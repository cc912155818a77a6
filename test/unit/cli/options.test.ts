import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { collect } from '../../../src/cli/command.js';
import { localExportId, localStateFolder } from '../../../src/cli/runs/local-export.js';
import { UsageError } from '../../../src/cli/shared/choose-exit-code.js';
import { positive, reachTimeoutMs } from '../../../src/cli/shared/command-options.js';

describe('options', () => {
  it('options that can be repeated are collected in order', () => {
    expect(collect('b', collect('a'))).toEqual(['a', 'b']);
  });

  it('options with numbers accept whole numbers from 1', () => {
    expect(positive('--rows', '12')).toBe(12);
    for (const text of ['0', '-1', '1.5', 'x', ''])
      expect(() => positive('--rows', text)).toThrow(UsageError);
  });

  it('set how long a server may be unreachable: one minute by default', () => {
    expect(reachTimeoutMs({})).toBe(60_000);
    expect(reachTimeoutMs({ WORKTRACK_REACH_TIMEOUT: '2s' })).toBe(2000);
    expect(() => reachTimeoutMs({ WORKTRACK_REACH_TIMEOUT: 'soon' })).toThrow(/WORKTRACK_REACH_TIMEOUT/);
  });
});

describe('the state of export --local', () => {
  it('is in the state folder, one for each configuration file', () => {
    const home = mkdtempSync(join(tmpdir(), 'worktrack-home-'));
    const env = { XDG_STATE_HOME: '/state', HOME: home };
    const folder = (...from: Parameters<typeof localStateFolder>) => localStateFolder(...from).folder;
    const one = folder('worktrack.yaml', env, '/srv');
    expect(one).toMatch(/^\/state\/temporal-worktrack\/[0-9a-f]{12}$/);
    expect(folder('/srv/worktrack.yaml', env, '/elsewhere')).toBe(one);
    expect(folder('other.yaml', env, '/srv')).not.toBe(one);
    expect(folder('x', { HOME: home }, '/')).toContain(`${home}/.local/state/temporal-worktrack/`);
    const without = localStateFolder('x', { HOME: '/' }, '/');
    expect(without.isTemporary).toBe(true);
    expect(without.folder).toContain(`${tmpdir()}/temporal-worktrack-`);
    rmSync(home, { recursive: true });
  });

  it('is resumed only by the same command', () => {
    const id = localExportId({ connection: 'acme' });
    expect(localExportId({ connection: 'acme', full: false })).toBe(id);
    expect(localExportId({ connection: 'acme', full: true })).not.toBe(id);
    expect(localExportId({ connection: 'acme', resources: ['tasks'] })).not.toBe(id);
  });
});
