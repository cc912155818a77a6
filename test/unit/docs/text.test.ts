import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { configJsonSchema, parseSettings } from '../../../src/config/index.js';
import { configReference, withReference } from '../../support/config-reference.mjs';
import { codeBlocks, codeSpans, PAGES, pageAt } from '../../support/docs.js';

const ROOT = resolve(import.meta.dirname, '../../..');

describe('the documentation', () => {
  it('has a configuration reference that matches the schema (run `npm run reference` after a change)', () => {
    const { text } = pageAt('docs/reference/configuration.md');
    expect(text).toBe(withReference(text, configReference(configJsonSchema())));
  });

  const yaml = codeBlocks().filter(({ language }) => language === 'yaml');
  const whole = yaml.find(({ page }) => page === 'docs/how-to/first-export.md')!.text;
  it.each(yaml)('shows a valid configuration: $page, line $line', ({ text, page }) => {
    const file = /^(?:connections|defaults):/.test(text) ? text : `${withoutKeyOf(whole, text)}\n${text}`;
    const { connections } = parseSettings(file, page);
    expect(connections).toHaveLength(1);
  });

  it('shows the actual defaults', () => {
    const shown = yaml.filter(
      ({ page, text }) => page === 'docs/reference/configuration.md' && /csv:/.test(text),
    );
    expect(shown).toHaveLength(1);
    const schema = configJsonSchema() as Schema;
    const connection = schema.properties!.connections!.additionalProperties!;
    for (const { text } of shown) expectDefaults(connection, parse(text) as Record<string, unknown>, '');
  });

  it('names exactly the WORKTRACK variables that the code reads', () => {
    const named = new Set(PAGES.flatMap(({ text }) => text.match(/WORKTRACK_[A-Z_]+[A-Z]/g) ?? []));
    const reference = new Set(pageAt('docs/reference/environment.md').text.match(/WORKTRACK_[A-Z_]+[A-Z]/g));
    const read = new Set(sources().match(/WORKTRACK_[A-Z_]+[A-Z]/g));
    const tests = new Set([
      'WORKTRACK_SEED',
      'WORKTRACK_ROUNDS',
      'WORKTRACK_ORDER',
      'WORKTRACK_OPERATIONS',
      'WORKTRACK_ENGINES',
      'WORKTRACK_LONG',
      'WORKTRACK_TEST_CLOCK_OFFSET',
    ]);
    expect([...named].filter((name) => !read.has(name) && !tests.has(name))).toEqual([]);
    const inside = /^WORKTRACK_(SERVER_|TEST_SERVER|DEMO_API_KEY|API_KEY$)/;
    expect([...read].filter((name) => !reference.has(name) && !inside.test(name))).toEqual([]);
  });

  it('names everything that the package exports, except types', () => {
    const index = readFileSync(join(ROOT, 'src/index.ts'), 'utf8');
    const exported = [...index.matchAll(/export \{([^}]*)\}/g)]
      .flatMap(([, list]) => list!.split(',').map((name) => name.trim()))
      .filter((name) => name !== '' && !name.startsWith('type '));
    expect(exported.length).toBeGreaterThan(50);
    const named = new Set(pageAt('docs/reference/api.md').text.match(/\w+/g));
    expect(exported.filter((name) => !named.has(name))).toEqual([]);
  });

  it('has at most 800 words in a guide, without its blocks', () => {
    const guides = PAGES.filter(({ path }) => path.startsWith('docs/how-to/'));
    const words = (text: string): number => text.replace(/^ *```.*?^ *```/gms, '').match(/\S+/g)!.length;
    expect(guides.map(({ path, text }) => [path, words(text)] as const).filter(([, n]) => n > 800)).toEqual(
      [],
    );
  });

  it('names only files and folders that exist', () => {
    const places = PAGES.flatMap(({ path, text }) =>
      codeSpans(text)
        .flatMap((span) => span.split(' '))
        .filter((span) =>
          /^(dist\/src\/assets|src|activities|workflows|test|docs|examples)\/[\w./-]*\w$/.test(span),
        )
        .map((span) => ({ path, span: span.replace('dist/src/assets', 'src/assets') })),
    );
    expect(places.length).toBeGreaterThan(20);
    const exists = ({ path, span }: { path: string; span: string }): boolean =>
      [span, join(dirname(path), span)].some((one) => existsSync(join(ROOT, one)));
    expect(places.filter((place) => !exists(place))).toEqual([]);
  });
});

describe('the page on troubleshooting', () => {
  /** The server says it. */
  const OTHERS = ['versioning behavior cannot be specified without deployment options'];
  const { text: table } = pageAt('docs/how-to/troubleshoot.md');
  const left = [...table.matchAll(/^\| (.*?) \| /gm)]
    .map((match) => match[1]!)
    .filter((cell) => cell.includes('`'));
  const quotes = left.flatMap((cell) => codeSpans(cell)).filter((quote) => !OTHERS.includes(quote));

  it.each(quotes)('quotes a message of the code: %s', (quote) => {
    expect(printable(quote)).toBe(true);
  });

  it('fails this check for a message that is not in the code', () => {
    expect(quotes.length).toBeGreaterThan(15);
    expect(printable('the moon is out of reach')).toBe(false);
  });
});

/** The file without the key of a connection that a block shows, such as `lake`. */
function withoutKeyOf(file: string, block: string): string {
  const shown = [...block.matchAll(/^ {4}(\w+):/gm)].map((match) => match[1]!);
  return shown.reduce(
    (left, key) => left.replace(new RegExp(`^ {4}${key}:.*\\n(?: {5,}.*(?:\\n|$))*`, 'm'), ''),
    file,
  );
}

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
