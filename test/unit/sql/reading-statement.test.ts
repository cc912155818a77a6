import { describe, expect, it } from 'vitest';
import { QueryError } from '../../../src/sql/query/errors.js';
import { listsViews, mentionedViews, readingStatement } from '../../../src/sql/query/reading-statement.js';
import { REFUSED } from '../../support/refused-statements.js';

describe('a statement of a query', () => {
  it.each(REFUSED)('is refused in one sentence or two if it does not only read: %j', (sql) => {
    expect(() => readingStatement(sql)).toThrow(QueryError);
    expect(() => readingStatement(sql)).toThrow(/\.$/);
  });

  it.each([
    ...[
      'SELECT 1',
      'select 1;',
      '\t(SELECT 1) UNION (SELECT 2)',
      'WITH x AS (SELECT 1) FROM x',
      'FROM tasks',
    ],
    ...['VALUES (1)', 'TABLE tasks', 'DESCRIBE tasks', 'SHOW TABLES', 'SUMMARIZE tasks'],
    ...['-- a comment\nSELECT 1', '/* a /* nested */ comment */ SELECT 1'],
  ])('is accepted if it only reads: %j', (sql) => {
    expect(readingStatement(sql)).toEqual({ sql, explained: null });
  });

  it('is what EXPLAIN explains, without running it', () => {
    expect(readingStatement('EXPLAIN SELECT 1')).toMatchObject({ explained: 'SELECT 1' });
  });
});

it('finds the views in a statement, in any case and in quotes, and whether it lists them', () => {
  const views = ['tasks', 'time_entries', 'time_entries_changes'];
  expect(mentionedViews('SELECT * FROM Tasks', views)).toEqual(['tasks']);
  expect(mentionedViews('FROM "time_entries" t JOIN tasks', views)).toEqual(['tasks', 'time_entries']);
  expect(mentionedViews('FROM time_entries_changes', views)).toEqual(['time_entries_changes']);
  expect(mentionedViews('SELECT 1', views)).toEqual([]);
  expect(['SHOW TABLES', 'FROM duckdb_views()', 'SELECT 1'].map(listsViews)).toEqual([true, true, false]);
});
