import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../../src/cli/program.js';
import { namesOfOptions, withOptions } from '../../support/command-reference.mjs';
import { codeSpans, leafCommands, PAGES, pageAt, shellCommands, usageProblem } from '../../support/docs.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (file: string) => readFileSync(resolve(ROOT, file), 'utf8');

describe('a command line in the documentation', () => {
  const inline = PAGES.flatMap(({ text }) => codeSpans(text)).filter((span) => /^worktrack( |$)/.test(span));
  const typed = shellCommands()
    .map(({ text }) => text)
    .filter((text) => text.startsWith('worktrack '));
  // Everything behind the image's name or the executable of the unit is a command of ours, too.
  const elsewhere = [
    ...shellCommands().flatMap(({ text }) => /^docker run .* temporal-worktrack (.+)$/.exec(text)?.[1] ?? []),
    ...[
      /^ExecStart=\/usr\/bin\/env worktrack (.+)$/m.exec(read('src/assets/worktrack-worker.service'))?.[1] ??
        '',
    ],
    (JSON.parse(/^CMD (\[.*\])$/m.exec(read('Dockerfile'))![1]!) as string[]).join(' '),
  ];

  it.each([...new Set([...inline, ...typed])])('exists with its options: %s', (text) => {
    expect(usageProblem(text)).toBeNull();
  });

  it.each(elsewhere)('a command line of a service or container exists with its options: %s', (text) => {
    expect(text).not.toBe('');
    expect(usageProblem(`worktrack ${text}`)).toBeNull();
  });

  it('is rejected for an unknown command or option, a missing value or a wrong one', () => {
    expect(usageProblem('worktrack exprot')).toMatch('no command exprot');
    expect(usageProblem('worktrack export --ful')).toMatch('no option --ful');
    expect(usageProblem('worktrack export --resource')).toMatch('lacks its value');
    expect(usageProblem('worktrack ddl --dialect oracle')).toMatch('does not take oracle');
  });

  it('uses only scripts that package.json has', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = PAGES.filter(({ path }) => path !== 'examples/README.md').flatMap(({ text }) =>
      [...text.matchAll(/npm run ([\w:-]+)/g)].map((match) => match[1]!),
    );
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
    expect(scripts).toHaveProperty('test');
  });

  it('uses only scripts that the examples have', () => {
    const { scripts } = JSON.parse(read('examples/package.json')) as { scripts: Record<string, string> };
    const named = [...pageAt('examples/README.md').text.matchAll(/npm run ([\w-]+)/g)].map(
      (match) => match[1]!,
    );
    expect(named).toContain('worker');
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});

describe('the reference of the commands', () => {
  const { text } = pageAt('docs/reference/commands.md');

  it('has the options that the program defines (run `npm run reference` after a change)', () => {
    expect(text).toBe(
      withOptions(
        text,
        createProgram(() => {}),
      ),
    );
  });

  it('has a section for every command', () => {
    const names = createProgram(() => {}).commands.map((command) => command.name());
    const headings = [...text.matchAll(/^## worktrack (.+)$/gm)].map((match) => match[1]!);
    expect(headings.sort()).toEqual(names.sort());
    // The simulator hands its options on; its table is written by hand.
    const generated = [...namesOfOptions(text), 'simulator'].filter((name) => name !== 'global');
    expect(generated.sort()).toEqual(names.sort());
  });

  it('has every option of the simulator', () => {
    const [, flags = ''] =
      /const FLAGS = \{(.*?)\}\s*as const/s.exec(read('src/cli/demo/simulator-command.ts')) ?? [];
    const names = [...flags.matchAll(/^ {2}'?([\w-]+)'?: \{/gm)].map((match) => `--${match[1]}`);
    expect(names).toContain('--plain');
    const section = text.slice(text.indexOf('## worktrack simulator'));
    const named = new Set([...section.matchAll(/--\w[\w-]*/g)].map(([name]) => name));
    expect([...named].sort()).toEqual(names.sort());
  });
});

describe('the help of every command', () => {
  it.each(leafCommands())(
    'shows the values and defaults of its options, and a valid example: $name',
    ({ name, command }) => {
      let help = '';
      const writeOut = (text: string): void => {
        help += text;
      };
      command.configureOutput({ writeOut }).outputHelp();
      for (const { long, description, defaultValue } of command.options) {
        expect(help).toContain(long);
        expect(description, `${long} of ${name}`).not.toBe('');
        if (defaultValue !== undefined && typeof defaultValue !== 'boolean')
          expect(help.replace(/\s+/g, ' '), `${long} of ${name}`).toContain(
            `default: ${JSON.stringify(defaultValue)}`,
          );
      }
      const examples = [...help.matchAll(/^ {2}(worktrack .+)$/gm)].map((match) => match[1]!);
      expect(examples, `examples of ${name}`).not.toEqual([]);
      for (const example of examples) {
        expect(example).toMatch(new RegExp(`^worktrack ${name}( |$)`));
        expect(usageProblem(example)).toBeNull();
      }
    },
  );
});
