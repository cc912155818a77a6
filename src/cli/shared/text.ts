import { age, count, cut } from '../../core/short-text.js';

export { age, count, cut };

/** `1 row`, `2 rows`. */
export function counted(value: number, one: string): string {
  return `${count(value)} ${one}${value === 1 ? '' : 's'}`;
}

/** Formats a table. Each column is as wide as its widest cell; the columns in `right` are right-aligned. */
export function table(rows: readonly (readonly string[])[], right: readonly number[] = []): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, i) =>
    Math.max(...rows.map((row) => row[i]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, i) => (right.includes(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

interface FittedOptions {
  /** Columns that are right-aligned. */
  readonly right: readonly number[];
  /** Columns that are left out, in this order, until the table fits. */
  readonly optional: readonly number[];
  readonly width: number;
}

/** Tables of the same columns, which leave out columns until all of them fit a width, if that is possible. */
export function fittedTables(
  tables: readonly (readonly (readonly string[])[])[],
  { right, optional, width }: FittedOptions,
): string[][] {
  for (let left = 0; ; left++) {
    const without = new Set(optional.slice(0, left));
    const columns = Math.max(0, ...tables.flatMap((rows) => rows.map((row) => row.length)));
    const kept = Array.from({ length: columns }, (_, at) => at).filter((at) => !without.has(at));
    const aligned = right.flatMap((at) => (without.has(at) ? [] : [kept.indexOf(at)]));
    const fitted = tables.map((rows) =>
      table(
        rows.map((row) => kept.map((at) => row[at] ?? '')),
        aligned,
      ),
    );
    if (left === optional.length || fitted.flat().every((line) => line.length <= width)) return fitted;
  }
}

/** One line of at most `width` characters. */
export function clip(text: string, width: number): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

/** Narrower lines are not wrapped: only a word each would fit. */
const NARROWEST = 20;

/**
 * Breaks a line at spaces into lines of at most `width` characters. Continuation lines are indented by two more spaces. A
 * longer word, such as a URL, and a command between backticks stay whole, so that they can be copied.
 */
export function wrap(text: string, width: number): string[] {
  if (text.length <= width || width < NARROWEST) return [text];
  const line = text.replace(QUOTED, (quoted) => quoted.replaceAll(' ', KEPT_SPACE));
  return broken(line, width).map((one) => one.replaceAll(KEPT_SPACE, ' '));
}

/** A command, or another short text, between backticks. */
const QUOTED = /`[^`]{1,300}`/g;
/** Stands for a space that does not break a line. Messages have no control characters: they are escaped before. */
const KEPT_SPACE = '\0';

function broken(line: string, width: number): string[] {
  const margin = /^ */.exec(line)![0].length;
  const indent = ' '.repeat(Math.min(margin + 2, Math.floor(width / 2)));
  const lines: string[] = [];
  for (let rest = line; ; ) {
    const start = lines.length === 0 ? margin : indent.length;
    const fits = rest.length <= width;
    const space = fits ? -1 : rest.lastIndexOf(' ', width);
    const at = space > start ? space : fits ? -1 : rest.indexOf(' ', Math.max(width, start));
    if (at === -1) return [...lines, rest];
    lines.push(rest.slice(0, at).trimEnd());
    rest = indent + rest.slice(at).trimStart();
  }
}
