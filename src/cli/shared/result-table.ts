import { clip, table } from './output.js';

const NUMBERS = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL|DOUBLE|FLOAT)/;
/** A column is not narrower than this to make place for others. */
const NARROW = 12;
const GAP = 2;

/**
 * A table of a result within a width. Wide cells are cut; columns that do not fit even then are left out, those of the mirror
 * (`_run_id`) first, and then those at the end.
 *
 * @param width characters of a line
 * @returns `hidden`: number of columns that were left out
 */
export function resultTable(
  columns: readonly ResultColumn[],
  rows: readonly (readonly (string | null)[])[],
  width: number,
): { readonly lines: string[]; readonly hidden: number } {
  const whole = tableOf(columns, rows, width);
  if (whole.hidden === 0) return whole;
  const isOfMirror = (at: number): boolean => columns[at]!.name.startsWith('_');
  const order = [...columns.keys()].sort((a, b) => Number(isOfMirror(a)) - Number(isOfMirror(b)));
  return tableOf(
    order.map((at) => columns[at]!),
    rows.map((row) => order.map((at) => row[at]!)),
    width,
  );
}

interface ResultColumn {
  readonly name: string;
  readonly type: string;
}

function tableOf(
  columns: readonly ResultColumn[],
  rows: readonly (readonly (string | null)[])[],
  width: number,
): { readonly lines: string[]; readonly hidden: number } {
  const texts = rows.map((row) => row.map((cell) => (cell === null ? 'NULL' : oneLine(cell))));
  const wanted = columns.map(({ name }, at) => Math.max(name.length, ...texts.map((row) => row[at]!.length)));
  const widths = fitWidths(wanted, width);
  const cut = (row: readonly string[]): string[] => widths.map((limit, at) => clip(row[at]!, limit));
  const right = columns.flatMap(({ type }, at) => (NUMBERS.test(type) ? [at] : []));
  const lines = table([cut(columns.map(({ name }) => oneLine(name))), ...texts.map(cut)], right);
  return { lines, hidden: columns.length - widths.length };
}

/** Line breaks and other control characters would leave the row. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}/gu, ' ');
}

/** Widths of the first columns that fit, the widest made narrower first. */
function fitWidths(wanted: readonly number[], width: number): number[] {
  const total = (widths: readonly number[]): number => widths.reduce((sum, one) => sum + one + GAP, -GAP);
  const widths = [...wanted];
  while (widths.length > 1 && total(widths.map((one) => Math.min(one, NARROW))) > width) widths.pop();
  for (let excess = total(widths) - width; excess > 0; excess = total(widths) - width) {
    const widest = Math.max(...widths);
    if (widest <= NARROW) break;
    const next = Math.max(NARROW, ...widths.filter((one) => one < widest));
    const many = widths.filter((one) => one === widest).length;
    const to = Math.max(next, widest - Math.ceil(excess / many));
    for (const [at, one] of widths.entries()) if (one === widest) widths[at] = to;
  }
  return widths;
}
