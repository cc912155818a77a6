import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { createProgram } from '../../../src/cli/program.js';
import { type ConfiguredNames, completions, SCRIPTS } from '../../../src/cli/setup/completion-command.js';

const NAMES: ConfiguredNames = { connections: ['acme', 'beta'], resources: ['tasks', 'time-entries'] };
const complete = (...words: string[]): string[] =>
  completions(
    createProgram(() => {}),
    words,
    NAMES,
  );

it.each<[string[], string[]]>([
  [['exp'], ['export']],
  [
    ['config', ''],
    ['add-connection', 'check', 'get', 'schema', 'set'],
  ],
  [
    ['export', 't'],
    ['tasks', 'time-entries'],
  ],
  [['export', '--ful'], ['--full']],
  [
    ['export', '--resource', ''],
    ['tasks', 'time-entries'],
  ],
  [['status', '--connection', 'b'], ['beta']],
  [
    ['--connection', ''],
    ['acme', 'beta'],
  ],
  [['worker', '--log-level', 'w'], ['warn']],
  [
    ['completion', ''],
    ['bash', 'fish', 'zsh'],
  ],
  [['write-back', 'receipts', '--re'], ['--rejected']],
  [['write-back', 'receipts', '--dry'], []],
  [['nothing', '--unknown', 'x'], []],
])('completes %j', (words, expected) => {
  expect(complete(...words)).toEqual(expected);
});

it('offers every command', () => {
  const commands = createProgram(() => {}).commands.map((command) => command.name());
  expect(complete('')).toEqual(commands.sort());
});

it('runs in bash, which is on every machine of the tests', () => {
  const candidates = ['export', 'exit'];
  const script = `worktrack() { printf '%s\\n' ${candidates.join(' ')}; }
eval "$SCRIPT"
COMP_WORDS=(worktrack ex) COMP_CWORD=1
_worktrack
printf '%s ' "\${COMPREPLY[@]}"`;
  expect(
    execFileSync('bash', ['-c', script], { encoding: 'utf8', env: { ...process.env, SCRIPT: SCRIPTS.bash } }),
  ).toBe('export exit ');
});
