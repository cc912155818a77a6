import type { Kind } from '../ddl/column-kinds.js';
import { checkTests } from './checks.js';
import type { DbtResource, ModelColumn } from './dbt-resource.js';
import type { DbtAdapter, SourceTable } from './engines.js';
import { jinja, toYaml } from './escape.js';

/** The YAML file of a resource: its source tables with their freshness, and its models with their tests. */
export function propertiesOf(
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
  for (const column of key) tests.set(column, ['not_null', ...(key.length === 1 ? ['unique'] : [])]);
  for (const { column, model, field } of relations) {
    const from = columns.find(({ name }) => name === column)!;
    const config = { severity: "{{ var('worktrack_relations_severity', 'warn') }}" };
    const test = {
      relationships: { arguments: { to: `ref('${model}')`, field: engine.name(field) }, config },
    };
    tests.set(from, [...(tests.get(from) ?? []), test]);
  }
  for (const [column, test] of checks.columns) tests.set(column, [...(tests.get(column) ?? []), test]);
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
    description: `A row for each version of each key of ${jinja(source.resource)}, with the time from which, and until which, it was in the snapshot.`,
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
