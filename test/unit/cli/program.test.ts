import type { Command, CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../../src/cli/program.js';
import { failureOf } from '../../../src/cli/shared/choose-exit-code.js';

/** The program with captured output. These tests do not run commands. */
function quiet(): { program: Command; printed: () => string } {
  let text = '';
  const program = createProgram(() => {});
  const write = (more: string): void => {
    text += more;
  };
  for (const command of [program, ...program.commands, ...program.commands.flatMap((one) => one.commands)]) {
    command.configureOutput({ writeOut: write, writeErr: write, getOutHelpWidth: () => 80 });
  }
  return { program, printed: () => text };
}

async function run(...args: string[]): Promise<{ code: number; printed: string }> {
  const { program, printed } = quiet();
  const error = await program
    .parseAsync(['node', 'worktrack', ...args])
    .catch((thrown: CommanderError) => thrown);
  return { code: failureOf(error, {}).code, printed: printed() };
}

describe('the command line', () => {
  it('exits with 0 for help and the version', async () => {
    expect((await run('--help')).code).toBe(0);
    expect((await run('export', '--help')).code).toBe(0);
    const version = await run('--version');
    expect(version.code).toBe(0);
    expect(version.printed).toMatch(/^\d+\.\d+\.\d+/);
  });

  it.each([
    [['--bogus']],
    [['export', '--bogus']],
    [['export', '--resource']],
    [['nonsense']],
    [['schedule', 'nonsense']],
    [['schedule']],
    [['worker', '--log-format', 'xml']],
    [[]],
  ])('exits with 2 for an invalid argument: %j', async (args) => {
    expect((await run(...args)).code).toBe(2);
  });

  it('groups the commands of the help by task, each in one group', async () => {
    const { program } = quiet();
    const groups = [...new Set(program.commands.map((one) => one.helpGroup()))];
    expect(groups).toEqual([
      'Set up:',
      'Run:',
      'Watch:',
      'Use the data:',
      'Correct and maintain:',
      'Write to the service:',
    ]);
    const { printed } = await run('--help');
    for (const command of program.commands)
      expect(printed.split(`\n  ${command.name()} `).length, command.name()).toBe(2);
    const at = groups.map((group) => printed.indexOf(`\n${group}\n`));
    expect(Math.min(...at)).toBeGreaterThan(0);
    expect([...at].sort((a, b) => a - b)).toEqual(at);
    expect(printed).not.toContain('\nCommands:');
    expect((await run('schedule', '--help')).printed).toContain('  apply ');
  });

  it('fits the help of every command into 80 columns', () => {
    const { program, printed } = quiet();
    const groups = program.commands.filter((one) => one.commands.length > 0);
    for (const command of [program, ...program.commands, ...groups.flatMap((one) => one.commands)])
      command.outputHelp();
    expect(printed().split('\n').length).toBeGreaterThan(500);
    expect(
      printed()
        .split('\n')
        .filter((line) => line.length > 80),
    ).toEqual([]);
  });

  it('shows --config and --connection in the help of every command', () => {
    const { program } = quiet();
    const leaves = program.commands.flatMap((one) => (one.commands.length > 0 ? one.commands : [one]));
    for (const command of leaves) {
      expect(command.helpInformation()).toContain('--config <file>');
      expect(command.helpInformation()).toContain('--connection <name>');
    }
  });

  describe('options that a command and one below it have', () => {
    /** Parses a command line without running it. Returns its own options and arguments, and the options of the command above. */
    function parsed(group: string, name: string, words: readonly string[]) {
      const { program } = quiet();
      const above = program.commands.find((one) => one.name() === group)!;
      const command = above.commands.find((one) => one.name() === name)!;
      command.action(() => {});
      program.parse(['node', 'worktrack', group, name, ...words]);
      return { own: command.opts(), above: above.opts(), args: command.args, global: program.opts() };
    }

    const PAIRS = quiet().program.commands.flatMap((above) =>
      above.commands.flatMap((command) => {
        const flags = new Set(above.options.map(({ long }) => long));
        return command.options
          .filter(({ long }) => flags.has(long))
          .map((option) => [above.name(), command.name(), option.long!, option.required] as const);
      }),
    );
    const attribute = (long: string): string =>
      long.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

    it('exist', () => {
      expect(PAIRS.map(([group, name, long]) => `${group} ${name} ${long}`)).toEqual(
        expect.arrayContaining(['write-back resend --unknown', 'write-back receipts --json']),
      );
    });

    it.each(PAIRS)(
      '%s %s %s belongs to the command below, and takes no argument away',
      (group, name, long, takes) => {
        const key = attribute(long.replace(/^--(?:no-)?/, ''));
        for (const words of [
          [long, ...(takes ? ['v'] : []), '3b86'],
          ['3b86', long, ...(takes ? ['v'] : [])],
          ['--config', 'x.yaml', long, ...(takes ? ['v'] : []), '3b86'],
          [long, ...(takes ? ['v'] : []), '3b86', '--config', 'x.yaml'],
        ]) {
          const { own, above, args } = parsed(group, name, words);
          expect(args, words.join(' ')).toEqual(['3b86']);
          expect(own[key], words.join(' ')).toBe(takes ? 'v' : !long.startsWith('--no-'));
          expect(above[key], words.join(' ')).not.toBe(own[key]);
        }
      },
    );

    it('may be given before the name of the command only if they are its own', async () => {
      for (const words of [
        ['write-back', '--dry-run', 'resend', '3b86', '--unknown'],
        ['write-back', '--json', 'receipts', '3b86'],
        ['write-back', '--again', 'resend', '3b86', '--rejected'],
      ])
        expect((await run(...words)).code, words.join(' ')).toBe(2);
    });

    it('leave global options wherever they stand, and what follows -- as it is', () => {
      const { global, args, own } = parsed('write-back', 'resend', [
        '--config',
        'x.yaml',
        '--unknown',
        '--',
        '-3b86',
      ]);
      expect([global.config, args, own.unknown]).toEqual(['x.yaml', ['-3b86'], true]);
      expect(parsed('write-back', 'resend', ['--', '-3b86']).args).toEqual(['-3b86']);
    });
  });
});
