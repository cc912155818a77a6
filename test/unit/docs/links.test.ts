import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchorsOf, PAGES, type Page, pageAt, proseOf } from '../../support/docs.js';

const ROOT = resolve(import.meta.dirname, '../../..');

describe('the pages', () => {
  it.each(PAGES)('have distinct headings, and links with existing targets: $path', (page) => {
    // Each version in a changelog has the same headings.
    const anchors = page.path === 'CHANGELOG.md' ? [] : anchorsOf(page);
    expect(anchors.filter((one, at) => anchors.indexOf(one) !== at)).toEqual([]);
    expect(linksOf(page).filter((link) => problemOf(page, link) !== null)).toEqual([]);
  });

  it('are all in the index, docs/README.md, and those for maintainers in CONTRIBUTING.md', () => {
    const linked = ['docs/README.md', 'CONTRIBUTING.md'].flatMap((path) => {
      const page = PAGES.find((one) => one.path === path)!;
      const links = linksOf(page).map((link) => normalize(join(dirname(path), link)));
      return links.filter((link) => link.includes('/internals/') === (path === 'CONTRIBUTING.md'));
    });
    expect(
      PAGES.map(({ path }) => path).filter((path) => !/README\.md$/.test(path) && !linked.includes(path)),
    ).toEqual([]);
  });

  it('show only pictures that `npm run pictures` makes, and all of them', () => {
    const shown = PAGES.flatMap((page) =>
      linksOf(page)
        .filter((link) => link.endsWith('.png'))
        .map((link) => normalize(join(dirname(page.path), link))),
    );
    const script = readFileSync(join(ROOT, 'test/pictures/demo.pictures.ts'), 'utf8');
    const made = [...script.matchAll(/'([\w-]+\.png)'/g)].map(([, name]) => `docs/images/${name}`);
    const there = readdirSync(join(ROOT, 'docs/images')).map((name) => `docs/images/${name}`);
    expect(new Set(shown)).toEqual(new Set(made));
    expect(there.sort()).toEqual(made.sort());
  });

  it('fence all code, so that tests see it', () => {
    const indented = PAGES.flatMap(({ path, text }) =>
      [...proseOf(text).matchAll(/\n\n( {4,}(?![-*\d]|\|).*)/g)].map(([, line]) => ({ path, line })),
    );
    expect(indented.filter(({ line }) => /^ {4,}(?:#|\$|\w+:|worktrack|npm|[A-Z_]+=)/.test(line!))).toEqual(
      [],
    );
  });

  it('start with a README of at most 700 words', () => {
    expect(PAGES[0]!.text.split(/\s+/).filter((word) => word !== '').length).toBeLessThanOrEqual(700);
  });

  it('tell no one to install what is not published: the changelog has a date for each published version', () => {
    const [, published] = /^## \[\d+\.\d+\.\d+\].*\d{4}-\d\d-\d\d/m.exec(pageAt('CHANGELOG.md').text) ?? [];
    if (published !== undefined) return;
    expect(
      installs('Run `npm install --global temporal-worktrack`, or npx temporal-worktrack demo'),
    ).toHaveLength(2);
    expect(installs('docker build -t temporal-worktrack . and npm install hyparquet')).toEqual([]);
    const texts = readdirSync(join(ROOT, 'examples'), { recursive: true, encoding: 'utf8' })
      .filter((path) => !path.includes('node_modules') && /\.(md|ya?ml|json|ts)$/.test(path))
      .map((path) => ({ path, text: readFileSync(join(ROOT, 'examples', path), 'utf8') }));
    const found = [...PAGES, ...texts].flatMap(({ path, text }) =>
      installs(text).map((what) => ({ path, what })),
    );
    expect(found).toEqual([]);
  });
});

describe('a link', () => {
  const page: Page = { path: 'docs/x.md', text: '# X\n\n## A heading, here\n' };

  it('is resolved to its page and heading', () => {
    expect(problemOf(page, '#a-heading-here')).toBeNull();
    expect(problemOf(page, 'reference/exit-codes.md#exit-codes')).toBeNull();
  });

  it('a link to a missing page or heading is reported', () => {
    expect(problemOf(page, 'nowhere.md')).toBe('no such file');
    expect(problemOf(page, 'reference/exit-codes.md#nowhere')).toBe('no such heading');
    expect(problemOf(page, '#nowhere')).toBe('no such heading');
  });
});

describe('comments', () => {
  const files = ['src', 'workflows', 'activities', 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => join(folder, path))
      .filter((path) => /\.(ts|mjs|cjs)$/.test(path)),
  );
  const texts = files.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

  it('cite headings of the documentation that exist', () => {
    const cited = texts.flatMap(({ path, text }) =>
      [...text.matchAll(/\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g)].map(([link]) => ({ path, link })),
    );
    expect(cited.length).toBeGreaterThan(100);
    const root: Page = { path: 'root', text: '' };
    expect(cited.filter(({ link }) => link !== 'docs/x.md' && problemOf(root, link) !== null)).toEqual([]);
  });

  it('cite no page that is not in the repository', () => {
    expect(texts.filter(({ text }) => /\bDESIGN [0-9]/.test(text)).map(({ path }) => path)).toEqual([]);
  });
});

/** Commands that take this package from a registry. */
function installs(text: string): string[] {
  return [
    ...text.matchAll(
      /\b(?:npx(?: --?\S+)*|(?:npm|pnpm|yarn) (?:i|install|add|exec|dlx)(?: --?\S+)*|docker pull) temporal-worktrack(?:@\S+)?\b(?![/-])/g,
    ),
  ].map(([command]) => command);
}

/** Relative links and images of a page. */
function linksOf({ text }: Page): string[] {
  const prose = proseOf(text).replace(/`[^`\n]+`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)|src="([^"]+)"/g)]
    .map(([, link, image]) => link ?? image!)
    .filter((link) => !/^\w+:/.test(link));
}

/** What is wrong with a relative link of a page; `null` for nothing. */
function problemOf(from: Page, link: string): string | null {
  const [file, anchor] = link.split('#') as [string, string?];
  const path = file === '' ? from.path : normalize(join(dirname(from.path), file));
  const page = file === '' ? from : PAGES.find((one) => one.path === path);
  if (page === undefined && !(existsSync(join(ROOT, path)) && statSync(join(ROOT, path)).isFile()))
    return 'no such file';
  if (anchor === undefined) return null;
  return page !== undefined && anchorsOf(page).includes(anchor) ? null : 'no such heading';
}
