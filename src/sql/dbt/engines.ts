import type { LakeSettings } from '../../core/settings.js';
import { athena } from '../ddl/athena-and-trino.js';
import { duckdb, pathIn, s3Secret, selectText } from '../ddl/duckdb-views.js';
import { type Engine, textStatements, typed } from '../ddl/engine-views.js';
import { sqlString } from '../ddl/names-and-quotes.js';
import { checkLineBreaks } from '../ddl/published-sources.js';
import { jinja, type ProjectFile, pythonTemplate } from './file.js';
import type { DbtResource } from './models.js';

/** How a source table is read, and how its age is measured; merged into its entry in the YAML file. */
export interface SourceTable {
  /** Expression for the time when data was loaded. */
  readonly loadedAt: string;
  /** Condition of the query that measures the age. */
  readonly filter?: string;
  /** Settings below `config.meta`. */
  readonly meta?: Readonly<Record<string, string>>;
}

/** What differs between dbt-duckdb and dbt-athena. */
export interface DbtAdapter {
  readonly engine: Engine;
  /** The time when a run began, in UTC, from an expression for its id. */
  readonly runStart: (runId: string) => string;
  /** Settings of all source tables. */
  readonly source: Readonly<Record<string, string>>;
  /** The published change logs as text. */
  readonly changes: (resource: DbtResource) => SourceTable;
  /** The pointer to the last published run. */
  readonly latest: (resource: DbtResource) => SourceTable;
  /** The output in `profiles.yml`. It contains no secrets. */
  readonly profile: (connection: string, lake: LakeSettings) => object;
  /** Files that only this adapter needs. */
  readonly files: (resources: readonly DbtResource[]) => ProjectFile[];
}

const MACRO = 'worktrack_create_sources';

/** dbt-athena: the sources are external tables and a view, which a macro creates with the statements of `worktrack ddl`. */
export const athenaAdapter: DbtAdapter = {
  engine: athena,
  runStart: (runId) => `date_parse(substr(${runId}, 1, 16), '%Y%m%dT%H%i%sZ')`,
  source: { schema: '{{ target.schema }}' },
  changes: ({ source, columns }) => ({
    loadedAt: typed(athena, source, columns.find(({ name }) => name === '_synced_at')!),
  }),
  latest: ({ source: { lake, pointer } }) => ({
    loadedAt: athena.cast(`regexp_extract("line", '^  "publishedAt": "([^"]+)"', 1)`, {
      type: 'time',
      digits: 3,
      isDistant: false,
    }),
    filter: jinja(`"$path" = ${sqlString(`${lake.url}/${pointer}`)}`),
  }),
  profile: (_, lake) => ({
    type: 'athena',
    database: 'awsdatacatalog',
    schema: "{{ env_var('DBT_ATHENA_SCHEMA', 'worktrack') }}",
    region_name: lake.region ?? "{{ env_var('AWS_REGION') }}",
    // Where Athena writes results, and dbt its tables. It must not be in the lake.
    s3_staging_dir: "{{ env_var('DBT_ATHENA_STAGING_DIR') }}",
    s3_data_dir: "{{ env_var('DBT_ATHENA_DATA_DIR') }}",
    work_group: "{{ env_var('DBT_ATHENA_WORK_GROUP', 'primary') }}",
    threads: 4,
  }),
  files: (resources) => [{ path: `macros/${MACRO}.sql`, body: createSources(resources) }],
};

/**
 * `dbt run-operation worktrack_create_sources`.
 *
 * @throws RangeError if Athena cannot read the lake, or not the line breaks in its cells
 */
function createSources(resources: readonly DbtResource[]): string {
  const statements = resources.flatMap(({ source, columns }) => {
    checkLineBreaks(athena, source);
    return textStatements(athena, source, columns);
  });
  const calls = statements.map(
    ({ sql }) => `{% call statement('worktrack', auto_begin=false) -%}\n${jinja(sql)}\n{%- endcall %}\n`,
  );
  return `{% macro ${MACRO}() %}\n${calls.join('')}{% endmacro %}\n`;
}

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
    // DuckDB names the catalog of a file after it, and already has catalogs named main, temp and system.
    path: `worktrack_${connection}.duckdb`,
    threads: 4,
    ...(lake.url.startsWith('s3://') ? { extensions: ['httpfs', 'aws'], secrets: [s3Secret(lake)] } : {}),
  }),
  files: () => [],
};

function location(query: string): Record<string, string> {
  return { formatter: 'template', external_location: jinja(pythonTemplate(`(${query})`)) };
}
