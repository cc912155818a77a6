import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkLayout, type LakeLayoutError } from '../../../src/lake/documents/lake-layout.js';
import { renderDdl } from '../../../src/sql/ddl/statements.js';
import { DELTA_DIALECTS, registerStatements } from '../../../src/sql/register-tables.js';
import { codeBlocks, codeSpans, pageAt } from '../../support/docs.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const LAKE = { url: 's3://company-lake/worktrack', region: 'eu-central-1' };

describe('the guide to Delta tables', () => {
  const page = pageAt('docs/how-to/delta-tables.md');
  const printed = DELTA_DIALECTS.map((dialect) =>
    renderDdl(registerStatements({ dialect, lake: LAKE, resource: 'tasks', columns: [] })),
  );
  const statements = codeBlocks([page])
    .filter(({ language }) => language === 'sql')
    .flatMap(({ text }) => text.split(/;\n*/))
    .map((statement) => statement.trim())
    .filter((statement) => /^(CREATE|CALL)/.test(statement));

  it.each(statements)('shows a statement that `ddl --delta` prints: %s', (statement) => {
    expect(printed.some((text) => text.includes(`${statement};`))).toBe(true);
  });

  it('shows a statement for most engines, and names all of them', () => {
    expect(statements.length).toBeGreaterThanOrEqual(5);
    const spans = codeSpans(page.text);
    expect(DELTA_DIALECTS.filter((dialect) => !spans.includes(dialect))).toEqual([]);
  });
});

describe('a message that a guide shows in a block', () => {
  const shown = (path: string, pattern: RegExp): string =>
    codeBlocks([pageAt(path)]).find(({ text }) => pattern.test(text))!.text;

  it('about a value that does not fit its type is one of the code', () => {
    const [, message] = shown('docs/how-to/query.md', /^column "/).split('"amount"');
    expect(sources()).toContain(message);
  });

  it('about the layout of the lake is one of the code', () => {
    let message = '';
    try {
      checkLayout('s3://acme-lake/worktrack/tasks/latest.json', undefined);
    } catch (error) {
      message = (error as LakeLayoutError).describe(' ');
    }
    expect(shown('docs/how-to/upgrade.md', /has an earlier layout/)).toBe(message);
  });
});

describe('the table of warnings', () => {
  const section = /## Warnings\n([\s\S]*?)\n## /.exec(pageAt('docs/how-to/monitor.md').text)![1]!;
  const words = [...section.matchAll(/^\| ([a-z][a-z, -]*?) \|/gm)]
    .flatMap((match) => match[1]!.split(', '))
    .filter((word) => word !== 'first words');

  it.each(words)('names a warning of the code: %s', (word) => {
    expect(sources()).toMatch(new RegExp(`['"\`]${word}: `));
  });

  it('has the warnings that runs give', () => {
    expect(words).toEqual(expect.arrayContaining(['gap', 'list shifted', 'deletes', 'settings', 'table']));
    expect(words.length).toBeGreaterThan(12);
  });
});

let all: string | undefined;
/** The sources in one text, texts that are put together out of several in one piece. */
function sources(): string {
  all ??= ['src', 'activities', 'workflows']
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n')
    .replace(/['"`]\s*\+\s*['"`]/g, '');
  return all;
}
