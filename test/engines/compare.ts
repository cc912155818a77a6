import { viewName } from '../../src/core/view-name.js';
import { META_COLUMNS } from '../../src/lake/rows/data-columns.js';
import { chName, hiveName, sqlName } from '../../src/sql/ddl/names-and-quotes.js';
import { ddlStatements, unreadableViews } from '../../src/sql/ddl/statements.js';
import { registerStatements } from '../../src/sql/register-tables.js';
import { isSameCell } from '../support/oracle.js';
import type { Engine } from './engines.js';
import type { Expected, RecordedLake } from './lakes.js';
import { isSame, roundedToMillis } from './same.js';
import type { Read, Session } from './session.js';

export const QUOTE = { duckdb: sqlName, trino: sqlName, spark: hiveName, clickhouse: chName };
const META: ReadonlySet<string> = new Set(META_COLUMNS);
const VIEWS = ['current', 'changes', 'newest'] as const;

/** Cells of one engine. */
export interface Cells {
  compared: number;
  /** Cells that differ for a reason that docs/explanation/delta-tables.md gives. */
  documented: number;
  /** Descriptions of the others. */
  readonly different: string[];
  /** Combinations that the statements refuse. */
  readonly refused: string[];
}

export function noCells(): Cells {
  return { compared: 0, documented: 0, different: [], refused: [] };
}

/** How the cells of a read must look. */
interface Wanted {
  readonly label: string;
  /** Names in the header, in the order of the read's columns. */
  readonly header: readonly string[];
  readonly cell: (row: Readonly<Record<string, string | null>>, name: string) => string | null;
  /** Whether a column has text, which must be equal character by character. */
  readonly isText: (name: string) => boolean;
  /** Whether the engine is documented to read the first value as the second. */
  readonly isKnown: (wanted: string | null, found: string | null) => boolean;
}

interface Step {
  readonly engine: Engine;
  readonly session: Session;
  readonly lake: RecordedLake;
  readonly step: number;
}

/** Compares what the views over the CSV files show with the snapshot. */
export async function compareCsv({ engine, session, lake, step }: Step, cells: Cells): Promise<void> {
  const expected = lake.steps[step]!;
  const { resource } = lake.spec;
  const dialect = engine.dialect!;
  const { pointer, manifest } = expected.published;
  const input = { dialect, lake: lake.lake, resource, pointer, manifest, masked: expected.masked };
  const unreadable = unreadableViews(input);
  const views = unreadable.includes('current') ? [] : VIEWS.filter((view) => !unreadable.includes(view));
  if (dialect === 'trino' && lake.spec.place === 'folder') {
    cells.refused.push(`${resource}: not in S3`);
    return;
  }
  if (unreadable.length > 0)
    cells.refused.push(`${resource}, step ${step + 1}: line breaks in cells of ${unreadable}`);
  if (views.length === 0) return;
  // The typed views are those that read the files directly.
  const statements = [true, false].flatMap((text) => ddlStatements({ ...input, views, text }));
  const names = [...META_COLUMNS, ...manifest.columns.map(({ name }) => name)];
  const columns = aliasesOf(
    statements.flatMap(({ about }) => about),
    names,
  ).map(QUOTE[dialect]);
  // In Trino, `_text` is a table of all files of the folder.
  const hasText = dialect !== 'trino' || lake.spec.hasForeign !== true;
  const newest = hasText ? ['_newest_text', '_newest'] : ['_newest'];
  const suffixes = [...(hasText ? ['_text'] : []), '', ...(views.includes('newest') ? newest : [])];
  const reads: Read[] = suffixes.map((suffix) => ({ from: `${viewName(resource)}${suffix}`, columns }));
  const results = await session.run({
    mode: 'csv',
    statements: statements.filter(({ kind }) => kind === 'define').map(({ sql }) => sql),
    reads,
  });
  for (const [at, suffix] of suffixes.entries())
    compare(results[at]!, expected, cells, {
      label: `${resource}${suffix}, step ${step + 1}`,
      // With escaped line breaks, the header is escaped, too. Manifest and comments show the original names.
      header: expected.tree.header,
      cell: (row, name) => row[name] ?? null,
      isText: () => suffix.endsWith('_text'),
      // OpenCSVSerDe does not distinguish an empty string from a null.
      isKnown: (wanted, found) => dialect === 'trino' && (wanted ?? '') === '' && (found ?? '') === '',
    });
}

/** Compares what a Delta table shows with the snapshot. The table is registered before the first step only. */
export async function compareDelta({ engine, session, lake, step }: Step, cells: Cells): Promise<void> {
  const expected = lake.steps[step]!;
  const { resource } = lake.spec;
  const { dialect } = engine;
  if (dialect === 'trino' && lake.spec.place === 'folder') {
    cells.refused.push(`${resource}: not in S3`);
    return;
  }
  const { columns } = expected;
  const [key] = expected.published.manifest.key;
  const isPath = dialect === null || engine.throughDeltaRs === true;
  const from = {
    duckdb: `${viewName(resource)}()`,
    // The temporary view over the CSV files has the same name.
    spark: `default.${viewName(resource)}`,
    trino: viewName(resource),
    clickhouse: '',
  };
  if (lake.spec.place === 's3') from.clickhouse = `deltaLake(${viewName(resource)})`;
  else from.clickhouse = `deltaLakeLocal(${viewName(resource)})`;
  const names = columns.map(({ alias }) => alias);
  const read: Read = isPath
    ? { table: `${lake.lake.url.replace(/^file:\/\//, '')}/${resource}/table`, columns: names }
    : { from: from[dialect], columns: names.map(QUOTE[dialect]) };
  const statements =
    isPath || step > 0 ? [] : registerStatements({ dialect, lake: lake.lake, resource, columns });
  const [result] = await session.run({
    mode: 'delta',
    statements: statements.filter(({ kind }) => kind === 'define').map(({ sql }) => sql),
    reads: [read],
  });
  const types = new Map(columns.map(({ name, type }) => [name, type]));
  compare(result!, expected, cells, {
    label: `${resource} as a table, step ${step + 1}`,
    header: columns.map(({ name }) => name),
    // The table has the service's names and values.
    cell: (row, name) => (META.has(name) ? row[name] : expected.served.get(row[key!]!)!.get(name)) ?? null,
    isText: (name) => ['string', 'empty'].includes(types.get(name)!),
    // Trino's type of a Delta timestamp has milliseconds.
    isKnown: (wanted, found) => dialect === 'trino' && isSame(roundedToMillis(wanted), found, false),
  });
}

function compare(
  result: { readonly rows: (string | null)[][] } | { readonly error: string },
  { tree, published }: Expected,
  cells: Cells,
  { label, header, cell, isText, isKnown }: Wanted,
): void {
  if ('error' in result) {
    cells.different.push(`${label}: ${result.error}`);
    return;
  }
  const { rows } = result;
  const [key] = published.manifest.key;
  const at = header.indexOf(key!);
  const found = new Map(rows.map((row) => [row[at], row]));
  if (rows.length !== tree.rows.length)
    cells.different.push(`${label}: ${rows.length} rows of ${tree.rows.length}`);
  for (const wanted of tree.rows) {
    const row = found.get(wanted[key!]!) ?? [];
    for (const [column, name] of header.entries()) {
      cells.compared++;
      const [expected, actual] = [cell(wanted, name), row[column] ?? null];
      if (isSame(expected, actual, isText(name)) || isSameCell(actual, expected)) continue;
      if (isKnown(expected, actual)) cells.documented++;
      else
        cells.different.push(
          `${label} ${wanted[key!]} ${name}: ${JSON.stringify([expected, actual]).slice(0, 200)}`,
        );
    }
  }
}

/** The names of the columns in the views: those of the header, except where a comment names an alias. */
function aliasesOf(comments: readonly string[], names: readonly string[]): string[] {
  const aliases = new Map(
    comments.flatMap((comment) => {
      const found = /^Column (".*") has the name (.*) here\.$/s.exec(comment);
      return found === null ? [] : [[JSON.parse(found[1]!) as string, found[2]!] as const];
    }),
  );
  return names.map((name) => aliases.get(name) ?? name);
}
