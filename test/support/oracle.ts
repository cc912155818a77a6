import { deepStrictEqual } from 'node:assert/strict';

/** Marks a number's literal in text that has been through `JSON.parse`. */
const MARK = '\u0001number:';

/**
 * What the cells of a record must be, found in another way than the code under test finds it: every number of the
 * record's text is put in quotes behind a mark, and `JSON.parse` does the rest.
 */
export function expectedCells(recordText: string): Map<string, string | null> {
  const cells = new Map<string, string | null>();
  const record = JSON.parse(quoteNumbers(recordText), (_, value) => value) as object;
  for (const [name, value] of Object.entries(record)) {
    const column = ['_run_id', '_synced_at', '_deleted_at'].includes(name) ? `${name}__field` : name;
    cells.set(column.toWellFormed(), toCell(value));
  }
  return cells;
}

function toCell(value: unknown): string | null {
  if (value === null) return null;
  if (typeof value === 'string')
    return (value.startsWith(MARK) ? value.slice(MARK.length) : value).toWellFormed();
  if (typeof value === 'boolean') return String(value);
  return JSON.stringify(value);
}

/** Holds a row of a snapshot against the record it came from; nested values are compared as values. */
export function assertRowEquals(row: Record<string, string | null>, recordText: string): void {
  const expected = expectedCells(recordText);
  for (const [name, cell] of expected) {
    const found = row[name] ?? null;
    if (cell !== null && found !== null && /^[[{]/.test(cell)) {
      deepStrictEqual(JSON.parse(quoteNumbers(found)), JSON.parse(cell), `${row.id}: ${name}`);
    } else {
      deepStrictEqual(found, cell, `${row.id}: ${name}`);
    }
  }
  for (const [name, cell] of Object.entries(row)) {
    const ours = ['_run_id', '_synced_at', '_deleted_at'].includes(name);
    if (!ours && !expected.has(name)) deepStrictEqual(cell, null, `${row.id}: ${name} is not in the record`);
  }
}

/** Puts numbers outside strings in quotes, behind the mark. */
function quoteNumbers(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs, (token) =>
    token.startsWith('"') ? token : JSON.stringify(MARK + token),
  );
}
