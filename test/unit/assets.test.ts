import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.js';
import { parseDuration } from '../../src/core/duration.js';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Long options of `worktrack worker`. */
const OPTIONS = createProgram(() => {})
  .commands.find((command) => command.name() === 'worker')!
  .options.map(({ long }) => long);

/** The longest that a worker takes to save its positions (src/temporal/plugin.ts). */
const GRACE = /SHUTDOWN_GRACE = '(\d+) seconds'/.exec(read('src/temporal/plugin.ts'))![1];

describe('the Dockerfile', () => {
  const text = read('Dockerfile').replaceAll('\\\n', ' ');
  const lines = text.split('\n').filter((line) => /^[A-Z]/.test(line));
  const of = (word: string): string[] => lines.filter((line) => line.startsWith(`${word} `));

  it('copies files that exist, and that .dockerignore lets through', () => {
    const copied = of('COPY').flatMap((line) => {
      const words = line.split(/\s+/).slice(1);
      return words[0]!.startsWith('--from') ? [] : words.slice(0, -1);
    });
    expect(copied).toContain('src');
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    const allowed = read('.dockerignore').split('\n');
    expect(copied.filter((path) => !allowed.includes(`!${path.replace(/^\.\//, '')}`))).toEqual([]);
  });

  it('builds what the package names, from the lock file', () => {
    const { scripts, bin } = JSON.parse(read('package.json')) as {
      scripts: Record<string, string>;
      bin: { worktrack: string };
    };
    expect(of('RUN')).toContain('RUN npm ci');
    expect(of('RUN')).toContain('RUN npm run build');
    expect(scripts.build).toContain('test/support/build.mjs');
    expect(of('ENTRYPOINT')).toEqual([`ENTRYPOINT ["node", "/app/${bin.worktrack}"]`]);
  });

  it('runs a worker as a user without rights that signals reach, and asks for its health where it tells of it', () => {
    expect(of('USER')).toEqual(['USER node']);
    expect(of('STOPSIGNAL')).toEqual(['STOPSIGNAL SIGTERM']);
    const words = JSON.parse(of('CMD').at(-1)!.slice(4)) as string[];
    expect(words[0]).toBe('worker');
    for (const word of words.filter((one) => one.startsWith('--'))) expect(OPTIONS).toContain(word);
    expect(of('HEALTHCHECK')[0]).toContain(`http://${words[words.indexOf('--health') + 1]}/healthz`);
  });
});

describe('the unit file', () => {
  const text = read('src/assets/worktrack-worker.service');
  const value = (name: string): string | undefined => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1];

  it('gives a worker longer than its own grace to drain', () => {
    expect(parseDuration(value('TimeoutStopSec')!)).toBeGreaterThan(Number(GRACE) * 1000);
    expect(value('KillSignal')).toBe('SIGTERM');
  });

  it('starts a worker with options that exist, and not again after a mistake in the configuration', () => {
    const words = value('ExecStart')!.split(' ');
    expect(words.slice(1, 3)).toEqual(['worktrack', 'worker']);
    for (const word of words.filter((one) => one.startsWith('--'))) expect(OPTIONS).toContain(word);
    expect(value('RestartPreventExitStatus')).toBe('2');
    expect(value('EnvironmentFile')).toBe('/etc/worktrack/worker.env');
  });
});
