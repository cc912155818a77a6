import { pathToFileURL } from 'node:url';
import { readPublished } from '../../src/lake/published/read-published.js';
import { ddlStatements } from '../../src/sql/ddl/statements.js';
import { Duck } from './duckdb.js';
import { type ReadTree, readSnapshot } from './snapshot.js';
import type { Stack } from './stack.js';

type ById = ReadonlyMap<string | null | undefined, Readonly<Record<string, string | null>>>;

/** The rows of `<resource>_newest_text`, which DuckDB reads from the change logs, and those of the snapshot, by id. */
export async function readNewestView(
  stack: Stack,
  resource: string,
): Promise<{ readonly newest: ById; readonly snapshot: ById }> {
  const { header, rows } = await readSnapshot(stack.store, resource);
  const { pointer, manifest } = await readPublished(stack.store, resource);
  const lake = { url: pathToFileURL(stack.lakeFolder).href };
  const views = ['changes', 'newest'] as const;
  const input = { dialect: 'duckdb', lake, resource, pointer, manifest, views, text: true } as const;
  const statements = ddlStatements(input);
  const duck = await Duck.open();
  try {
    for (const { kind, sql } of statements) if (kind === 'define') await duck.run(sql);
    const byId = (all: ReadTree['rows']): ById => new Map(all.map((row) => [row.id, { ...row }]));
    return { newest: byId(await duck.rows(`${resource}_newest_text`, header)), snapshot: byId(rows) };
  } finally {
    duck.close();
  }
}
