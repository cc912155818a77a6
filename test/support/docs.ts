import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command, Option } from 'commander';
import { createProgram } from '../../src/cli/program.js';

const ROOT = resolve(import.meta.dirname, '../..');

/** A page of the documentation. */
export interface Page {
  /** From the root of the repository, such as `docs/how-to/s3.md`. */
  readonly path: string;
  readonly text: string;
}

const AT_THE_ROOT = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'examples/README.md'];

/** All pages: the front page first, then `docs/`, then the rest. */
export const PAGES: readonly Page[] = (() => {
  const [front, ...rest] = AT_THE_ROOT;
  const docs = readdirSync(resolve(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path}`)
    .sort();
  return [front!, ...docs, ...rest].map((path) => ({
    path,
    text: readFileSync(resolve(ROOT, path), 'utf8'),
  }));
})();

export function pageAt(path: string): Page {
  const found = PAGES.find((page) => page.path === path);
  if (found === undefined) throw new Error(`there is no page ${path}`);
  return found;
}

/** A fenced block, without its indentation. */
export interface CodeBlock {
  readonly language: string;
  readonly text: string;
  /** Path of the page. */
  readonly page: string;
  /** The nearest heading above. */
  readonly heading: string;
  /** Of the fence, counted from 1. */
  readonly line: number;
  /** The reason in `<!-- not run: REASON -->` on the line above: the tests do not run its commands. */
  readonly notRun: string | null;
}

/** All fenced blocks, in order. */
export function codeBlocks(pages: readonly Page[] = PAGES): CodeBlock[] {
  return pages.flatMap(blocksOf);
}

function blocksOf({ path, text }: Page): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let heading = '';
  let open: { language: string; indent: string; line: number; lines: string[] } | null = null;
  const lines = text.split('\n');
  for (const [at, line] of lines.entries()) {
    const fence = /^(\s*)```(\w*)\s*$/.exec(line);
    if (fence !== null && open === null) {
      open = { indent: fence[1]!, language: fence[2]!, line: at + 1, lines: [] };
    } else if (fence !== null && open !== null) {
      blocks.push({
        language: open.language,
        text: open.lines.join('\n'),
        page: path,
        heading,
        line: open.line,
        notRun: /^\s*<!-- not run: (.+) -->$/.exec(lines[open.line - 2] ?? '')?.[1] ?? null,
      });
      open = null;
    } else if (open !== null)
      open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
    else heading = /^#+ (.*)$/.exec(line)?.[1] ?? heading;
  }
  if (open !== null) throw new Error(`${path}: the fence in line ${open.line} is never closed`);
  return blocks;
}

/** One command of a shell block, without the comment behind it. */
export interface ShellCommand {
  readonly text: string;
  readonly page: string;
  readonly line: number;
  /** Why the tests do not run it. */
  readonly notRun: string | null;
}

/** What a reader types, line by line. */
export function shellCommands(blocks: readonly CodeBlock[] = codeBlocks()): ShellCommand[] {
  return blocks
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text, page, line, notRun }) =>
      text
        .split('\n')
        .map((one, at) => {
          const command = one.replace(/(^|\s)\s*#.*$/, '').trim();
          return { text: command, page, line: line + 1 + at, notRun };
        })
        .filter((one) => one.text !== ''),
    );
}

/** The text without its fenced blocks. */
export function proseOf(markdown: string): string {
  return markdown.replace(/^\s*```[\s\S]*?^\s*```\s*$/gm, '');
}

/** Code spans of the text, blocks left out. */
export function codeSpans(markdown: string): string[] {
  return [...proseOf(markdown).matchAll(/`([^`\n]+)`/g)].map((match) => match[1]!.replaceAll('\\|', '|'));
}

/** The anchors of a page, as GitHub names them. */
export function anchorsOf({ text }: Page): string[] {
  return [...proseOf(text).matchAll(/^#+ (.+)$/gm)].map((match) =>
    match[1]!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** The command in the words, the options that it knows and the words that are left. */
export function commandOf(words: readonly string[]): { command: Command; rest: readonly string[] } {
  let command = createProgram(() => {});
  let rest = words;
  for (;;) {
    const next = command.commands.find((one) => one.name() === rest[0]);
    if (next === undefined) return { command, rest };
    command = next;
    rest = rest.slice(1);
  }
}

/** All commands that do something, with their full names: `schedule apply`. */
export function leafCommands(): { name: string; command: Command }[] {
  return createProgram(() => {}).commands.flatMap((one) =>
    one.commands.length === 0
      ? [{ name: one.name(), command: one }]
      : one.commands.map((inner) => ({ name: `${one.name()} ${inner.name()}`, command: inner })),
  );
}

/**
 * What is wrong with a command line or a synopsis (`worktrack cat RESOURCE [--limit N]`): a command or an option that
 * does not exist, an option without its value or with one that is not allowed. `null` for nothing.
 */
export function usageProblem(text: string): string | null {
  const words = text
    .replace(/^worktrack\s*/, '')
    .replace(/\s(?:[|<>&]|&&)\s.*$/, '')
    .replace(/\.\.\.|…/g, ' ')
    .replace(/[[\]]/g, ' ')
    .split(/\s+/)
    .filter((word) => word !== '');
  const { command, rest } = commandOf(words);
  if (command.parent === null && rest[0] !== undefined && !rest[0].startsWith('--'))
    return `there is no command ${rest[0]}`;
  // It hands its options on.
  if (command.name() === 'simulator') return null;
  const options = [...command.options, ...globalOptions()];
  for (const [at, word] of rest.entries()) {
    if (!word.startsWith('--') || word === '--help') continue;
    const option = options.find(({ long }) => long === word);
    if (option === undefined) return `${command.name()} has no option ${word}`;
    const problem = valueProblem(option, rest[at + 1]);
    if (problem !== null) return problem;
  }
  return null;
}

function valueProblem({ long, required, argChoices }: Option, value: string | undefined): string | null {
  if (!required) return null;
  if (value === undefined || value.startsWith('--')) return `${long} lacks its value`;
  const unknown = argChoices && value.split('|').find((one) => !argChoices.includes(one));
  return unknown === undefined || /^[A-Z]+$/.test(value) ? null : `${long} does not take ${unknown}`;
}

function globalOptions(): readonly Option[] {
  return createProgram(() => {}).options;
}
