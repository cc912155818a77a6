import { duckdb, pathIn, s3Secret, selectText } from '../ddl/duckdb.js';
import { sqlString } from '../ddl/quote.js';
import { typed } from '../ddl/views.js';
import type { DbtAdapter } from './adapter.js';
import { jinja, pythonTemplate } from './escape.js';

/** dbt-duckdb: a source is a query over the files, so nothing is created outside the models. */
export const duckdbAdapter: DbtAdapter = {
  engine: duckdb,
  runStart: (runId) => `strptime(${runId}[:16], '%Y%m%dT%H%M%SZ')`,
  source: {},
  changes: ({ source, columns }) => ({
    loadedAt: typed(duckdb, source, columns.find(({ name }) => name === '_synced_at')!),
    meta: location(selectText(source, columns)),
  }),
  latest: ({ source: { lake, pointer } }) => ({
    loadedAt: '"publishedAt"',
    meta: location(
      `SELECT * FROM read_json(${sqlString(pathIn(lake, pointer))}, columns = {runId: 'VARCHAR', publishedAt: 'TIMESTAMPTZ'})`,
    ),
  }),
  profile: (connection, lake) => ({
    type: 'duckdb',
    path: `${connection}.duckdb`,
    threads: 4,
    ...(lake.url.startsWith('s3://') ? { extensions: ['httpfs', 'aws'], secrets: [s3Secret(lake)] } : {}),
  }),
  files: () => [],
};

function location(query: string): Record<string, string> {
  return { formatter: 'template', external_location: jinja(pythonTemplate(`(${query})`)) };
}
