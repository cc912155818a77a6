import { cellEnd } from '../rows/csv.js';

const QUOTE = 0x22;
const LF = 0x0a;

/**
 * Number of cells of one row (with its LF), or a description of its format error. The connector writes RFC 4180 with every
 * quote, line break and delimiter of a value inside quotes (docs/explanation/guarantees.md#csv).
 */
export function cellsOf(row: string, delimiter: string): number | string {
  if (!row.includes('"') && !row.includes('\r')) {
    let cells = 1;
    for (let at = row.indexOf(delimiter); at !== -1; at = row.indexOf(delimiter, at + 1)) cells++;
    return cells;
  }
  for (let at = 0, cells = 1; ; cells++) {
    const end = cellEnd(row, at, delimiter);
    if (row.charCodeAt(at) !== QUOTE) {
      const cell = row.slice(at, end);
      if (cell.includes('"')) return `cell ${cells} has a quote outside quotes`;
      if (cell.includes('\r')) return `cell ${cells} has a CR outside quotes`;
    }
    if (end >= row.length) return `cell ${cells} does not end`;
    const next = row.charCodeAt(end);
    if (next === LF)
      return end === row.length - 1 ? cells : `cell ${cells} is followed by text after the end of the row`;
    if (row[end] !== delimiter) return `cell ${cells} continues after its closing quote`;
    at = end + 1;
  }
}

/** Matches the start of a row: a run id, a time, and a time or nothing. The offsets of `row.ts` depend on it. */
export function prefixPattern(delimiter: string): RegExp {
  const d = delimiter.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
  const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
  return new RegExp(String.raw`^\d{8}T\d{6}Z-[0-9a-f]{8}${d}${time}${d}(?:${time})?${d}`);
}
