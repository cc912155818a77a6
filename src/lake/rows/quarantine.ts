import { type Cells, type ObjectKey, toByteString } from '../../core/brands.js';
import type { CsvSettings } from '../../core/settings.js';
import type { ObjectStore } from '../store/index.js';
import { peopleCsv } from './people-csv.js';
import type { Column } from './schema.js';

/**
 * Writes records without a key to a quarantine file: uncompressed CSV with the data columns. The file is kept until a
 * person removes it, so no record that the service sent is lost (docs/explanation/guarantees.md#key).
 */
export async function writeQuarantine(
  store: ObjectStore,
  key: ObjectKey,
  records: readonly Cells[],
  columns: readonly Column[],
  csv: Pick<CsvSettings, 'delimiter'>,
): Promise<void> {
  const rows: Cells[] = [columns.map((column) => toByteString(column.name))];
  for (const cells of records) rows.push(Array.from(columns, (_, at) => cells[at]));
  await store.write(key, Buffer.from(peopleCsv(rows, csv.delimiter), 'latin1'), { contentType: 'text/csv' });
}
