import type { LakeSettings } from '../../core/settings.js';
import { viewName } from '../../core/view-name.js';
import type { Kind } from '../ddl/column-kinds.js';
import { FILES_OF, lakeQuery, OPERATIONS } from '../ddl/operations.js';
import type { PublishedResource } from '../ddl/published-sources.js';
import { athenaAdapter, type DbtAdapter, duckdbAdapter, type SourceTable } from './engines.js';
import { jinja, type ProjectFile, toYaml } from './file.js';
import {
  CHECK_MACROS,
  checkTests,
  type DbtResource,
  dbtResource,
  historyModel,
  type ModelColumn,
  stagingModel,
  typesTest,
} from './models.js';

export const DBT_ADAPTERS = ['duckdb', 'athena'] as const;
export type DbtAdapterName = (typeof DBT_ADAPTERS)[number];

const ADAPTERS: Readonly<Record<DbtAdapterName, DbtAdapter>> = {
  duckdb: duckdbAdapter,
  athena: athenaAdapter,
};
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
  const { engine } = adapter;
  const name = `worktrack_${viewName(input.connection)}`;
  const resources = input.resources.map((one) => dbtResource(engine, input.connection, one));
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
    ...(input.adapter === 'duckdb' ? operationModels(input.lake) : []),
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
        { path: `models/worktrack/staging/${names.staging}.sql`, body: stagingModel(engine, resource) },
        {
          path: `models/worktrack/history/${names.history}.sql`,
          body: historyModel(engine, adapter.runStart, resource),
        },
        { path: `tests/worktrack/${names.types}.sql`, body: typesTest(engine, resource) },
      ];
    }),
  ];
}

/** Models of what every lake has. DuckDB makes no view of receipts and audits before there are some. */
function operationModels(lake: LakeSettings): ProjectFile[] {
  return OPERATIONS.filter((name) => FILES_OF[name] === 'manifests').map((name) => ({
    path: `models/worktrack/operations/${name}.sql`,
    body: `${jinja(lakeQuery(lake, name))}\n`,
  }));
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
#   worktrack_rows_warn_after_hours: 26    # no row of a resource was inserted or updated
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

/** The YAML file of a resource: its source tables with their freshness, and its models with their tests. */
function propertiesOf(
  adapter: DbtAdapter,
  resource: DbtResource,
  relations: readonly (Relation & { readonly model: string })[],
): string {
  const { names } = resource;
  const about = jinja(resource.source.resource);
  return toYaml({
    version: 2,
    sources: [
      {
        name: names.source,
        ...adapter.source,
        tables: [
          {
            name: names.changes,
            description: `New, changed and deleted rows of all published runs of ${about}, as text.`,
            config: freshness(adapter.changes(resource), 'rows'),
          },
          {
            name: names.latest,
            description: `The last published run of ${about}.`,
            config: freshness(adapter.latest(resource), 'runs'),
          },
        ],
      },
    ],
    models: [staging(adapter, resource, relations), history(adapter, resource)],
  });
}

/**
 * Thresholds are variables, so that users change them without changing a generated file. Only a row that changed gets a new
 * `_synced_at`; a quiet resource is a warning. A run that is missing is an error.
 */
function freshness({ loadedAt, filter, meta }: SourceTable, of: 'rows' | 'runs'): object {
  const hours = (level: 'warn' | 'error', fallback: string) => ({
    count: `{{ var('worktrack_${of}_${level}_after_hours', ${fallback}) | as_number }}`,
    period: 'hour',
  });
  return {
    loaded_at_field: jinja(loadedAt),
    freshness: {
      ...(of === 'rows' ? { warn_after: hours('warn', '26') } : { error_after: hours('error', '26') }),
      ...(filter === undefined ? {} : { filter }),
    },
    ...(meta === undefined ? {} : { meta }),
  };
}

function staging(
  { engine }: DbtAdapter,
  resource: DbtResource,
  relations: readonly (Relation & { readonly model: string })[],
): object {
  const { key, names, columns, source } = resource;
  const checks = checkTests(engine, resource);
  const tests = new Map<ModelColumn, unknown[]>();
  const add = (column: ModelColumn, ...more: unknown[]) =>
    tests.set(column, [...(tests.get(column) ?? []), ...more]);
  for (const column of key) add(column, 'not_null', ...(key.length === 1 ? ['unique'] : []));
  for (const { column, model, field } of relations) {
    const from = columns.find(({ name }) => name === column)!;
    const config = { severity: "{{ var('worktrack_relations_severity', 'warn') }}" };
    add(from, {
      relationships: { arguments: { to: `ref('${model}')`, field: engine.name(field) }, config },
    });
  }
  for (const [column, test] of checks.columns) add(column, test);
  const ofModel = [
    ...(key.length === 1 ? [] : [uniqueKey(key.map(({ model }) => engine.name(model)))]),
    ...checks.model,
  ];
  return {
    name: names.staging,
    description: `The rows of the current snapshot of ${jinja(source.resource)}, with types.`,
    ...(ofModel.length === 0 ? {} : { data_tests: ofModel }),
    columns: [...tests].map(([{ model }, data_tests]) => ({
      // dbt puts the name in quotes, but does not double quotes within it.
      name: jinja(model.replaceAll('"', '""')),
      quote: true,
      data_tests,
    })),
  };
}

function history({ engine }: DbtAdapter, { key, names, source }: DbtResource): object {
  const version = [...key.map(({ model }) => model), 'valid_from'].map(engine.name);
  return {
    name: names.history,
    description: `A row for each version of each key of ${jinja(source.resource)}, with the times when it entered and left the snapshot.`,
    data_tests: [uniqueKey(version)],
    columns: [
      {
        name: 'valid_from',
        description: 'Start of the run that found this version, in UTC.',
        data_tests: ['not_null'],
      },
      {
        name: 'valid_to',
        description: 'Start of the run that found the next version; null for the current one.',
      },
      { name: 'is_current', description: 'Whether this is the newest version of its key.' },
      { name: 'is_deleted', description: 'Whether the record is gone from the service since this version.' },
    ],
  };
}

function uniqueKey(columns: readonly string[]): object {
  return { worktrack_unique_key: { arguments: { columns } } };
}

/** A resource whose columns may refer to records of another one. */
export interface RelatedResource {
  readonly resource: string;
  /** Columns that hold the service's values, with their types. Masked columns are left out. */
  readonly columns: readonly { readonly name: string; readonly kind: Kind }[];
  /** Names of the key fields. */
  readonly key: readonly string[];
}

/** A column whose values are keys of another resource. */
interface Relation {
  readonly column: string;
  readonly to: string;
  readonly field: string;
}

/**
 * The columns of a resource that refer to records of another one. The API refers to a record by its `id`, but does not say in
 * which fields. They are found by name: `projectId` and `project_id` refer to `projects`.
 */
export function relationsOf(from: RelatedResource, all: readonly RelatedResource[]): Relation[] {
  return from.columns.flatMap(({ name, kind }) => {
    const [, singular] = /^(.+?)_?id$/i.exec(name) ?? [];
    if (singular === undefined) return [];
    const target = all.find(({ resource }) => plain(resource) === pluralOf(plain(singular)));
    const id = target?.columns.find((column) => column.name === 'id');
    const isKey = target?.key.length === 1 && target.key[0] === 'id';
    // Engines do not compare values of different types.
    if (!isKey || id === undefined || JSON.stringify(id.kind) !== JSON.stringify(kind)) return [];
    return [{ column: name, to: target.resource, field: id.name }];
  });
}

/** Without case and separators: `time-entries` and `timeEntries` are the same. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

function pluralOf(name: string): string {
  return name.endsWith('y') ? `${name.slice(0, -1)}ies` : `${name}s`;
}
