import { Command, Option } from 'commander';
import { VERSION } from '../temporal/version.js';
import { addExamples } from './examples.js';
import type { ExitCode } from './exit-code.js';
import { collect, type GlobalOptions } from './options.js';
import type { ScheduleAction } from './schedule.js';

/** What a command's action gives. */
type Run<Options> = (options: Options) => Promise<ExitCode>;

/**
 * The command line. Each command's module is loaded when it runs, so that `--help` is there at once.
 *
 * @param onEnd hears the exit code of the command that ran
 */
export function createProgram(onEnd: (code: ExitCode) => void): Command {
  const program = new Command('worktrack')
    .description(
      'Mirrors a work-tracking service into a data lake as verified CSV snapshots, durably, with Temporal.',
    )
    .version(VERSION, '-V, --version', 'print the version')
    .option(
      '--config <file>',
      'configuration (default: $WORKTRACK_CONFIG, else worktrack.yaml, .yml or .json here)',
    )
    .option(
      '--connection <name>',
      'which connection of the configuration (may be left out when there is one)',
    )
    .option('--task-queue <name>', 'task queue in Temporal (default: worktrack)')
    .option('--address <host:port>', 'Temporal server (default: TEMPORAL_ADDRESS or the profile)')
    .option('--namespace <name>', 'namespace in Temporal (default: TEMPORAL_NAMESPACE or the profile)')
    .option(
      '--data-converter <module>',
      'module that exports your data converter (default: WORKTRACK_DATA_CONVERTER)',
    )
    .option('--traces', 'send OpenTelemetry traces to OTEL_EXPORTER_OTLP_ENDPOINT, by OTLP over HTTP')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('Add --help to the command to see what it takes.')
    .addHelpText('after', EXIT_CODES)
    .exitOverride();

  const add = <Options extends object>(
    parent: Command,
    name: string,
    text: string,
    run: Run<Options>,
  ): Command =>
    parent
      .command(name)
      .description(text)
      .action(async (_: object, command: Command) => onEnd(await run(command.optsWithGlobals<Options>())));

  add<import('./worker.js').WorkerCommandOptions>(
    program,
    'worker',
    'run a worker until SIGTERM; it drains',
    async (options) => (await import('./worker.js')).runWorker(options),
  )
    .addOption(
      new Option('--log-format <format>', 'format of the log on stderr')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addOption(
      new Option('--log-level <level>', 'least level that is logged')
        .choices(['trace', 'debug', 'info', 'warn', 'error'])
        .default('info'),
    )
    .option('--health <host:port>', 'answer GET /healthz and /readyz there; a port alone is one of loopback')
    .option('--metrics <host:port>', 'address where Prometheus may ask for metrics, such as 127.0.0.1:9464')
    .option('--max-activities <n>', 'activities at a time in this process (default: 16)')
    .option('--max-cached-workflows <n>', 'workflows kept in memory (default: by the memory at hand)')
    .option(
      '--deployment-name <name>',
      'turns worker versioning on, with --build-id (default: WORKTRACK_DEPLOYMENT_NAME)',
    )
    .option('--build-id <id>', 'this build of the deployment (default: WORKTRACK_BUILD_ID)');

  add<import('./export.js').ExportOptions>(
    program,
    'export',
    'export now, and follow it to its end',
    async (options) => (await import('./export.js')).runExport(options),
  )
    .option('--resource <name>', 'only this resource; may be given more than once', collect)
    .option('--full', 'read everything again, not only what changed')
    .option('--adopt', 'take over a lake that somebody else wrote last')
    .option('--allow-deletes', 'publish although more than a tenth of the rows are gone from the service')
    .option('--local', 'bring a Temporal server (state kept on disk) and a worker along')
    .option('--follow <workflow-id>', 'start nothing; follow an export that is going on')
    .option('--json', 'print one JSON object');

  add<import('./backfill.js').BackfillOptions>(
    program,
    'backfill',
    'read again, everything or since a time; never moves a checkpoint back',
    async (options) => (await import('./backfill.js')).runBackfill(options),
  )
    .option('--resource <name>', 'only this resource; may be given more than once', collect)
    .option('--since <time>', 'only what changed since this date or time (default: everything)')
    .option('--reconcile', 'read everything, and conclude which records are gone')
    .option('--allow-deletes', 'publish although more than a tenth of the rows are gone from the service')
    .option('--json', 'print one JSON object');

  add<GlobalOptions & { json?: boolean }>(
    program,
    'status',
    'what is mirrored, and since when',
    async (options) => (await import('./status.js')).runStatus(options),
  ).option('--json', 'print one JSON object');

  add<import('./history.js').HistoryOptions>(
    program,
    'history',
    'the last runs of each resource: what was published, what failed, what is going on',
    async (options) => (await import('./history.js')).runHistory(options),
  )
    .option('--resource <name>', 'only this resource; may be given more than once', collect)
    .option('--limit <n>', 'at most so many runs of each resource', '10')
    .option('--json', 'print one JSON object');

  add<import('./verify.js').VerifyCommandOptions>(
    program,
    'verify',
    'read again what is published, and check every hash, count and key',
    async (options) => (await import('./verify.js')).runVerify(options),
  )
    .option('--resource <name>', 'only this resource; may be given more than once', collect)
    .option('--json', 'print one JSON object');

  add<import('./run-report.js').ReportOptions>(
    program,
    'report',
    'a page on what was published: rows, changes, warnings, and how the last runs compare',
    async (options) => (await import('./run-report.js')).runReport(options),
  )
    .option('--resource <name>', 'only this resource; may be given more than once', collect)
    .option('--run <run>', 'how things stood at this run, like 20261121T020000Z-1a2b3c4d')
    .option('--out <file>', 'write it to a file (default: stdout)')
    .option('--open', 'show it in the browser');

  add<import('./rollback.js').RollbackOptions>(
    program,
    'rollback',
    'let latest.json name an earlier published run, and go on from its checkpoint',
    async (options) => (await import('./rollback.js')).runRollback(options),
  )
    .requiredOption('--resource <name>', 'the resource')
    .requiredOption('--to <run>', 'the run, like 20261121T020000Z-1a2b3c4d')
    .option('--json', 'print one JSON object');

  add<import('./purge.js').PurgeOptions>(
    program,
    'purge',
    'remove one record from all snapshots and change logs of a resource',
    async (options) => (await import('./purge.js')).runPurge(options),
  )
    .requiredOption('--resource <name>', 'the resource')
    .requiredOption('--key <value>', "the record's key; once for each of its fields, in their order", collect)
    .option('--json', 'print one JSON object');

  add<import('./ddl.js').DdlCommandOptions>(
    program,
    'ddl',
    'print statements that read what is published, to be pasted into an engine',
    async (options) => (await import('./ddl.js')).runDdl(options),
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
      const { runCat } = await import('./cat.js');
      onEnd(await runCat(resource, command.optsWithGlobals()));
    });

  program
    .command('replay')
    .description('replay histories against this build; before an upgrade')
    .argument('[files...]', 'histories as `temporal workflow show --output json` and the UI write them')
    .option('--from-server', 'the histories of our workflows on the server, running ones first')
    .option('--workflow-id <id>', 'only this workflow; with --from-server')
    .option('--limit <n>', 'at most so many histories, with --from-server (default: 100)')
    .option('--json', 'print one JSON object')
    .action(async (files: string[], _options: object, command: Command) => {
      const { runReplay } = await import('./replay.js');
      onEnd(await runReplay(files, command.optsWithGlobals()));
    });

  program
    .command('write-back')
    .description('write the rows of a file to the service, each exactly once, with a receipt for each')
    .argument('<resource>', 'time-entries (creates) or calendar-entries (upserts)')
    .argument('<file>', 'CSV, JSON or NDJSON: a path, a file:// or s3:// URL, or - for standard input')
    .option('--dry-run', 'show the requests and send none')
    .option('--key-column <name>', 'the column that names a row (default: its content does)')
    .option('--batch-id <id>', 'default: the SHA-256 of resource and content, so that a file is its batch')
    .addOption(
      new Option('--format <format>', 'default: what the name tells').choices(['csv', 'json', 'ndjson']),
    )
    .addOption(
      new Option(
        '--unknown <what>',
        'what to do with rows that may have been written, longer ago than writeBack.unknownAfter',
      ).choices(['resend', 'skip']),
    )
    .option('--no-read-back', 'do not ask for an increment of the resource afterwards')
    .option('--json', 'print one JSON object')
    .action(async (resource: string, file: string, _: object, command: Command) => {
      const { runWriteBack } = await import('./write-back.js');
      onEnd(await runWriteBack(resource, file, command.optsWithGlobals()));
    });

  const schedule = program.command('schedule').description('the nightly Schedule of a connection');
  for (const [action, text] of Object.entries(SCHEDULE) as [ScheduleAction, string][]) {
    const command = add<import('./schedule.js').ScheduleOptions>(schedule, action, text, async (options) =>
      (await import('./schedule.js')).runSchedule(action, options),
    ).option('--json', 'print one JSON object');
    if (action === 'pause' || action === 'resume')
      command.option('--note <text>', 'why, for whoever finds it so');
  }

  add<import('./webhook.js').WebhookOptions>(
    program,
    'webhook',
    'receive change notices until SIGTERM; they become prompt incremental reads',
    async (options) => (await import('./webhook.js')).runWebhook(options),
  ).option('--listen <host:port>', 'address for all connections (default: webhook.listen of each)');

  add<GlobalOptions & { json?: boolean }>(
    program,
    'doctor',
    'try everything that a run relies on, and say what to mend',
    async (options) => (await import('./doctor.js')).runDoctor(options),
  ).option('--json', 'print one JSON object');

  add<import('./init.js').InitOptions>(
    program,
    'init',
    'write a first configuration, asking for what it must say',
    async (options) => (await import('./init.js')).runInit(options),
  )
    .option('--out <file>', 'the file to write (default: --config, else worktrack.yaml)')
    .option('--base-url <url>', "the service's address, such as https://tracker.example.com")
    .option('--lake <url>', 's3://bucket/prefix or file:///absolute/folder')
    .option('--endpoint <url>', 'of an S3-compatible store other than AWS')
    .option('--region <name>', "the bucket's region")
    .option('--api-key-env <name>', 'variable that will hold the API key (default: WORKTRACK_API_KEY)')
    .option('--resources <names>', 'what to mirror, with commas (default: the four of the service)')
    .option('--force', 'overwrite a file that is there');

  const config = program.command('config').description('the configuration file');
  add(config, 'check', 'read it as a worker would, and say what is wrong', async (options: GlobalOptions) =>
    (await import('./config.js')).runConfigCheck(options),
  );
  add(config, 'schema', 'print its JSON Schema, for editors', async () =>
    (await import('./config.js')).runConfigSchema(),
  );

  add<import('./demo/index.js').DemoOptions>(
    program,
    'demo',
    'the whole thing on this machine, with nothing configured',
    async (options) => (await import('./demo/index.js')).runDemo(options),
  )
    .option('--dir <folder>', 'where its files go (default: .worktrack/demo)')
    .option('--rows <n>', 'time entries in the made-up service (default: 5000)');

  program
    .command('simulator')
    .description('run a made-up service on this machine; prints its address as JSON')
    .argument(
      '[options...]',
      '--port and --seed; --projects, --tasks, --time-entries and the like with a number of records',
    )
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (_words: string[], _options: object, command: Command) => {
      const { runSimulator } = await import('./simulator.js');
      onEnd(await runSimulator(command.args));
    });
  addExamples(program);
  return program;
}

const SCHEDULE: Readonly<Record<ScheduleAction, string>> = {
  apply: 'create it, or make it what the configuration says; shows what changed',
  describe: 'next and last runs',
  trigger: 'start a run now, unless one is going on',
  pause: 'start no more runs',
  resume: 'start runs again',
  delete: 'remove it; what was published stays',
};

const EXIT_CODES = `
Exit codes: 0 done; 1 a run failed or was cancelled, or a written row was rejected or is unknown; 2 usage or
configuration; 3 refused by the service; 4 Temporal or S3 out of reach for more than 60 s; 130 left by Ctrl-C while the
run goes on.`;
