import { QueryError } from './errors.js';

/** The words that a reading statement can begin with. */
const READS: ReadonlySet<string> = new Set([
  ...['select', 'with', 'from', 'values', 'table'],
  ...['describe', 'desc', 'show', 'summarize', 'explain'],
]);

/** A statement that only reads, as far as its first words show. DuckDB's parser confirms it. */
export interface ReadingStatement {
  readonly sql: string;
  /** The statement whose plan an EXPLAIN shows; `null`: the statement is no EXPLAIN. */
  readonly explained: string | null;
}

/**
 * Refuses every statement that could write or change the session, before DuckDB sees it: DuckDB runs some statements while it
 * parses them. EXPLAIN is accepted without options, because `EXPLAIN ANALYZE` executes.
 *
 * @throws QueryError with one sentence
 */
export function readingStatement(sql: string): ReadingStatement {
  const start = skipBlank(sql, 0);
  if (start === sql.length) throw new QueryError('The statement is empty. Give a SELECT.');
  const { word, end } = wordAt(sql, skipOpening(sql, start));
  if (!READS.has(word)) throw new QueryError(refusal(word));
  if (word !== 'explain') return { sql, explained: null };
  const explained = sql.slice(skipBlank(sql, end));
  const next = wordAt(explained, 0).word;
  if (next === 'analyze' || explained.startsWith('('))
    throw new QueryError('query accepts EXPLAIN without options: EXPLAIN ANALYZE would run the statement.');
  readingStatement(explained);
  return { sql, explained };
}

function refusal(word: string): string {
  const named = word === '' ? 'this statement' : `a statement that begins with ${word.toUpperCase()}`;
  return `query only reads, so it refuses ${named}. Use SELECT, or EXPLAIN without options.`;
}

/** The names of views that a statement mentions anywhere, also in a comment or a text: never too few. */
export function mentionedViews(sql: string, views: readonly string[]): string[] {
  const words = wordsOf(sql);
  return views.filter((view) => words.has(view));
}

/** Whether a statement may list views without naming them. */
export function listsViews(sql: string): boolean {
  const words = wordsOf(sql);
  return LISTS.some((word) => words.has(word));
}

const LISTS = ['show', 'information_schema', 'duckdb_views', 'duckdb_tables', 'duckdb_columns'];

function wordsOf(sql: string): Set<string> {
  return new Set(sql.toLowerCase().match(/[a-z0-9_]+/g) ?? []);
}

/** The position after white space and comments. Comments nest, as in DuckDB. */
function skipBlank(sql: string, from: number): number {
  let at = from;
  for (;;) {
    while (at < sql.length && sql[at]!.trim() === '') at++;
    if (sql.startsWith('--', at)) at = endOr(sql, sql.indexOf('\n', at));
    else if (sql.startsWith('/*', at)) at = endOfComment(sql, at);
    else return at;
  }
}

function endOfComment(sql: string, from: number): number {
  let depth = 0;
  for (let at = from; at < sql.length; at++) {
    const two = sql.slice(at, at + 2);
    if (two === '/*') depth++;
    else if (two === '*/') depth--;
    else continue;
    at++;
    if (depth === 0) return at + 1;
  }
  return sql.length;
}

function endOr(sql: string, at: number): number {
  return at === -1 ? sql.length : at;
}

/** The position after opening parentheses: `(SELECT 1) UNION …`. */
function skipOpening(sql: string, from: number): number {
  let at = from;
  while (sql[at] === '(') at = skipBlank(sql, at + 1);
  return at;
}

/** The word at a position, in lower case; empty if there is none. */
function wordAt(sql: string, at: number): { readonly word: string; readonly end: number } {
  const pattern = /[a-z_]+/iy;
  pattern.lastIndex = at;
  const [word = ''] = pattern.exec(sql) ?? [];
  return { word: word.toLowerCase(), end: at + word.length };
}
