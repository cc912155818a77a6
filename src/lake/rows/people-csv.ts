import { type Options, stringify } from 'csv-stringify/sync';
import { type Cells, type ObjectKey, toByteString } from '../../core/brands.js';
import type { CsvSettings } from '../../core/settings.js';
import type { ObjectStore } from '../store/index.js';
import type { Column } from './data-columns.js';
import { escapeForPeople } from './escaping.js';

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

/**
 * Writes records without a key to a quarantine file: uncompressed CSV with the data columns. The file stays until a
 * purge of its last record or a person removes it, so no record that the service sent is lost (docs/explanation/guarantees.md#key).
 */
export async function writeQuarantine(
  store: ObjectStore,
  key: ObjectKey,
  records: readonly Cells[],
  columns: readonly Column[],
  csv: Pick<CsvSettings, 'delimiter'>,
): Promise<void> {
  const rows: Cells[] = [columns.map((column) => toByteString(column.name))];
  // People open the file in a spreadsheet.
  const shown = (cell: Cells[number]) => (cell == null ? cell : escapeForPeople(cell));
  for (const cells of records) rows.push(Array.from(columns, (_, at) => shown(cells[at])));
  await store.write(key, Buffer.from(peopleCsv(rows, csv.delimiter), 'latin1'));
}
