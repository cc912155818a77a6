import { type Options, stringify } from 'csv-stringify/sync';

/** A cell of {@link peopleCsv}. */
type Cell<Text extends string> = Text | null | undefined;

/**
 * Options of csv-stringify for the CSV of docs/explanation/guarantees.md#csv: LF ends a row, `null` is an empty field and the
 * empty text is `""`. It also quotes a cell with a CR, and one with white space at either end, which some readers trim.
 */
const OPTIONS: Options = { record_delimiter: '\n', quoted_match: ['\r', /^$/, /^[\0- ]/, /[\0- ]$/] };

/**
 * Rows as CSV for files and screens that people read: receipts, quarantined records, `worktrack cat`. Pass many rows per call:
 * a call costs more than a row. The parts of a snapshot are written by `writeRows`, which is five times as fast and tested
 * to write the same text.
 *
 * @returns text of the same kind as the cells: ordinary text, or one byte per character
 * @example
 * peopleCsv([['id', 'title'], ['7', 'a "quoted" title'], ['8', null]]); // 'id,title\n7,"a ""quoted"" title"\n8,\n'
 */
export function peopleCsv<Text extends string>(
  rows: readonly (readonly Cell<Text>[])[],
  delimiter = ',',
): Text {
  return stringify(rows as Cell<Text>[][], { ...OPTIONS, delimiter }) as Text;
}
