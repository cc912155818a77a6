import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { codeSpans, leafCommands, README, shellCommands, usageProblem } from '../../support/readme.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (file: string) => readFileSync(resolve(ROOT, file), 'utf8');

/** The section of a heading, up to the next one of any level. */
function section(heading: string): string {
  const [, rest = ''] = README.split(`\n${heading}\n`);
  return rest.split(/\n##+ /)[0]!;
}

describe('what the README tells to type', () => {
  const inline = codeSpans().filter((span) => /^worktrack( |$)/.test(span));
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

  it.each(elsewhere)('exists with its options where it runs as a service or in a container: %s', (text) => {
    expect(text).not.toBe('');
    expect(usageProblem(`worktrack ${text}`)).toBeNull();
  });

  it('sees a command and an option that do not exist, a missing value and a wrong one', () => {
    expect(usageProblem('worktrack exprot')).toMatch('no command exprot');
    expect(usageProblem('worktrack export --ful')).toMatch('no option --ful');
    expect(usageProblem('worktrack export --resource')).toMatch('lacks its value');
    expect(usageProblem('worktrack ddl --dialect oracle')).toMatch('does not take oracle');
  });

  it('has scripts of package.json that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = [...README.matchAll(/npm run ([\w:-]+)/g)].map((match) => match[1]!);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
    expect(scripts).toHaveProperty('test');
  });

  it('names every command and every option of it in the table of commands', () => {
    const rows = section('## Commands')
      .split('\n')
      .filter((line) => line.startsWith('| `worktrack'))
      .map((line) => line.replaceAll('\\|', '|'));
    const missing = leafCommands().flatMap(({ name, command }) => {
      const [first, second] = name.split(' ');
      const row = rows
        .filter((one) => one.includes(`worktrack ${first}`) && (second === undefined || one.includes(second)))
        .join('');
      if (row === '') return [name];
      return command.options
        .filter(({ long }) => !row.includes(`${long}`))
        .map(({ long }) => `${name} ${long}`);
    });
    expect(missing).toEqual([]);
  });
});

describe('the help of every command', () => {
  it.each(leafCommands())(
    'shows what its options take and default to, and an example that is right: $name',
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
