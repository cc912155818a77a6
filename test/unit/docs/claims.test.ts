import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { activityMemory, activitySlots } from '../../../src/temporal/worker/worker.js';
import { codeBlocks, codeSpans, PAGES, pageAt } from '../../support/docs.js';
import { BLOCKS, CLAIMS } from './claims-and-tests.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
/** The program in one text, with messages that are put together out of several in one piece. */
const CODE = ['src', 'activities', 'workflows']
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  )
  .filter((path) => path.endsWith('.ts'))
  .map((path) => read(path).replace(/['"`]\s*\+\s*['"`]/g, ''))
  .join('\n');
const PRODUCT = PAGES.filter(({ path }) => path !== 'CHANGELOG.md');

describe('the claims of the pages', () => {
  it('the pages name the commands that read the API key: those that resolve it or check its file', () => {
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

  it('the pages never call 0.1 a release: there is none before 0.2.0', () => {
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

  it('the pages name test commands with what they run and leave out', () => {
    const { text } = pageAt('CONTRIBUTING.md');
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    expect(text).toContain('| `npm test` | all but chaos, engines and benchmarks |');
    expect(scripts.test).toMatch(/vitest run$/);
    const config = read('vitest.config.ts');
    const long = read('test/support/test-long.mjs');
    for (const [, part] of text.matchAll(/^\| `(\w+)` \| .* \| about /gm))
      expect(long).toContain(`\n  ${part}: [`);
    for (const left of ['chaos', 'engines', 'bench']) expect(config).not.toContain(`test/${left}/`);
    expect(scripts['test:chaos']).toContain('test/chaos');
    expect(scripts['test:engines']).toContain('test/engines');
  });
});

describe('a checked claim', () => {
  const tests = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => read(join('test', path)))
    .join('\n');
  const all = Object.entries(CLAIMS).flatMap(([page, claims]) =>
    claims.map(([words, test]) => ({ page, words, test })),
  );

  it.each(all)('is on $page, and has a test: $words', ({ page, words, test }) => {
    expect(pageAt(page).text.replace(/\s+/g, ' ')).toContain(words);
    expect(tests.includes(test), `a test whose name contains "${test}"`).toBe(true);
  });

  it('is one of at least 87', () => {
    expect(all.length).toBeGreaterThanOrEqual(87);
  });

  it('may be a block of text, which then has a test that compares it with the program', () => {
    const blocks = codeBlocks().filter(({ language }) => language === 'text' || language === '');
    const testOf = ({ page, text }: { page: string; text: string }): string | undefined =>
      BLOCKS.find(([of, start]) => of === page && text.startsWith(start))?.[2];
    expect(blocks.filter((block) => testOf(block) === undefined)).toEqual([]);
    const named = BLOCKS.map(([, , test]) => test).filter((test) => !/^(a drawing|settings of)/.test(test));
    expect(named.filter((test) => !tests.includes(test))).toEqual([]);
  });
});

describe('The memory budget of workers', () => {
  const { text } = pageAt('docs/how-to/workers.md');
  const MIB = 2 ** 20;

  it('is divided as the guide to workers says', () => {
    const [, most, each, idle] =
      /at most (\d+) activities[\s\S]*counts as (\d+) MiB[\s\S]*half of what remains[\s\S]*after (\d+) MiB/.exec(
        text,
      )!;
    expect(activityMemory(2048 * MIB, 100)).toBe(((2048 - Number(idle)) / 2) * MIB);
    expect(activityMemory(2048 * MIB, 300)).toBeLessThan(activityMemory(2048 * MIB, 100));
    expect(activitySlots(Number(most), 10 * Number(each) * MIB)).toBe(10);
    expect(activitySlots(Number(most), 10 * Number(each) * MIB - 1)).toBe(9);
    expect(activitySlots(Number(most), 1000 * Number(each) * MIB)).toBe(Number(most));
    expect(CODE.includes(`concurrent activities in this process (default: ${most})`)).toBe(true);
  });
});

describe('A line of the log that a page quotes', () => {
  const quotes = [
    ['docs/how-to/logs-and-traces.md', 'starting a worker'],
    ['docs/how-to/logs-and-traces.md', 'write-back started'],
    ['docs/how-to/logs-and-traces.md', 'write-back ended'],
    ['docs/how-to/workers.md', 'configuration rejected'],
    ['docs/how-to/workers.md', 'has not accepted'],
  ] as const;

  it.each(quotes)('is on %s and in the code: %s', (page, quote) => {
    expect(codeSpans(pageAt(page).text)).toContain(quote);
    expect(CODE.includes(quote), quote).toBe(true);
  });
});
