import { type Command, Option } from 'commander';
import { collect, type GlobalOptions } from '../options.js';
import { adder, type OnEnd } from './add.js';

/** Commands for what is published: to look at it, check it, go back, and remove a record. */
export function addPublishedCommands(program: Command, onEnd: OnEnd): void {
  const add = adder(onEnd);
  add<GlobalOptions & { json?: boolean }>(
    program,
    'status',
    'what is mirrored, and since when',
    async (options) => (await import('../status.js')).runStatus(options),
  ).option('--json', 'print one JSON object');

  add<import('../history.js').HistoryOptions>(
    program,
    'history',
    'the last runs of each resource: what was published, what failed, what is going on',
    async (options) => (await import('../history.js')).runHistory(options),
  )
    .option('--resource <name>', 'only this resource; may be given more than once', collect)
    .option('--limit <n>', 'at most so many runs of each resource', '10')
    .option('--json', 'print one JSON object');

  add<import('../verify.js').VerifyCommandOptions>(
    program,
    'verify',
    'read again what is published, and check every hash, count and key',
    async (options) => (await import('../verify.js')).runVerify(options),
  )
    .option('--resource <name>', 'only this resource; may be given more than once', collect)
    .option('--json', 'print one JSON object');

  add<import('../run-report.js').ReportOptions>(
    program,
    'report',
    'a page on what was published: rows, changes, warnings, and how the last runs compare',
    async (options) => (await import('../run-report.js')).runReport(options),
  )
    .option('--resource <name>', 'only this resource; may be given more than once', collect)
    .option('--run <run>', 'how things stood at this run, like 20261121T020000Z-1a2b3c4d')
    .option('--out <file>', 'write it to a file (default: stdout)')
    .option('--open', 'show it in the browser');

  add<import('../rollback.js').RollbackOptions>(
    program,
    'rollback',
    'let latest.json name an earlier published run, and go on from its checkpoint',
    async (options) => (await import('../rollback.js')).runRollback(options),
  )
    .requiredOption('--resource <name>', 'the resource')
    .requiredOption('--to <run>', 'the run, like 20261121T020000Z-1a2b3c4d')
    .option('--json', 'print one JSON object');

  add<import('../purge.js').PurgeOptions>(
    program,
    'purge',
    'remove one record from all snapshots and change logs of a resource',
    async (options) => (await import('../purge.js')).runPurge(options),
  )
    .requiredOption('--resource <name>', 'the resource')
    .requiredOption('--key <value>', "the record's key; once for each of its fields, in their order", collect)
    .option('--json', 'print one JSON object');

  add<import('../ddl.js').DdlCommandOptions>(
    program,
    'ddl',
    'print statements that read what is published, to be pasted into an engine',
    async (options) => (await import('../ddl.js')).runDdl(options),
  )
    .addOption(
      new Option('--dialect <engine>', 'which engine the statements are for')
        .choices(['duckdb', 'athena', 'spark'])
        .default('duckdb'),
    )
    .option('--resource <name>', 'only this resource; may be given more than once', collect)
    .option('--dt <date>', 'the last published run of this day, 2026-11-21, instead of the current state');

  program
    .command('cat')
    .description('print rows of a published snapshot as they lie in the lake: CSV, the header first')
    .argument('<resource>', 'resource of the configuration')
    .option('--limit <n>', 'so many rows; 0 for all', '20')
    .option('--dt <date>', 'the last published run of this day, 2026-11-21, instead of the current state')
    .option('--json', 'print one JSON object, in which null and the empty text are told apart')
    .action(async (resource: string, _options: object, command: Command) => {
      const { runCat } = await import('../cat.js');
      onEnd(await runCat(resource, command.optsWithGlobals()));
    });
}
