import { type ObjectKey, toByteString } from '../core/brands.js';
import type { Cells } from '../core/cells.js';
import type { CsvSettings } from '../core/settings.js';
import { type Cell, writeRows } from './csv.js';
import type { Column } from './schema.js';
import type { ObjectStore } from './store/index.js';

/**
 * Sets records without their key aside as plain CSV with the data columns, for a person to look at. They are kept
 * until somebody removes them: nothing that the service sent is lost (DESIGN 3.2).
 */
export async function writeQuarantine(
  store: ObjectStore,
  key: ObjectKey,
  records: readonly Cells[],
  columns: readonly Column[],
  csv: Pick<CsvSettings, 'delimiter'>,
): Promise<void> {
  const rows: Cell[][] = [columns.map((column) => toByteString(column.name))];
  for (const cells of records) rows.push(Array.from(columns, (_, at) => cells[at]));
  await store.write(key, Buffer.from(writeRows(rows, csv.delimiter), 'latin1'), { contentType: 'text/csv' });
}
