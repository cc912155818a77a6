import { renamed } from '../ddl/column-kinds.js';
import type { Engine } from '../ddl/engine.js';
import { misfitCounts, NEXT_RUN, typed } from '../ddl/text-and-typed-views.js';
import type { DbtResource } from './dbt-resource.js';
import { jinja } from './escape.js';

/** What the models need of an engine, in addition to its statements. */
export interface ModelEngine {
  readonly engine: Engine;
  /** The time when a run began, in UTC, from an expression for its id. */
  readonly runStart: (runId: string) => string;
}

/**
 * The history: one row for each version of a key, from the change logs of all published runs. Keys are compared as text, as the
 * snapshot does; two texts can be the same number or time.
 */
export function historyModel({ engine, runStart }: ModelEngine, resource: DbtResource): string {
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
  const comments = renamed(columns.map(({ model, ...column }) => ({ ...column, alias: model })));
  return [
    ...comments.map((text) => `-- ${jinja(text.replace(/[\p{Cc}\u2028\u2029]/gu, ' '))}\n`),
    jinja(`SELECT\n  ${list.join(',\n  ')}\nFROM (\n  SELECT\n    *,\n`),
    jinja(`    lead(${run}) OVER (PARTITION BY ${keys} ORDER BY ${run}) AS ${next}\n`),
    `  FROM {{ source('${names.source}', '${names.changes}') }}\n) AS ${name('_worktrack_versions')}\n`,
  ].join('');
}

/** The current rows: those of the snapshot in `latest.json`. */
export function stagingModel({ engine }: ModelEngine, { columns, names, source }: DbtResource): string {
  const list = columns.map(({ model }) => `  ${engine.name(model)}`).join(',\n');
  const live = source.deletes === 'drop' ? ` AND NOT ${engine.name('is_deleted')}` : '';
  return `${jinja(`SELECT\n${list}\n`)}FROM {{ ref('${names.history}') }}\nWHERE ${engine.name('is_current')}${live}\n`;
}

/** A test that fails if a value does not fit the type that its column had when the project was written. */
export function typesTest({ engine }: ModelEngine, { source, columns, names }: DbtResource): string {
  const misfits = misfitCounts(engine, source, columns);
  return [
    '-- Values that do not fit the type of their column. Queries that read them fail. To update the types: worktrack dbt\n',
    "{{ config(severity='warn') }}\n",
    jinja(`SELECT * FROM (\n  SELECT\n    ${misfits.map(({ count }) => count).join(',\n    ')}\n`),
    `  FROM {{ source('${names.source}', '${names.changes}') }}\n) AS ${engine.name('_worktrack_counts')}\n`,
    jinja(`WHERE ${misfits.map(({ name }) => `${name} > 0`).join('\n  OR ')}\n`),
  ].join('');
}
