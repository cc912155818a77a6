import type { WorktrackCommand } from '../command.js';

/** Declares `ddl`, `dbt` and `query`. The module of a command is loaded when it runs. */
export function declareSql(program: WorktrackCommand): void {
  program
    .command('ddl')
    .description('print statements for a query engine that read the published data')
    .ofSeveral()
    .choice(
      '--dialect <engine>',
      'query engine',
      ['duckdb', 'athena', 'trino', 'spark', 'clickhouse', 'databricks', 'snowflake', 'bigquery'],
      'duckdb',
    )
    .option('--setup', 'print the connection to the store as statements, not as comments')
    .option('--text', 'also a view with every value as text for each view, such as tasks_text')
    .option('--newest', 'also a view of the newest rows in the change logs, such as tasks_newest')
    .option('--operations', 'also views of runs, checks, schema changes, receipts and audits (DuckDB)')
    .option('--delta', 'register the Delta tables instead of views')
    .ofResources()
    .choice(
      '--numbers <type>',
      'decimals: exact (text if no decimal type holds every value) or double (rounds)',
      ['exact', 'double'],
      'exact',
    )
    .ofDay()
    .examples('--dialect athena', '--resource tasks --dt 2026-11-21')
    .runs(async () => (await import('./ddl-command.js')).runDdl);

  program
    .command('dbt')
    .description('write a dbt project with typed models and the history of each record')
    .choice('--adapter <name>', 'dbt adapter (default: that of the project in the folder, or duckdb)', [
      'duckdb',
      'athena',
    ])
    .option('--dir <folder>', 'folder of the project; your changes in it are kept', 'dbt')
    .examples('', '--adapter athena --dir warehouse')
    .runs(async () => (await import('./dbt-command.js')).runDbt);

  program
    .command('query')
    .description('answer a SELECT over the published snapshots, with DuckDB')
    .argument(
      '[statement]',
      'a SELECT over views such as tasks and time_entries_changes; without it, from stdin',
    )
    .ofDay()
    .option('--run <id>', 'this published run')
    .json('print one JSON object: every digit as text, null differs from an empty string')
    .option('--csv', 'print CSV with a header: NULL is an empty field, an empty string is ""')
    .option('--output <file>', 'write a file that ends in .csv, .json or .parquet')
    .examples(
      '"SELECT count(*) FROM tasks WHERE _deleted_at IS NULL"',
      '"SELECT * FROM time_entries LIMIT 5" --dt 2026-11-21 --json',
      '"FROM tasks" --output tasks.parquet',
    )
    .runs(async () => (await import('./query-command.js')).runQuery);
}
