import { type Command, Option } from 'commander';
import { collect } from '../shared/command-options.js';
import {
  commandAdder,
  type OnEnd,
  optionsOf,
  resourceArguments,
  resourceOption,
  withSeveral,
} from './add-command.js';

/** Commands on published data: inspect it, verify it, roll it back, and remove a record. */
export function addPublishedCommands(program: Command, onEnd: OnEnd): void {
  const add = commandAdder(onEnd);
  withSeveral(
    add<import('../inspect/status-command.js').StatusOptions>(
      program,
      'status',
      'show the state, rows, age and warnings of each resource',
      async (options) => (await import('../inspect/status-command.js')).runStatus(options),
      'several',
    ),
  )
    .addArgument(resourceArguments())
    .addOption(resourceOption())
    .option('--check', 'exit with 0 only if every resource is fresh')
    .option('--max-age <duration>', 'largest age of the checkpoint of a fresh resource', '26h')
    .option('--json', 'print one JSON object');

  withSeveral(
    add<import('../inspect/history-command.js').HistoryOptions>(
      program,
      'history',
      'list the last runs of each resource: published, failed and running',
      async (options) => (await import('../inspect/history-command.js')).runHistory(options),
      'several',
    ),
  )
    .addArgument(resourceArguments())
    .addOption(resourceOption())
    .option('--limit <n>', 'maximum number of runs per resource', '10')
    .option('--json', 'print one JSON object');

  withSeveral(
    add<import('../inspect/verify-command.js').VerifyCommandOptions>(
      program,
      'verify',
      'reread the published data and check every hash, count and key',
      async (options) => (await import('../inspect/verify-command.js')).runVerify(options),
      'several',
    ),
  )
    .addArgument(resourceArguments())
    .addOption(resourceOption())
    .option('--json', 'print one JSON object');

  add<import('../inspect/report-command.js').ReportOptions>(
    program,
    'report',
    'write an HTML report: what needs attention, rows, changes, and the last runs',
    async (options) => (await import('../inspect/report-command.js')).runReport(options),
    'several',
  )
    .option('--all', 'report on all connections; to select several, repeat --connection')
    .addArgument(resourceArguments())
    .addOption(resourceOption())
    .option('--max-age <duration>', 'largest age of data that is not stale', '26h')
    .option('--run <run>', 'report the state as of this run')
    .option('--out <file>', 'write the report to a file (default: stdout)')
    .option('--open', 'open the report in the browser');

  add<import('../runs/rollback-command.js').RollbackOptions>(
    program,
    'rollback',
    'publish the rows of an earlier run again, as a new run with its checkpoint',
    async (options) => (await import('../runs/rollback-command.js')).runRollback(options),
  )
    .requiredOption('--resource <name>', 'the resource')
    .requiredOption('--to <run>', 'id of the published run to return to')
    .option('--json', 'print one JSON object');

  add<import('../runs/purge-command.js').PurgeOptions>(
    program,
    'purge',
    'remove one record from all snapshots and change logs of a resource',
    async (options) => (await import('../runs/purge-command.js')).runPurge(options),
  )
    .requiredOption('--resource <name>', 'the resource')
    .requiredOption(
      '--key <value>',
      'key of the record; repeat for each key field, in the configured order',
      collect,
    )
    .option('--dry-run', 'count the snapshots and change logs that contain the record; remove nothing')
    .option('--yes', 'do not ask for confirmation on a terminal')
    .option('--json', 'print one JSON object');

  withSeveral(
    add<import('../inspect/ddl-csv.js').DdlCommandOptions>(
      program,
      'ddl',
      'print statements for a query engine that read the published data',
      async (options) => (await import('../inspect/ddl-command.js')).runDdl(options),
      'several',
    ),
  )
    .addOption(
      new Option('--dialect <engine>', 'query engine')
        .choices([
          ...['duckdb', 'athena', 'trino', 'spark', 'clickhouse'],
          ...['databricks', 'snowflake', 'bigquery'],
        ])
        .default('duckdb'),
    )
    .option('--setup', 'print the connection to the store as statements, not as comments')
    .option('--delta', 'register the Delta tables instead of views')
    .addArgument(resourceArguments())
    .addOption(resourceOption())
    .addOption(
      new Option(
        '--numbers <type>',
        'decimals: exact (text if no decimal type holds every value) or double (rounds)',
      )
        .choices(['exact', 'double'])
        .default('exact'),
    )
    .option('--dt <date>', 'last published run of this day, such as 2026-11-21 (default: current state)');

  add<import('../inspect/dbt-command.js').DbtOptions>(
    program,
    'dbt',
    'write a dbt project with typed models and the history of each record',
    async (options) => (await import('../inspect/dbt-command.js')).runDbt(options),
  )
    .addOption(
      new Option(
        '--adapter <name>',
        'dbt adapter (default: that of the project in the folder, or duckdb)',
      ).choices(['duckdb', 'athena']),
    )
    .option('--dir <folder>', 'folder of the project; your changes in it are kept', 'dbt');

  program
    .command('cat')
    .description('print rows of a published snapshot as CSV with a header')
    .argument('<resource>', 'resource in the configuration')
    .option('--limit <n>', 'maximum number of rows; 0 for all', '20')
    .option('--dt <date>', 'last published run of this day, such as 2026-11-21 (default: current state)')
    .option('--run <id>', 'this published run')
    .option('--json', 'print one JSON object; null differs from an empty string')
    .action(async (resource: string, _options: object, command: Command) => {
      const { runCat } = await import('../inspect/cat-command.js');
      onEnd(await runCat(resource, optionsOf(command)));
    });
}
