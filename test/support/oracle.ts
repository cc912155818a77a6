import { deepStrictEqual } from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';

/** Marks a number's literal in text that has been through `JSON.parse`. */
const MARK = '\u0001number:';

/** The columns that are not the service's. */
const META = ['_run_id', '_synced_at', '_deleted_at'];

/**
 * Computes the expected cells of a record independently of the code under test: it quotes every number in the record's
 * text behind a mark, and parses the result with `JSON.parse`.
 *
 * @param separator between the levels of a flattened column's name; `null` where nested values are JSON text
 */
export function expectedCells(
  recordText: string,
  separator: string | null = null,
): Map<string, string | null> {
  const cells = new Map<string, string | null>();
  const read = (object: object, prefix: string): void => {
    for (const [name, value] of Object.entries(object)) {
      const field = `${prefix}${name}`;
      const isSpread = separator !== null && isObject(value) && Object.keys(value).length > 0;
      if (isSpread) read(value, `${field}${separator}`);
      else cells.set(columnOf(field), toCell(value));
    }
  };
  read(JSON.parse(quoteNumbers(recordText)) as object, '');
  return cells;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function columnOf(field: string): string {
  return (META.includes(field) ? `${field}__field` : field).toWellFormed();
}

function toCell(value: unknown): string | null {
  if (value === null) return null;
  if (typeof value === 'string')
    return (value.startsWith(MARK) ? value.slice(MARK.length) : value).toWellFormed();
  if (typeof value === 'boolean') return String(value);
  return JSON.stringify(value);
}

/** Compares a row of a snapshot with its record; nested values are compared as values. */
export function assertRowEquals(row: Record<string, string | null>, recordText: string): void {
  assertCellsEqual(row, expectedCells(recordText));
}

/** As `assertRowEquals`, against cells as `expectedCells` gives them. */
export function assertCellsEqual(
  row: Record<string, string | null>,
  expected: ReadonlyMap<string, string | null>,
): void {
  for (const [name, cell] of expected) {
    const found = row[name] ?? null;
    if (!isSameCell(found, cell)) deepStrictEqual(found, cell, `${row.id}: ${name}`);
  }
  for (const [name, cell] of Object.entries(row)) {
    if (!META.includes(name) && !expected.has(name))
      deepStrictEqual(cell, null, `${row.id}: ${name} is not in the record`);
  }
}

/** Whether a text is an expected cell; nested values are compared as values. */
export function isSameCell(found: string | null, expected: string | null): boolean {
  if (found === expected) return true;
  if (found === null || expected === null || !isNested(expected) || !isNested(found)) return false;
  return isDeepStrictEqual(JSON.parse(quoteNumbers(found)), JSON.parse(expected));
}

/** Puts numbers outside strings in quotes, behind the mark. */
function quoteNumbers(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs, (token) =>
    token.startsWith('"') ? token : JSON.stringify(MARK + token),
  );
}

/** The escapes of a resource, as in `csv`. */
export interface Escapes {
  readonly lineBreaks?: 'keep' | 'escape';
  readonly escapeFormulas?: boolean;
}

/** Restores a value from its cell as docs/explanation/guarantees.md tells readers to (line breaks, formulas). */
export function restored(cell: string, { lineBreaks = 'keep', escapeFormulas = false }: Escapes): string {
  const text = escapeFormulas && /^'+[=+\-@\t\r＝＋－＠]/.test(cell) ? cell.slice(1) : cell;
  if (lineBreaks === 'keep' || isNested(text)) return text;
  return text.replace(/\\(.)/gs, (_, code: string) => ({ n: '\n', r: '\r' })[code] ?? code);
}

function isNested(text: string): boolean {
  try {
    return /^[{[]/.test(text) && typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}
