import type { CheckSettings } from '../../core/settings.js';
import { columnOf } from '../checks/row-meter.js';
import type { Engine } from '../ddl/engine.js';
import type { DbtResource, ModelColumn } from './dbt-resource.js';

/** The tests of a resource's checks: of its model, and of columns of the model. */
export interface CheckTests {
  readonly model: readonly object[];
  readonly columns: readonly (readonly [ModelColumn, object])[];
}

/**
 * The checks of a snapshot as tests of the staging model (docs/how-to/checks.md). `change` has none, because the project
 * knows no earlier snapshots, and checks with `of: run` have none, because it does not know which rows a run read.
 */
export function checkTests(engine: Engine, resource: DbtResource): CheckTests {
  const model: object[] = [];
  const columns: [ModelColumn, object][] = [];
  const deletedAt = resource.columns.find(({ name }) => name === '_deleted_at')!;
  const names = resource.columns.map(({ name }) => name);
  for (const check of resource.checks) {
    if (check.of === 'run') continue;
    const config = {
      severity: check.onFail === 'stop' ? 'error' : 'warn',
      where: `${engine.name(deletedAt.model)} IS NULL`,
    };
    if (check.kind === 'rows') {
      const { min, max } = check;
      model.push({ worktrack_row_count: { arguments: defined({ min, max }), config } });
    }
    if (!('field' in check)) continue;
    const column = resource.columns[columnOf(names, check.field)];
    const test = column === undefined ? null : columnTest(check, column, resource.key);
    if (column !== undefined && test !== null) columns.push([column, test(config)]);
  }
  return { model, columns };
}

type Test = (config: object) => object;

/** @returns `null` if the model has the test anyway, or no test can say the same */
function columnTest(
  check: Extract<CheckSettings, { field: string }>,
  column: ModelColumn,
  key: readonly ModelColumn[],
): Test | null {
  const { kind } = column;
  const isText = kind.type === 'text';
  switch (check.kind) {
    case 'notNull':
      return key.includes(column) ? null : (config) => ({ not_null: { config } });
    case 'unique':
      return key.length === 1 && key[0] === column ? null : (config) => ({ unique: { config } });
    case 'oneOf': {
      const isPlain = (value: string | number): boolean =>
        kind.type === 'boolean' ? value === 'true' || value === 'false' : typeof value === 'number';
      const values = isText ? check.values.map(String) : check.values.filter(isPlain);
      if (values.length === 0 || kind.type === 'date' || kind.type === 'time') return null;
      return (config) => ({ accepted_values: { arguments: { values, quote: isText }, config } });
    }
    case 'range': {
      const { min, max } = check;
      const limits = { ...defined({ min, max }), ...(isText ? { is_text: true } : {}) };
      return kind.type === 'boolean' || kind.type === 'date' || kind.type === 'time'
        ? null
        : (config) => ({ worktrack_range: { arguments: limits, config } });
    }
    case 'newest': {
      const seconds = Math.floor(check.maxAgeMs / 1000);
      return kind.type === 'date' || kind.type === 'time'
        ? (config) => ({ worktrack_newest: { arguments: { seconds }, config } })
        : null;
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
