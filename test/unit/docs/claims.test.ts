import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PAGES, pageAt } from '../../support/docs.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const PRODUCT = PAGES.filter(({ path }) => path !== 'CHANGELOG.md');

describe('the claims of the pages', () => {
  it('name the commands that read the API key: those that resolve it or check its file', () => {
    const readers = readdirSync(join(ROOT, 'src/cli'), { recursive: true, encoding: 'utf8' })
      .map((path) => join('src/cli', path))
      .filter((path) => path.endsWith('.ts'))
      .filter((path) => /resolveSecret|doctor\/(?:secret|run-checks|try-service)/.test(read(path)));
    const commands = new Set(readers.map((path) => /([\w-]+)\.ts$/.exec(path)![1]!));
    const shown = /\| the service's API key \|.*\|(.*)\|/.exec(pageAt('SECURITY.md').text)?.[1] ?? '';
    for (const command of ['worker', 'doctor', 'config check', 'init', 'export'])
      expect(shown).toContain(`\`${command}\``);
    for (const command of ['write-back', 'status', 'verify', 'cat', 'ddl', 'schedule']) {
      expect(shown).not.toContain(`\`${command}\``);
      expect([...commands]).not.toContain(command);
    }
  });

  it('never call 0.1 a release: there is none before 0.2.0', () => {
    const earlier = /\b0\.1\.0\b|\bversion 0\.1\b|\b0\.1 (?:histories|lakes?|workers?|wrote|to(?! 0\.2 s))\b/;
    expect(PAGES.filter(({ text }) => earlier.test(text)).map(({ path }) => path)).toEqual([]);
    expect((JSON.parse(read('package.json')) as { version: string }).version).toBe('0.2.0');
  });

  it('pages that say "exactly once" also say what the outcome `unknown` means', () => {
    const pages = PRODUCT.filter(({ text }) => /exactly once/i.test(text));
    expect(pages.filter(({ text }) => !/\bunknown\b|onPublished/.test(text)).map(({ path }) => path)).toEqual(
      [],
    );
  });

  it('pages that say that values are never changed also name U+FFFD, or link to the page that does', () => {
    const pages = PRODUCT.filter(({ text }) =>
      /values are never changed|never changes? (?:a )?values?/i.test(text),
    );
    expect(
      pages.filter(({ text }) => !/U\+FFFD|guarantees\.md#values/.test(text)).map(({ path }) => path),
    ).toEqual([]);
  });

  it('name test commands with what they run and leave out', () => {
    const { text } = pageAt('CONTRIBUTING.md');
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    expect(text).toContain('| `npm test` | all but chaos, engines and benchmarks |');
    expect(scripts.test).toMatch(/vitest run$/);
    const config = read('vitest.config.ts');
    for (const left of ['chaos', 'engines', 'bench']) expect(config).not.toContain(`test/${left}/`);
    expect(scripts['test:chaos']).toContain('test/chaos');
    expect(scripts['test:engines']).toContain('test/engines');
  });
});
