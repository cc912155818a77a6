import { ConfigurationError } from '../core/errors.js';
import type { CsvSettings } from '../core/settings.js';
import type { PublishedPart } from '../lake/documents/manifest.js';
import { type Column, META_COLUMNS } from '../lake/rows/data-columns.js';
import type { ObjectStore } from '../lake/store/index.js';
import { partColumns } from './data-file.js';
import { TableError, type Unfit, unfitMessage } from './errors.js';
import { countUnfitInPart } from './parquet/convert-part.js';
import { EngineError } from './parquet/engine-failure.js';
import type { EngineScope } from './parquet/engine-scope.js';
import type { PartColumn } from './parquet/part-file.js';
import type { FixedTypes, TableColumn } from './rules/table-columns.js';

export interface ValuesToCheck extends EngineScope {
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
 * @returns why it cannot be known, which must not stop the run: the table says so again when it follows; `null`: they fit
 * @throws TableError with the number of values that do not fit
 */
export async function checkValues(store: ObjectStore, input: ValuesToCheck): Promise<string | null> {
  const { resource, columns, types } = input;
  const inParts = [...META_COLUMNS, ...columns.map(({ name }) => name)].map((name): TableColumn => {
    const type = Object.hasOwn(types, name) ? types[name] : undefined;
    return { name, alias: name, type: type ?? 'string', fixed: type !== undefined };
  });
  if (inParts.every(({ type }) => type === 'string')) return null;
  const counts = inParts.map(() => 0);
  const problem = await addCounts(store, input, partColumns(columns, inParts), counts).catch(toProblem);
  const unfit = inParts
    .map(({ name, type }, at): Unfit => ({ name, type, count: counts[at]! }))
    .filter(({ count }) => count > 0);
  if (unfit.length > 0) throw new TableError(unfitMessage(resource, unfit));
  return problem;
}

/** @param counts of the values that do not fit, by column */
async function addCounts(
  store: ObjectStore,
  { parts, csv, tempFolder, signal }: ValuesToCheck,
  columns: readonly PartColumn[],
  counts: number[],
): Promise<null> {
  for (const part of parts) {
    const found = await countUnfitInPart(store, { part, layout: { csv, columns }, tempFolder, signal });
    for (const [at, count] of found.entries()) counts[at]! += count;
  }
  return null;
}

function toProblem(error: unknown): string {
  if (error instanceof EngineError || error instanceof ConfigurationError) return error.describe();
  throw error;
}
