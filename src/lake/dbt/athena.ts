import { athena } from '../ddl/athena.js';
import { sqlString } from '../ddl/quote.js';
import { checkLineBreaks } from '../ddl/sources.js';
import { typed } from '../ddl/views.js';
import type { DbtAdapter } from './adapter.js';
import { jinja } from './escape.js';
import type { DbtResource } from './resource.js';

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
    return athena.text(source, columns);
  });
  const calls = statements.map(
    ({ sql }) => `{% call statement('worktrack', auto_begin=false) -%}\n${jinja(sql)}\n{%- endcall %}\n`,
  );
  return `{% macro ${MACRO}() %}\n${calls.join('')}{% endmacro %}\n`;
}
