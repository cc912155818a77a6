import { execFileSync, spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { createProgram } from '../../../src/cli/program.js';
import {
  type ConfiguredNames,
  completions,
  SCRIPTS,
  SHELLS,
  type Shell,
} from '../../../src/cli/setup/completion-command.js';

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
  [['status', '--connection=b'], ['--connection=beta']],
  [['status', '--connection', '=', 'b'], ['beta']],
  [
    ['status', '--connection', '='],
    ['acme', 'beta'],
  ],
  [['--config=x.yaml', 'export', 'tasks', 'ti'], ['time-entries']],
  [
    ['write-back', 're'],
    ['receipts', 'resend'],
  ],
  [['write-back', 'time-entries', ''], []],
  [['write-back', '--format', 'csv', 'ti'], ['time-entries']],
])('completes %j', (words, expected) => {
  expect(complete(...words)).toEqual(expected);
});

it('offers every command', () => {
  const commands = createProgram(() => {}).commands.map((command) => command.name());
  expect(complete('')).toEqual(commands.sort());
});

/** How each shell calls its function, with the words `worktrack ex`. */
const CALLS: Readonly<Record<Shell, string>> = {
  bash: `COMP_WORDS=(worktrack ex) COMP_CWORD=1
_worktrack
printf '%s ' "\${COMPREPLY[@]}"`,
  zsh: `words=(worktrack ex) CURRENT=2
_worktrack`,
  fish: `complete -C 'worktrack ex' | string join ' '`,
};

const installed = SHELLS.filter((shell) => spawnSync(shell, ['-c', 'true']).status === 0);

it('finds bash, which is on every machine of the tests', () => expect(installed).toContain('bash'));

it.each(installed)('runs in %s', (shell) => {
  const before = shell === 'zsh' ? 'compdef() { :; }; compadd() { shift 2; print -- $found; }; ' : '';
  const program =
    shell === 'fish'
      ? `function worktrack; printf '%s\\n' export exit; end; source (echo $SCRIPT | psub)`
      : `worktrack() { printf '%s\\n' export exit; }; eval "$SCRIPT"`;
  const script = [before + program, CALLS[shell]].join('\n');
  const env = { ...process.env, SCRIPT: SCRIPTS[shell] };
  const printed = execFileSync(shell, ['-c', script], { encoding: 'utf8', env });
  expect(printed.trim().split(/\s+/).sort()).toEqual(['exit', 'export']);
});
