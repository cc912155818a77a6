import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { configJsonSchema, parseSettings } from '../../../src/config/index.js';
import { configReference, withReference } from '../../support/config-reference.mjs';
import { codeBlocks, codeSpans, README } from '../../support/readme.js';

const ROOT = resolve(import.meta.dirname, '../../..');

describe('the README', () => {
  it('has the reference of the configuration as the schema gives it; `npm run reference` writes it', () => {
    expect(README).toBe(withReference(README, configReference(configJsonSchema())));
  });

  it('has no heading twice, and links that lead somewhere', () => {
    const prose = README.replace(/^\s*```[\s\S]*?^\s*```\s*$/gm, '');
    const anchors = [...prose.matchAll(/^#+ (.+)$/gm)].map((match) => slug(match[1]!));
    expect(anchors.filter((one, at) => anchors.indexOf(one) !== at)).toEqual([]);
    const links = [...prose.matchAll(/\]\(#([^)]+)\)/g)].map((match) => match[1]!);
    expect(links.filter((link) => !anchors.includes(link))).toEqual([]);
    // Every how-to can be reached from the top.
    const top = prose.slice(0, prose.indexOf('\n## '));
    const sections = [...prose.matchAll(/^## (.+)$/gm)].map((match) => slug(match[1]!));
    expect(sections.filter((one) => !top.includes(`(#${one})`))).toEqual([]);
  });

  const yaml = codeBlocks().filter(({ language }) => language === 'yaml');
  it.each(yaml)('shows a configuration that is right in line $line', ({ text }) => {
    const minimal = yaml[0]!.text;
    const file = text.startsWith('connections:') ? text : `${minimal}\n${text}`;
    const { connections } = parseSettings(file, 'README.md');
    expect(connections).toHaveLength(1);
  });

  it('shows defaults that are the defaults', () => {
    const heading = yaml.filter((block) => ['Configuration', 'Change notices'].includes(block.heading));
    const shown = heading.slice().filter(({ text }) => !text.includes('/event/type'));
    expect(shown).toHaveLength(2);
    const schema = configJsonSchema() as Schema;
    const connection = schema.properties!.connections!.additionalProperties!;
    for (const { text } of shown) expectDefaults(connection, parse(text) as Record<string, unknown>, '');
  });

  it('names only variables of ours that the code reads, and all that it does', () => {
    const named = new Set(README.match(/WORKTRACK_[A-Z_]+[A-Z]/g));
    const read = new Set(sources().match(/WORKTRACK_[A-Z_]+[A-Z]/g));
    const tests = new Set(['WORKTRACK_SEED', 'WORKTRACK_ROUNDS', 'WORKTRACK_OPERATIONS']);
    expect([...named].filter((name) => !read.has(name) && !tests.has(name))).toEqual([]);
    const inside = /^WORKTRACK_(SERVER_|TEST_SERVER|DEMO_API_KEY)/;
    expect([...read].filter((name) => !named.has(name) && !inside.test(name))).toEqual([]);
  });
});

describe('troubleshooting', () => {
  /** The server says it. */
  const OTHERS = ['versioning behavior cannot be specified without deployment options'];
  const [, table = ''] = README.split('\n## Troubleshooting\n');
  const left = [...table.matchAll(/^\| (.*?) \| /gm)]
    .map((match) => match[1]!)
    .filter((cell) => cell.includes('`'));
  const quotes = left.flatMap((cell) => codeSpans(cell)).filter((quote) => !OTHERS.includes(quote));

  it.each(quotes)('quotes a message that the code can print: %s', (quote) => {
    expect(printable(quote)).toBe(true);
  });

  it('knows a message that the code cannot print', () => {
    expect(quotes.length).toBeGreaterThan(20);
    expect(printable('the moon is out of reach')).toBe(false);
  });
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly default?: unknown;
}

/** Holds the leaves of a map against the schema's defaults. */
function expectDefaults(schema: Schema, found: Record<string, unknown>, path: string): void {
  for (const [key, value] of Object.entries(found)) {
    const properties = schema.properties ?? schema.anyOf?.find((one) => one.properties)?.properties;
    const of = properties?.[key];
    expect(of, `${path}${key}`).toBeDefined();
    const isMap = of!.properties !== undefined || of!.anyOf?.some((one) => one.properties) === true;
    if (isMap) expectDefaults(of!, value as Record<string, unknown>, `${path}${key}.`);
    else expect(value, `${path}${key}`).toEqual(of!.default);
  }
}

/** GitHub's name of a heading. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

let all: string | undefined;
/** The sources in one text, texts that are put together out of several in one piece, and `…` for what differs. */
function sources(): string {
  all ??= ['src', 'activities', 'workflows']
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n')
    .replace(/['"`]\s*\+\s*['"`]/g, '')
    .replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '…');
  return all;
}

/** `…` in a quote stands for anything within the message. */
function printable(quote: string): boolean {
  // What begins with an outcome is put together out of two texts.
  const parts = quote
    .replace(/^refused: /, "'refused'")
    .split('…')
    .map((part) => part.trim());
  const escaped = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(escaped.join('[^\\n]*?')).test(sources());
}
