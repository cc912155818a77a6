import type { CsvSettings } from '../core/settings.js';
import type { PublishedPart } from '../lake/documents/manifest.js';
import { readPartRows } from '../lake/part/part-rows.js';
import { readRow } from '../lake/rows/csv.js';
import { type Column, META_COLUMNS } from '../lake/rows/data-columns.js';
import { cellDecoder } from '../lake/rows/escaping.js';
import type { ObjectStore } from '../lake/store/index.js';
import { TableError, type Unfit, unfitMessage } from './errors.js';
import { encoderOf } from './rules/encode.js';
import type { FixedTypes } from './rules/table-columns.js';

export interface ValuesToCheck {
  readonly resource: string;
  readonly parts: readonly PublishedPart[];
  /** Data columns of the parts. */
  readonly columns: readonly Column[];
  readonly csv: CsvSettings;
  /** Types that the configuration sets. */
  readonly types: FixedTypes;
  readonly signal: AbortSignal;
}

/**
 * Checks that the values of a snapshot fit the types of the configuration. A run calls it before it publishes.
 *
 * @throws TableError with the number of values that do not fit
 */
export async function checkValues(store: ObjectStore, input: ValuesToCheck): Promise<void> {
  const unfit = new Map<string, Unfit>();
  const checks = input.columns.flatMap(({ name }, at) => {
    const type = Object.hasOwn(input.types, name) ? input.types[name] : undefined;
    if (type === undefined || type === 'string') return [];
    return [{ name, type, inRow: META_COLUMNS.length + at, encode: encoderOf(type, 'all') }];
  });
  if (checks.length === 0) return;
  const decode = cellDecoder(input.csv);
  for (const part of input.parts) {
    const { compression, delimiter } = input.csv;
    for await (const rows of readPartRows(store, part, { compression, signal: input.signal })) {
      for (const row of rows) {
        const cells = readRow(row, delimiter);
        for (const { name, type, inRow, encode } of checks) {
          const cell = cells[inRow] ?? null;
          if (cell === null || encode(decode === null ? cell : decode(cell)) !== undefined) continue;
          unfit.set(name, { name, type, count: 1 + (unfit.get(name)?.count ?? 0) });
        }
      }
    }
  }
  if (unfit.size > 0) throw new TableError(unfitMessage(input.resource, [...unfit.values()]));
}
