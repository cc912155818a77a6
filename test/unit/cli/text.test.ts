import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fittedTables, terminalHeight, terminalWidth, wrap } from '../../../src/cli/shared/output.js';

describe('a wrapped line', () => {
  it('is broken at spaces and indented below its beginning', () => {
    expect(wrap('  tasks: the service answered 503', 24)).toEqual([
      '  tasks: the service',
      '    answered 503',
    ]);
    expect(wrap('short', 80)).toEqual(['short']);
  });

  it('keeps a long word, such as a URL, whole', () => {
    const url = `https://example.com/${'x'.repeat(40)}`;
    expect(wrap(`see ${url} now`, 30)).toEqual(['see', `  ${url}`, '  now']);
  });

  it('keeps a command between backticks whole, so that it can be copied', () => {
    const command = '`node /opt/clone/dist/src/cli/main.js ddl > lake.sql`';
    expect(wrap(`Query it: ${command}. Then wait.`, 40)).toEqual([
      'Query it:',
      `  ${command}.`,
      '  Then wait.',
    ]);
    expect(wrap(`  remedy: ${command}`, 40)).toEqual(['  remedy:', `    ${command}`]);
  });

  it.each([
    ['Set `masking.secret` to', '{ env: WORKTRACK_MASKING_SECRET, key: [1, 2] }', 'and restart.'],
    ['The response was', '{"error": {"code": 409, "text": "being changed"}}', 'for row 7.'],
    ['One of', '["a b", "c d", "e f", "g h", "i j"]', 'is missing.'],
  ])('keeps JSON and YAML whole: %s %s', (before, code, after) => {
    for (let width = 20; width < 100; width++) {
      const lines = wrap(`${before} ${code} ${after}`, width);
      expect(lines.filter((line) => line.includes(code))).toHaveLength(1);
      expect(lines.map((line) => line.trim()).join(' ')).toBe(`${before} ${code} ${after}`);
    }
  });

  it('is broken as usual after a bracket that does not end', () => {
    expect(wrap('a { b [ c '.repeat(5).trim(), 20).every((line) => line.length <= 20)).toBe(true);
  });

  it('is never wider than the terminal if its words are short, and loses no word', () => {
    const words = fc.array(fc.stringMatching(/^[a-z]{1,10}$/), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(words, fc.integer({ min: 20, max: 90 }), fc.nat(6), (text, width, margin) => {
        const lines = wrap(' '.repeat(margin) + text.join(' '), width);
        expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
        expect(lines.join(' ').trim().split(/ +/)).toEqual(text);
      }),
    );
  });
});

describe('a table', () => {
  it('leaves out optional columns until it fits', () => {
    const rows = [
      ['NAME', 'ROWS', 'RUN'],
      ['tasks', '10', '20261121T020000Z-1a2b3c4d'],
    ];
    const options = { right: [1], optional: [1] };
    const lineAt = (width: number) => fittedTables([rows], { ...options, width })[0]![1];
    expect(lineAt(80)).toBe('tasks    10  20261121T020000Z-1a2b3c4d');
    expect(lineAt(35)).toBe('tasks  20261121T020000Z-1a2b3c4d');
  });

  it('has the same columns as the other tables of the output', () => {
    const narrow = [
      ['NAME', 'ROWS'],
      ['tasks', '10'],
    ];
    const wide = [
      ['NAME', 'ROWS'],
      ['a-list-with-a-long-name', '10'],
    ];
    const tables = fittedTables([narrow, wide], { right: [1], optional: [1], width: 25 });
    expect(tables.map(([head]) => head)).toEqual(['NAME', 'NAME']);
  });
});

describe('the size of the terminal', () => {
  it('comes from the terminal, or from the environment, as under `watch`', () => {
    expect(terminalWidth({ isTTY: true, columns: 120 }, { COLUMNS: '80' })).toBe(120);
    expect(terminalWidth({}, { COLUMNS: '80' })).toBe(80);
    expect(terminalWidth({}, {})).toBe(Number.POSITIVE_INFINITY);
    expect(terminalHeight({ isTTY: true, rows: 50 }, {})).toBe(50);
    expect(terminalHeight({}, {})).toBe(24);
  });
});
