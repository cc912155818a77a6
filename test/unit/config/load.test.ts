import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config/index.js';
import { ConfigurationError } from '../../../src/core/errors.js';
import { MINIMAL_CONFIG } from '../../support/minimal-config.js';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'worktrack-config-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

/** Writes a configuration whose only connection has a unique name. */
function put(file: string, name: string): void {
  writeFileSync(join(cwd, file), MINIMAL_CONFIG.replace('acme:', `${name}:`));
}

function load(options: { file?: string; env?: Record<string, string> } = {}) {
  return loadSettings({ env: {}, cwd, ...options });
}

function failure(run: () => unknown): ConfigurationError {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('finding the configuration', () => {
  it('prefers --config, then $WORKTRACK_CONFIG, then .yaml, .yml and .json in the working directory', () => {
    const taken: string[] = [];
    const take = (options?: Parameters<typeof load>[0]) =>
      taken.push(load(options).connections[0]?.name ?? '');
    put('worktrack.json', 'json');
    take();
    put('worktrack.yml', 'yml');
    take();
    put('worktrack.yaml', 'yaml');
    take();
    put('env.yaml', 'env');
    take({ env: { WORKTRACK_CONFIG: join(cwd, 'env.yaml') } });
    put('given.yaml', 'given');
    take({ file: 'given.yaml', env: { WORKTRACK_CONFIG: 'env.yaml' } });
    take({ env: { WORKTRACK_CONFIG: '' } });
    expect(taken).toEqual(['json', 'yml', 'yaml', 'env', 'given', 'yaml']);
  });

  it('keeps the name of the file for messages', () => {
    put('worktrack.yml', 'a');
    expect(load().source).toBe('worktrack.yml');
  });

  it('lists the places of the search if there is no file', () => {
    const error = failure(() => load());
    expect(error.message).toContain('--config is not given, $WORKTRACK_CONFIG is not set');
    expect(error.message).toContain(`${cwd} has none of worktrack.yaml, worktrack.yml, worktrack.json`);
    expect(error.remedy).toContain('worktrack init');
  });

  it('does not fall back when a named file is missing', () => {
    put('worktrack.yaml', 'a');
    expect(failure(() => load({ file: 'nope.yaml' })).message).toContain(
      `${join(cwd, 'nope.yaml')} does not exist (from --config)`,
    );
    const byEnv = failure(() => load({ env: { WORKTRACK_CONFIG: 'nope.yaml' } }));
    expect(byEnv.message).toContain('(from $WORKTRACK_CONFIG)');
    expect(failure(() => load({ file: '' })).message).toContain('is empty');
  });

  it('says why a file cannot be read', () => {
    mkdirSync(join(cwd, 'worktrack.yaml'));
    expect(failure(() => load()).message).toContain('it is a folder');
    writeFileSync(join(cwd, 'latin.yaml'), Buffer.from([0x61, 0x3a, 0x20, 0xe9]));
    expect(failure(() => load({ file: 'latin.yaml' })).message).toContain('not UTF-8');
  });
});
