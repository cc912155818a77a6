import type { ByteString } from '../../core/brands.js';
import { fromByteString } from '../../core/brands.js';
import type { CsvSettings } from '../../core/settings.js';
import { writeRows } from './csv.js';
import { escapeLineBreaks } from './escaping.js';
import { type Column, headerCells } from './schema.js';

type HeaderFormat = Pick<CsvSettings, 'delimiter' | 'lineBreaks'>;

/** The header row with its LF: metadata columns, then data columns (docs/explanation/guarantees.md#header). */
export function headerRow(columns: readonly Column[], csv: HeaderFormat): ByteString {
  return writeRows([cellsOf(columns, csv)], csv.delimiter);
}

/** The names in the header as text. */
export function headerNames(columns: readonly Pick<Column, 'name'>[], csv: HeaderFormat): string[] {
  return cellsOf(columns, csv).map(fromByteString);
}

function cellsOf(columns: readonly Pick<Column, 'name'>[], { lineBreaks }: HeaderFormat): ByteString[] {
  const cells = headerCells(columns);
  return lineBreaks === 'escape' ? cells.map(escapeLineBreaks) : cells;
}
