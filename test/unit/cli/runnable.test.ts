import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProgram } from '../../../src/cli/program.js';
import { COMMANDS, commandPrefix, runnable, type Started } from '../../../src/cli/shared/runnable.js';

let root: string;
const at = (...parts: string[]): string => join(root, ...parts);

function put(path: string, text = ''): string {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  return path;
}

function link(path: string, target: string): string {
  mkdirSync(join(path, '..'), { recursive: true });
  symlinkSync(target, path);
  return path;
}

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'worktrack-runnable-')));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('the command in a hint', () => {
  const started = (script: string, more: Partial<Started> = {}): Started => ({
    script,
    options: {},
    env: { PATH: ['/usr/bin', at('nowhere')].join(delimiter) },
    cwd: root,
    ...more,
  });

  it('is worktrack after a global installation, in the image, and if any worktrack is on PATH', () => {
    const main = put(at('lib/node_modules/temporal-worktrack/dist/src/cli/main.js'));
    chmodSync(main, 0o755);
    const command = link(at('bin/worktrack'), main);
    const env = { PATH: ['/usr/bin', at('bin')].join(delimiter) };
    expect(commandPrefix(started(command, { env }))).toBe('worktrack');
    expect(commandPrefix(started(main, { env }))).toBe('worktrack');
    // Another installation, or the user's own script.
    const other = put(at('other/dist/src/cli/main.js'));
    expect(commandPrefix(started(other, { env }))).toBe('worktrack');
    const script = put(at('scripts/worktrack'), '#!/bin/sh\n');
    const own = { PATH: ['', at('scripts')].join(delimiter) };
    expect(commandPrefix(started(other, { env: own }))).toBe('node other/dist/src/cli/main.js');
    chmodSync(script, 0o755);
    expect(commandPrefix(started(other, { env: own }))).toBe('worktrack');
  });

  it('is node with the path of the clone, from any folder', () => {
    const main = put(at('a clone/dist/src/cli/main.js'));
    const inside = at('a clone');
    expect(commandPrefix(started(main, { cwd: inside }))).toBe('node dist/src/cli/main.js');
    expect(commandPrefix(started(main))).toBe("node 'a clone/dist/src/cli/main.js'");
    expect(commandPrefix(started(main, { cwd: at('a clone/docs') }))).toBe('node ../dist/src/cli/main.js');
    const deep = at(...'abcdefghijklmnopqrstuvwxyz');
    expect(commandPrefix(started(main, { cwd: deep }))).toBe(`node '${main}'`);
  });

  it('is npx with what npx was asked for', () => {
    const npx = at('home/.npm/_npx/0a1b');
    const main = put(join(npx, 'node_modules/temporal-worktrack/dist/src/cli/main.js'));
    const command = link(join(npx, 'node_modules/.bin/worktrack'), main);
    const env = {
      PATH: [join(npx, 'node_modules/.bin'), '/usr/bin'].join(delimiter),
      npm_execpath: '/usr/lib/npm-cli.js',
    };
    expect(commandPrefix(started(command, { env }))).toBe('npx temporal-worktrack');
    const asked = {
      'temporal-worktrack@0.2.0': 'npx temporal-worktrack@0.2.0',
      // npx takes a file for the name of a command.
      '/tmp/temporal-worktrack-0.2.0.tgz': 'npx --package=/tmp/temporal-worktrack-0.2.0.tgz worktrack',
      '/tmp/my files/a.tgz': "npx --package='/tmp/my files/a.tgz' worktrack",
    };
    for (const [source, typed] of Object.entries(asked)) {
      put(join(npx, 'package.json'), JSON.stringify({ _npx: { packages: [source] } }));
      expect(commandPrefix(started(command, { env }))).toBe(typed);
    }
  });

  it('is npx worktrack in an application that has the package', () => {
    const main = put(at('app/node_modules/temporal-worktrack/dist/src/cli/main.js'));
    const command = link(at('app/node_modules/.bin/worktrack'), main);
    // npm puts this folder on PATH for its own processes only.
    const env = {
      PATH: [at('app/node_modules/.bin'), '/usr/bin'].join(delimiter),
      npm_execpath: '/usr/lib/npm-cli.js',
    };
    expect(commandPrefix(started(command, { env, cwd: at('app') }))).toBe('npx worktrack');
    expect(commandPrefix(started(command, { env, cwd: at('app/src') }))).toBe('npx worktrack');
    expect(commandPrefix(started(main, { cwd: at('app') }))).toBe('npx worktrack');
    expect(commandPrefix(started(main, { cwd: at('apple') }))).toBe(
      'node ../app/node_modules/temporal-worktrack/dist/src/cli/main.js',
    );
    // Without npm, it is the user who has put it there.
    chmodSync(main, 0o755);
    expect(commandPrefix(started(main, { env: { PATH: env.PATH }, cwd: at('app') }))).toBe('worktrack');
  });

  it('stays as it is if the script is unknown', () => {
    expect(commandPrefix(started(at('gone.js')))).toBe('worktrack');
  });

  it('has the options that led the user to the configuration and the servers', () => {
    const main = put(at('clone/dist/src/cli/main.js'));
    const options: Started['options'] = {
      ...{ config: 'my file.yaml', address: 'temporal:7233', connection: ['acme'], taskQueue: 'q' },
    };
    const text = (line: string, given = options) =>
      runnable(line, started(main, { options: given, cwd: at('clone') }));
    const command = 'node dist/src/cli/main.js';
    const place = "--config 'my file.yaml' --address temporal:7233 --task-queue q";
    expect(text('Start one with: worktrack worker')).toBe(`Start one with: ${command} worker ${place}`);
    expect(text('create one with `worktrack schedule apply`.')).toBe(
      `create one with \`${command} schedule apply ${place} --connection acme\`.`,
    );
    expect(text('worktrack rollback --connection b --resource tasks --to RUN')).toBe(
      `${command} rollback ${place} --connection b --resource tasks --to RUN`,
    );
    expect(text('worktrack ddl --config x.yaml --setup')).toContain(`${command} ddl --address`);
    expect(text('worktrack export --all')).not.toContain('--connection');
    expect(text('worktrack demo --keep')).toBe(`${command} demo --keep`);
    expect(text('worktrack doctor', { connection: ['a', 'b'] })).toBe(`${command} doctor`);
    expect(text('two: `worktrack export` and `worktrack status`', {})).toBe(
      `two: \`${command} export\` and \`${command} status\``,
    );
  });

  it('is changed only in commands', () => {
    const main = put(at('clone/dist/src/cli/main.js'));
    for (const line of [
      'temporal-worktrack export',
      '/etc/worktrack status',
      'worktrack exports',
      'worktrack/acme/export/2026',
      'task queue "worktrack"',
      'worktrack export-all',
      './worktrack export',
    ])
      expect(runnable(line, started(main)), line).toBe(line);
  });

  it('is known for every command', () => {
    const program = createProgram(() => {});
    const found = Object.fromEntries(
      program.commands.map((command) => [command.name(), command.commands.map((one) => one.name())]),
    );
    const known = Object.fromEntries(Object.entries(COMMANDS).map(([name, more]) => [name, [...more]]));
    delete found.help;
    expect(known).toEqual(found);
  });
});
