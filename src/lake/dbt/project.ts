import type { LakeSettings } from '../../core/settings.js';
import type { PublishedResource } from '../ddl/published-sources.js';
import { viewName } from '../ddl/quote.js';
import { CHECK_MACROS } from './checks.js';
import { dbtResource } from './dbt-resource.js';
import type { DbtAdapter } from './engines.js';
import { athenaAdapter, duckdbAdapter } from './engines.js';
import { toYaml } from './escape.js';
import type { ProjectFile } from './file.js';
import { historyModel, stagingModel, typesTest } from './models.js';
import { propertiesOf, relationsOf } from './properties.js';

export const DBT_ADAPTERS = ['duckdb', 'athena'] as const;
export type DbtAdapterName = (typeof DBT_ADAPTERS)[number];

const ADAPTERS: Readonly<Record<DbtAdapterName, DbtAdapter>> = {
  duckdb: duckdbAdapter,
  athena: athenaAdapter,
};

/** Folders of generated files. */
export const GENERATED_FOLDERS = ['models/worktrack', 'tests/worktrack', 'macros'] as const;

export interface DbtProjectInput {
  readonly adapter: DbtAdapterName;
  readonly connection: string;
  readonly lake: LakeSettings;
  readonly resources: readonly PublishedResource[];
}

/**
 * The files of a dbt project for a lake. No file names a run. It must be written again only when a column is added or the kind
 * of its values changes.
 *
 * @throws RangeError if the engine cannot read the lake, or not the line breaks in its cells
 */
export function dbtProject(input: DbtProjectInput): ProjectFile[] {
  const adapter = ADAPTERS[input.adapter];
  const name = `worktrack_${viewName(input.connection)}`;
  const resources = input.resources.map((one) => dbtResource(adapter.engine, input.connection, one));
  const related = resources.map(({ source, columns }) => ({
    resource: source.resource,
    key: source.key,
    columns: columns.filter((column) => !source.masked.has(column.name)),
  }));
  return [
    { path: 'dbt_project.yml', body: projectFile(name) },
    {
      path: 'profiles.yml',
      body: toYaml({
        [name]: { target: 'dev', outputs: { dev: adapter.profile(viewName(input.connection), input.lake) } },
      }),
    },
    { path: '.gitignore', body: ['target/', 'logs/', 'dbt_packages/', '*.duckdb*', ''].join('\n') },
    { path: 'macros/worktrack_unique_key.sql', body: UNIQUE_KEY },
    ...(resources.some(({ checks }) => checks.length > 0)
      ? [{ path: 'macros/worktrack_checks.sql', body: CHECK_MACROS }]
      : []),
    ...adapter.files(resources),
    ...resources.flatMap((resource, at) => {
      const { names, source } = resource;
      const relations = relationsOf(related[at]!, related).map((relation) => {
        const to = resources.find((one) => one.source.resource === relation.to)!;
        return { ...relation, model: to.names.staging };
      });
      return [
        {
          path: `models/worktrack/${viewName(source.resource)}.yml`,
          body: propertiesOf(adapter, resource, relations),
        },
        { path: `models/worktrack/staging/${names.staging}.sql`, body: stagingModel(adapter, resource) },
        { path: `models/worktrack/history/${names.history}.sql`, body: historyModel(adapter, resource) },
        { path: `tests/worktrack/${names.types}.sql`, body: typesTest(adapter, resource) },
      ];
    }),
  ];
}

function projectFile(name: string): string {
  return `name: ${name}
version: "1.0.0"
profile: ${name}
require-dbt-version: ">=1.10.5"
models:
  ${name}:
    worktrack:
      staging:
        +materialized: view
      history:
        +materialized: table
# Set these variables to change the defaults, which are shown here:
# vars:
#   worktrack_rows_warn_after_hours: 26    # no row of a resource was found new or changed
#   worktrack_runs_error_after_hours: 26   # no run of a resource was published
#   worktrack_relations_severity: warn     # error: a reference without its record fails the build
`;
}

const UNIQUE_KEY = `{% test worktrack_unique_key(model, columns) %}
SELECT {{ columns | join(', ') }}, count(*) AS "rows"
FROM {{ model }}
GROUP BY {{ columns | join(', ') }}
HAVING count(*) > 1
{% endtest %}
`;
