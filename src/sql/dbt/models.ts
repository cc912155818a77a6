import type { CheckSettings } from '../../core/settings.js';
import { viewName } from '../../core/view-name.js';
import { columnOf } from '../../lake/checks/row-meter.js';
import { columnAliases } from '../../lake/rows/column-aliases.js';
import { aliasComments, type ViewColumn } from '../ddl/column-kinds.js';
import { columnsOf, type Engine, keyColumns, misfitCounts, NEXT_RUN, typed } from '../ddl/engine-views.js';
import { logSource, type PublishedResource } from '../ddl/published-sources.js';
import { jinja } from './file.js';

/** Columns that the history model adds. A field of the same name gets an alias. */
const HISTORY_COLUMNS = ['valid_from', 'valid_to', 'is_current', 'is_deleted'] as const;

/** A column of the change logs, and its name in the models. */
export interface ModelColumn extends ViewColumn {
  readonly model: string;
}

/** A resource of the project, with the names of its parts. Checks of the snapshot become tests. */
export type DbtResource = ReturnType<typeof dbtResource>;

export function dbtResource(engine: Engine, connection: string, published: PublishedResource) {
  const source = logSource(published, 'log');
  const aliased = columnsOf(engine, source);
  const models = columnAliases(
    aliased.map(({ alias }) => alias),
    { toName: (name) => name, reserved: HISTORY_COLUMNS },
  );
  const columns = aliased.map((column, at): ModelColumn => ({ ...column, model: models[at]! }));
  const [owner, name] = [viewName(connection), viewName(published.resource)];
  return {
    source,
    columns,
    key: keyColumns(source, columns) as ModelColumn[],
    checks: published.checks ?? [],
    names: {
      source: owner,
      changes: `${source.name}_text`,
      latest: `${source.name}_latest`,
      staging: `stg_${owner}__${name}`,
      history: `${owner}__${name}_history`,
      types: `${owner}__${name}_types`,
    },
  };
}

/**
 * The history: one row for each version of a key, from the change logs of all published runs. Keys are compared as text, as the
 * snapshot does; two texts can be the same number or time.
 *
 * @param runStart the time when a run began, in UTC, from an expression for its id
 */
export function historyModel(
  engine: Engine,
  runStart: (runId: string) => string,
  resource: DbtResource,
): string {
  const { source, columns, key, names } = resource;
  const { name } = engine;
  const [run, next] = [name('_run_id'), name(NEXT_RUN)];
  const deletedAt = columns.find((column) => column.name === '_deleted_at')!;
  const keys = key.map(({ alias }) => name(alias)).join(', ');
  const list = [
    ...columns.map((column) => `${typed(engine, source, column)} AS ${name(column.model)}`),
    `${runStart(run)} AS ${name('valid_from')}`,
    `${runStart(next)} AS ${name('valid_to')}`,
    `${next} IS NULL AS ${name('is_current')}`,
    `${typed(engine, source, deletedAt)} IS NOT NULL AS ${name('is_deleted')}`,
  ];
  const comments = aliasComments(columns.map(({ model, ...column }) => ({ ...column, alias: model })));
  return [
    ...comments.map((text) => `-- ${jinja(text.replace(/[\p{Cc}\u2028\u2029]/gu, ' '))}\n`),
    jinja(`SELECT\n  ${list.join(',\n  ')}\nFROM (\n  SELECT\n    *,\n`),
    jinja(`    lead(${run}) OVER (PARTITION BY ${keys} ORDER BY ${run}) AS ${next}\n`),
    `  FROM {{ source('${names.source}', '${names.changes}') }}\n) AS ${name('_worktrack_versions')}\n`,
  ].join('');
}

/** The current rows: those of the snapshot in `latest.json`. */
export function stagingModel(engine: Engine, { columns, names, source }: DbtResource): string {
  const list = columns.map(({ model }) => `  ${engine.name(model)}`).join(',\n');
  const live = source.deletes === 'drop' ? ` AND NOT ${engine.name('is_deleted')}` : '';
  return `${jinja(`SELECT\n${list}\n`)}FROM {{ ref('${names.history}') }}\nWHERE ${engine.name('is_current')}${live}\n`;
}

/** A test that fails if a value does not fit the type that its column had when the project was written. */
export function typesTest(engine: Engine, { source, columns, names }: DbtResource): string {
  const misfits = misfitCounts(engine, source, columns);
  return [
    '-- Values that do not fit the type of their column. Queries that read them fail. To update the types: worktrack dbt\n',
    "{{ config(severity='warn') }}\n",
    jinja(`SELECT * FROM (\n  SELECT\n    ${misfits.map(({ count }) => count).join(',\n    ')}\n`),
    `  FROM {{ source('${names.source}', '${names.changes}') }}\n) AS ${engine.name('_worktrack_counts')}\n`,
    jinja(`WHERE ${misfits.map(({ name }) => `${name} > 0`).join('\n  OR ')}\n`),
  ].join('');
}

/**
 * The checks of a snapshot as tests of the staging model and of its columns (docs/how-to/checks.md). `change` has none, because
 * the project knows no earlier snapshots, and checks with `of: run` have none, because it does not know which rows a run read.
 */
export function checkTests(engine: Engine, { checks, columns, key }: DbtResource) {
  const tests: { model: object[]; columns: [ModelColumn, object][] } = { model: [], columns: [] };
  const deletedAt = columns.find(({ name }) => name === '_deleted_at')!;
  const names = columns.map(({ name }) => name);
  for (const check of checks) {
    if (check.of === 'run') continue;
    const config = {
      severity: check.onFail === 'stop' ? 'error' : 'warn',
      where: `${engine.name(deletedAt.model)} IS NULL`,
    };
    if (check.kind === 'rows') {
      const { min, max } = check;
      tests.model.push({ worktrack_row_count: { arguments: defined({ min, max }), config } });
    }
    if (!('field' in check)) continue;
    const column = columns[columnOf(names, check.field)];
    const test = column === undefined ? null : columnTest(check, column, key, config);
    if (column !== undefined && test !== null) tests.columns.push([column, test]);
  }
  return tests;
}

/** @returns `null` if the model has the test anyway, or no test can say the same */
function columnTest(
  check: Extract<CheckSettings, { field: string }>,
  column: ModelColumn,
  key: readonly ViewColumn[],
  config: object,
): object | null {
  const { type } = column.kind;
  const isText = type === 'text';
  const isTime = type === 'date' || type === 'time';
  switch (check.kind) {
    case 'notNull':
      return key.includes(column) ? null : { not_null: { config } };
    case 'unique':
      return key.length === 1 && key[0] === column ? null : { unique: { config } };
    case 'oneOf': {
      const isPlain = (value: string | number): boolean =>
        type === 'boolean' ? value === 'true' || value === 'false' : typeof value === 'number';
      const values = isText ? check.values.map(String) : check.values.filter(isPlain);
      if (values.length === 0 || isTime) return null;
      return { accepted_values: { arguments: { values, quote: isText }, config } };
    }
    case 'range': {
      const { min, max } = check;
      const limits = { ...defined({ min, max }), ...(isText ? { is_text: true } : {}) };
      return type === 'boolean' || isTime ? null : { worktrack_range: { arguments: limits, config } };
    }
    case 'newest': {
      const seconds = Math.floor(check.maxAgeMs / 1000);
      return isTime ? { worktrack_newest: { arguments: { seconds }, config } } : null;
    }
  }
}

function defined(values: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}

/** The generic tests that dbt does not bring along. The statements are the same in DuckDB and Athena. */
export const CHECK_MACROS = `{% test worktrack_row_count(model, min=none, max=none) %}
SELECT "rows" FROM (SELECT count(*) AS "rows" FROM {{ model }}) AS "counted"
WHERE false
{%- if min is not none %} OR "rows" < {{ min }}{% endif %}
{%- if max is not none %} OR "rows" > {{ max }}{% endif %}
{% endtest %}

{% test worktrack_range(model, column_name, min=none, max=none, is_text=false) %}
{%- set number = 'TRY_CAST(' ~ column_name ~ ' AS double)' if is_text else column_name %}
SELECT {{ column_name }} FROM {{ model }}
WHERE {{ column_name }} IS NOT NULL AND (
  {{ number }} IS NULL
{%- if min is not none %} OR {{ number }} < {{ min }}{% endif %}
{%- if max is not none %} OR {{ number }} > {{ max }}{% endif %}
)
{% endtest %}

{% test worktrack_newest(model, column_name, seconds) %}
SELECT "newest" FROM (SELECT max({{ column_name }}) AS "newest" FROM {{ model }}) AS "found"
WHERE "newest" < CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp) - INTERVAL '{{ seconds }}' SECOND
{% endtest %}
`;
