import { Argument } from 'commander';
import { ALERT_EVENTS } from '../core/alerts/index.js';
import { collect, type WorktrackCommand } from './command.js';

const SNAPSHOTS = 'print the folder of each snapshot';
const ALLOW_DELETES =
  'publish although the list is empty, or more than 20 rows and 10% of the rows would be deleted';
const ADOPT_ORGANIZATION =
  'continue with a new API key whose organization could not be checked; reads everything';
const SAME_ORGANIZATION =
  'continue the batch with a new API key whose organization could not be checked: it is the same one';
const TIMEOUT = 'wait at most this long, such as 30m; the run continues';
const DAY = 'last published run of this day, such as 2026-11-21 (default: current state)';

/** Declares all commands, in the order of the help. The module of a command is loaded when it runs. */
export function declareCommands(program: WorktrackCommand): void {
  declareSetup(program.commandsGroup('Set up:'));
  declareRuns(program.commandsGroup('Run:'));
  declareWatching(program.commandsGroup('Watch:'));
  declareData(program.commandsGroup('Use the data:'));
  declareMaintenance(program.commandsGroup('Correct and maintain:'));
  declareWriteBack(program.commandsGroup('Write to the service:'));
}

function declareSetup(program: WorktrackCommand): void {
  program
    .command('doctor')
    .description('check everything a run depends on, and say how to fix problems')
    .ofSeveral()
    .option('--try-service', 'also try what the API leaves open, and print the settings that follow')
    .json()
    .examples('', '--connection acme --json')
    .runs(async () => (await import('./setup/doctor-command.js')).runDoctor);

  program
    .command('init')
    .description('write a first configuration file; asks for missing values')
    .option('--out <file>', 'file to write (default: --config, or worktrack.yaml)')
    .option('--base-url <url>', 'URL of the service, such as https://tracker.example.com')
    .option('--lake <url>', 'lake URL: s3://bucket/prefix or file:///absolute/folder')
    .option('--endpoint <url>', 'URL of an S3-compatible store other than AWS')
    .option('--region <name>', 'region of the bucket')
    .option('--api-key-env <name>', 'environment variable with the API key (default: WORKTRACK_API_KEY)')
    .option(
      '--resources <names>',
      'resources to mirror, separated by commas (default: projects, tasks, time-entries, calendar-entries)',
    )
    .option('--force', 'overwrite an existing file')
    .examples('', '--base-url https://tracker.example.com --lake file:///srv/lake')
    .runs(async () => (await import('./setup/init-command.js')).runInit);

  const config = program.command('config').description('check or describe the configuration file');
  config
    .command('check')
    .description('read the configuration as a worker would, and report problems')
    .examples('--config worktrack.yaml')
    .runs(async () => (await import('./setup/config-command.js')).runConfigCheck);
  config
    .command('schema')
    .description('print the JSON Schema of the configuration, for editors')
    .examples('> worktrack.schema.json')
    .runs(async () => (await import('./setup/config-command.js')).runConfigSchema);
  config
    .command('get')
    .description('print a value of the configuration file')
    .argument('[path]', 'keys with dots, such as connections.acme.sync.overlap (default: the whole file)')
    .examples('connections.acme.resources.tasks')
    .runs(async () => (await import('./setup/config-edit-command.js')).runConfigGet);
  config
    .command('set')
    .description('change a value of the configuration file, which keeps its comments')
    .argument('<path>', 'keys with dots, such as connections.acme.sync.overlap')
    .argument('<value>', 'the value as YAML')
    .examples('connections.acme.sync.overlap 10m', 'connections.acme.resources.tasks.fetchById true')
    .runs(async () => (await import('./setup/config-edit-command.js')).runConfigSet);
  config
    .command('add-connection')
    .description('add a connection to the configuration file')
    .argument('<name>', 'name of the connection')
    .requiredOption('--base-url <url>', 'URL of the service, such as https://tracker.example.com')
    .requiredOption('--lake <url>', 'lake URL: s3://bucket/prefix or file:///absolute/folder')
    .option('--endpoint <url>', 'URL of an S3-compatible store other than AWS')
    .option('--region <name>', 'region of the bucket')
    .option('--api-key-env <name>', 'environment variable with the API key', 'WORKTRACK_API_KEY')
    .option('--resources <names>', 'resources to mirror, separated by commas (default: those of the API)')
    .examples('b --base-url https://b.example --lake s3://b/l')
    .runs(async () => (await import('./setup/config-edit-command.js')).runConfigAdd);

  program
    .command('completion')
    .description('print a completion script for a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .argument('[words...]', 'what was typed, to print candidates: for the script')
    .examples('bash >> ~/.bashrc', 'fish > ~/.config/fish/completions/worktrack.fish')
    .runs(async () => {
      const { runCompletion } = await import('./setup/completion-command.js');
      return (shell: 'bash' | 'zsh' | 'fish', words: readonly string[]) =>
        runCompletion(program, shell, words);
    });

  program
    .command('demo')
    .description('run everything on this machine without configuration')
    .option('--dir <folder>', 'folder for the demo files (default: .worktrack/demo)')
    .option('--rows <n>', 'time entries in the simulated service (default: 5000)')
    .option('--awkward', 'add quotes, line breaks, large numbers and other awkward values')
    .option('--keep', 'leave the servers running, and print their addresses')
    .examples('', '--keep', '--dir demo --rows 20000')
    .runs(async () => (await import('./demo/demo-command.js')).runDemo);

  program
    .command('simulator')
    .description('run a simulated service on this machine; prints its URL as JSON')
    .argument(
      '[options...]',
      '--port and --seed; --projects, --tasks, --time-entries and so on with a number of records; --plain for ordinary data; --odd with a name, or `list`',
    )
    .allowUnknownOption()
    .allowExcessArguments()
    .examples('--time-entries 20000')
    .runs(async () => (await import('./demo/demo-service.js')).runSimulator);
}

/** Commands that run the mirror: the worker, manual exports and backfills, the Schedule and change notices. */
function declareRuns(program: WorktrackCommand): void {
  program
    .command('worker')
    .description('run a worker until SIGTERM, then drain it')
    .logFormat()
    .choice('--log-level <level>', 'minimum log level', ['trace', 'debug', 'info', 'warn', 'error'], 'info')
    .option(
      '--health <host:port>',
      'serve /healthz and /readyz at this address; a port alone listens on loopback',
    )
    .option('--metrics <host:port>', 'serve Prometheus metrics at this address, such as 127.0.0.1:9464')
    .option('--watch', 'load the configuration file when it changes, as on SIGHUP')
    .option(
      '--give-up-after <duration>',
      'end with exit code 4 after this long without Temporal (default: never)',
    )
    .option('--max-activities <n>', 'concurrent activities in this process (default: 16)')
    .option(
      '--max-activity-memory <size>',
      'memory for concurrent activities, such as 512MiB (default: half of the free memory)',
    )
    .option(
      '--max-cached-workflows <n>',
      'cached workflows (default: all mirrors and exports, or 100 if there are more than 400)',
    )
    .option(
      '--deployment-name <name>',
      'enable worker versioning; requires --build-id (default: $WORKTRACK_DEPLOYMENT_NAME)',
    )
    .option('--build-id <id>', 'build id within the deployment (default: $WORKTRACK_BUILD_ID)')
    .examples('', '--log-format json --health 8081 --metrics 127.0.0.1:9464')
    .runs(async () => (await import('./worker/worker-command.js')).runWorker);

  program
    .command('export')
    .description('start an export now and follow it to its end')
    .ofSeveral(SNAPSHOTS)
    .ofResources()
    .option('--full', 'read everything, not only changes')
    .option('--reconcile', 'read everything and detect deleted records')
    .option('--dry-run', 'publish nothing, and show what an export with this configuration would publish')
    .option('--diff', 'with --dry-run, show the cells that would change')
    .option('--limit <n>', 'with --diff, show at most this many cells (default: 20)')
    .option(
      '--adopt',
      'take over a lake of another writer, a renamed connection or a service at a new address',
    )
    .option('--adopt-organization', ADOPT_ORGANIZATION)
    .option('--allow-deletes', ALLOW_DELETES)
    .option('--accept-checks', 'publish once although checks fail; the manifest records it')
    .option('--local', 'start a Temporal server (state on disk) and a worker in this process')
    .option('--follow <workflow-id>', 'follow a running export instead of starting one')
    .option('--timeout <duration>', TIMEOUT)
    .option('--no-wait', 'print the workflow id and do not wait')
    .json()
    .examples('', '--resource tasks --full', '--local', '--all --timeout 2h', '--no-wait')
    .runs(async () => (await import('./runs/export-command.js')).runExport);

  program
    .command('backfill')
    .description('reread everything, or changes since a time; never moves a checkpoint back')
    .ofSeveral(SNAPSHOTS)
    .ofResources()
    .option('--since <time>', 'only changes since this date or time (default: everything)')
    .option('--reconcile', 'read everything and detect deleted records')
    .option('--adopt-organization', ADOPT_ORGANIZATION)
    .option('--allow-deletes', ALLOW_DELETES)
    .option('--timeout <duration>', TIMEOUT)
    .option('--no-wait', 'print the workflow id and do not wait')
    .json()
    .examples('--resource tasks --since 2026-08-01', '--resource projects --reconcile')
    .runs(async () => (await import('./runs/backfill-command.js')).runBackfill);

  program
    .command('cancel')
    .description(
      'cancel an export, backfill, rollback, purge, write-back or confirmation; published data stays',
    )
    .argument('<workflow-id>', 'id that the command printed when it started')
    .option('--no-wait', 'do not wait for its end')
    .json()
    .examples('worktrack/acme/export/20261121T020000Z-1a2b3c4d')
    .runs(async () => (await import('./runs/cancel-command.js')).runCancel);

  const schedule = program.command('schedule').description('manage the nightly Schedule of a connection');
  for (const [action, text, example, takesNote] of SCHEDULE) {
    const command = schedule.command(action).description(text).ofSeveral().json();
    if (takesNote) command.option('--note <text>', 'reason, shown with the Schedule');
    command
      .examples(...example)
      .runs(async () => (await import('./triggers/schedule-command.js')).runSchedule.bind(null, action));
  }

  program
    .command('webhook')
    .description('receive change notices until SIGTERM and start incremental runs for them')
    .takesConnections()
    .option(
      '--listen <host:port>',
      'address for all connections (default: webhook.listen of each connection)',
    )
    .logFormat()
    .examples('', '--listen 127.0.0.1:8080')
    .runs(async () => (await import('./triggers/webhook-command.js')).runWebhook);
}

const SCHEDULE = [
  ['apply', 'create or update the Schedule from the configuration, and show changes', ['', '--all'], false],
  ['describe', 'show the next runs and the outcome of the last ones', [''], false],
  ['trigger', 'start a run now, unless one is in progress', [''], false],
  ['pause', 'pause the Schedule', ['--note "audit"'], true],
  ['resume', 'resume a paused Schedule', [''], true],
  ['delete', 'delete the Schedule; published data stays', [''], false],
] as const;

function declareWatching(program: WorktrackCommand): void {
  program
    .command('status')
    .description('show the state, rows, age and warnings of each resource')
    .ofSeveral()
    .ofResources()
    .option('--check', 'exit with 0 only if every resource is fresh')
    .option('--max-age <duration>', 'largest age of the checkpoint of a fresh resource', '26h')
    .json()
    .examples('', '--json', '--failing')
    .runs(async () => (await import('./inspect/status-command.js')).runStatus);

  program
    .command('history')
    .description('list the last runs of each resource: published, failed and running')
    .ofSeveral()
    .ofResources()
    .option('--limit <n>', 'maximum number of runs per resource', '10')
    .json()
    .examples('--resource tasks --limit 30', '--all --failing')
    .runs(async () => (await import('./inspect/history-command.js')).runHistory);

  program
    .command('report')
    .description('write an HTML report: what needs attention, rows, changes, and the last runs')
    .takesConnections()
    .option('--all', 'report on all connections; to select several, repeat --connection')
    .ofResources()
    .option('--max-age <duration>', 'largest age of data that is not stale', '26h')
    .option('--run <run>', 'report the state as of this run')
    .option('--out <file>', 'write the report to a file (default: stdout)')
    .option('--open', 'open the report in the browser')
    .examples('--resource tasks --open', '--all --out report.html')
    .runs(async () => (await import('./inspect/report-command.js')).runReport);

  program
    .command('notify')
    .description('send an example alert to each target and print the answer')
    .ofSeveral()
    .option('--test', 'send the example; required, because people get it')
    .choice('--event <event>', 'event of the example', ALERT_EVENTS, 'failure')
    .json()
    .examples('--test', '--test --all --event stale')
    .runs(async () => (await import('./triggers/notify-command.js')).runNotify);
}

function declareData(program: WorktrackCommand): void {
  program
    .command('verify')
    .description('reread the published data and check every hash, count and key')
    .ofSeveral()
    .ofResources()
    .json()
    .examples('', '--resource tasks', '--all')
    .runs(async () => (await import('./inspect/verify-command.js')).runVerify);

  program
    .command('audit')
    .description('compare every cell of the published snapshots with the service')
    .ofSeveral()
    .ofResources()
    .option('--sample <share>', 'compare a share of the rows, such as 1%, by id')
    .option('--max-requests <n>', 'send at most this many requests to the service')
    .option('--diff', 'show the cells that differ')
    .option('--limit <n>', 'with --diff, show at most this many cells (default: 20)')
    .option('--repair', 'request a full read of the resources that differ')
    .option('--local', 'start a Temporal server (state on disk) and a worker in this process')
    .option('--timeout <duration>', 'wait at most this long, such as 30m; the audit continues')
    .option('--no-wait', 'print the workflow id and do not wait')
    .json()
    .examples('', '--resource tasks --diff', '--sample 1%', '--repair')
    .runs(async () => (await import('./runs/audit-command.js')).runAudit);

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
    .option('--dt <date>', DAY)
    .examples('--dialect athena', '--resource tasks --dt 2026-11-21')
    .runs(async () => (await import('./inspect/ddl-command.js')).runDdl);

  program
    .command('dbt')
    .description('write a dbt project with typed models and the history of each record')
    .choice('--adapter <name>', 'dbt adapter (default: that of the project in the folder, or duckdb)', [
      'duckdb',
      'athena',
    ])
    .option('--dir <folder>', 'folder of the project; your changes in it are kept', 'dbt')
    .examples('', '--adapter athena --dir warehouse')
    .runs(async () => (await import('./inspect/dbt-command.js')).runDbt);

  program
    .command('query')
    .description('answer a SELECT over the published snapshots, with DuckDB')
    .argument(
      '[statement]',
      'a SELECT over views such as tasks and time_entries_changes; without it, from stdin',
    )
    .option('--dt <date>', DAY)
    .option('--run <id>', 'this published run')
    .json('print one JSON object: every digit as text, null differs from an empty string')
    .option('--csv', 'print CSV with a header: NULL is an empty field, an empty string is ""')
    .option('--output <file>', 'write a file that ends in .csv, .json or .parquet')
    .examples(
      '"SELECT count(*) FROM tasks WHERE _deleted_at IS NULL"',
      '"SELECT * FROM time_entries LIMIT 5" --dt 2026-11-21 --json',
      '"FROM tasks" --output tasks.parquet',
    )
    .runs(async () => (await import('./inspect/query-command.js')).runQuery);

  program
    .command('cat')
    .description('print rows of a published snapshot as CSV with a header')
    .argument('<resource>', 'resource in the configuration')
    .option('--limit <n>', 'maximum number of rows; 0 for all', '20')
    .option('--dt <date>', DAY)
    .option('--run <id>', 'this published run')
    .json('print one JSON object; null differs from an empty string')
    .option('--csv-excel', 'print CSV for Excel: it begins with a byte order mark')
    .option('--delimiter <char>', 'delimiter of the CSV, such as ";" for Excel in many countries')
    .examples(
      'tasks --limit 5',
      'tasks --dt 2026-11-21 --json',
      'tasks --limit 0 --csv-excel --delimiter ";" > tasks.csv',
    )
    .runs(async () => (await import('./inspect/cat-command.js')).runCat);
}

function declareMaintenance(program: WorktrackCommand): void {
  program
    .command('rollback')
    .description('publish the rows of an earlier run again, as a new run with its checkpoint')
    .requiredOption('--resource <name>', 'the resource')
    .requiredOption('--to <run>', 'id of the published run to return to')
    .json()
    .examples('--resource tasks --to 20261121T020000Z-1a2b3c4d')
    .runs(async () => (await import('./runs/rollback-command.js')).runRollback);

  program
    .command('purge')
    .description('remove one record from all snapshots and change logs of a resource')
    .requiredOption('--resource <name>', 'the resource')
    .requiredOption(
      '--key <value>',
      'key of the record; repeat for each key field, in the configured order',
      collect,
    )
    .option('--dry-run', 'count the snapshots and change logs that contain the record; remove nothing')
    .option('--yes', 'do not ask for confirmation on a terminal')
    .json()
    .examples(
      '--resource tasks --key 01KM0000000000000000000000',
      '--resource tasks --key 01KM0000000000000000000000 --dry-run',
    )
    .runs(async () => (await import('./runs/purge-command.js')).runPurge);

  program
    .command('upgrade')
    .description('make a build of workers current, and say when the workers of the build before may stop')
    .argument('<build>', 'build id of the new workers')
    .option(
      '--deployment-name <name>',
      'deployment of the workers (default: $WORKTRACK_DEPLOYMENT_NAME, or worktrack)',
    )
    .option('--no-wait', 'do not wait until the build before has drained')
    .json()
    .examples('0.2.0')
    .runs(async () => (await import('./worker/upgrade-command.js')).runUpgrade);

  program
    .command('unpin')
    .description('move runs that wait for a build without workers to the current one, if they replay')
    .json()
    .examples('')
    .runs(async () => (await import('./worker/unpin-command.js')).runUnpin);

  program
    .command('replay')
    .ofSeveral()
    .description('replay workflow histories against this build; run it before an upgrade')
    .argument('[files...]', 'histories from `temporal workflow show --output json` or the UI')
    .option('--from-server', "replay this package's workflows from the server, running ones first")
    .option('--workflow-id <id>', 'only this workflow; requires --from-server')
    .option('--limit <n>', 'maximum number of histories; requires --from-server (default: 100)')
    .json()
    .examples('--from-server', 'history.json')
    .runs(async () => (await import('./worker/replay-command.js')).runReplay);
}

function declareWriteBack(program: WorktrackCommand): void {
  const writeBack = program
    .command('write-back')
    .description('write the rows of a file to the service, each exactly once, with receipts')
    .usage('[options] <resource> <file>')
    .argument('<resource>', 'time-entries (creates) or calendar-entries (upserts)')
    .argument(
      '<file>',
      'CSV, JSON, NDJSON or a workbook (.xlsx): a path, a file:// or s3:// URL, or - for stdin',
    )
    .option('--dry-run', 'show the requests without sending them')
    .option('--diff', 'with --dry-run, read the resource and show the cells that would change')
    .option('--limit <n>', 'with --diff, show at most this many cells (default: 20)')
    .option('--skip-unchanged', 'read the resource first, and leave out upserts that would change nothing')
    .option('--key-column <name>', 'column that identifies a row (default: the content of the row)')
    .option(
      '--batch-id <id>',
      'batch id (default: a hash of resource and content, so that the same file is the same batch)',
    )
    .choice('--format <format>', 'input format (default: the file extension)', [
      ...['csv', 'json', 'ndjson', 'xlsx'],
    ])
    .option('--sheet <name>', 'name or number of the sheet of a workbook (default: the only one with cells)')
    .option(
      '--delimiter <character>',
      'delimiter of a CSV: "," ";" "|" or tab (default: found in the header)',
    )
    .option(
      '--encoding <name>',
      'encoding, such as windows-1252 (default: from the byte order mark, otherwise UTF-8)',
    )
    .option('--decimal-comma', 'the numbers of a CSV have a decimal comma: 1.234,50')
    .option(
      '--date-format <format>',
      "format of the dates in a CSV, such as 'dd.MM.yyyy HH:mm' (repeatable)",
      collect,
    )
    .option('--timezone <zone>', 'time zone of these dates, and of those of a sheet, such as Europe/Berlin')
    .option(
      '--map <header=field>',
      'another name for a column, such as Beschreibung=description (repeatable)',
      collect,
    )
    .option('--true <word>', 'word for true, such as WAHR (repeatable)', collect)
    .option('--false <word>', 'word for false, such as FALSCH (repeatable)', collect)
    .option(
      '--unit <field=unit>',
      'unit of the cells: durationSeconds=h sends hours as seconds (ms, s, min, h, d; repeatable)',
      collect,
    )
    .option('--drop-column <name>', 'column that is not sent (repeatable)', collect)
    .option('--text-column <name>', 'column that is always text (repeatable)', collect)
    .option('--save-input', 'keep these options in the configuration, for the next file')
    .choice('--unknown <what>', 'rows that may have been sent more than writeBack.unknownAfter ago', [
      'resend',
      'skip',
    ])
    .option(
      '--last-wins',
      'of calendar entries with the same source and sourceKey, send the last one (default: an error)',
    )
    .option('--again', 'also send rows that an earlier batch has written')
    .option('--skip-written', 'leave such rows out (default with --key-column; otherwise an error)')
    .option(
      '--same-system',
      'count rows that were sent to another base URL as written: it is the same system',
    )
    .option('--other-system', 'count rows that were sent to another base URL as new: it is another system')
    .option('--same-organization', SAME_ORGANIZATION)
    .option('--no-read-back', 'do not read the resource afterwards')
    .json()
    .examples('time-entries november.csv --dry-run', 'calendar-entries s3://company-lake/in/holidays.json')
    .runs(async () => (await import('./write-back/write-back-command.js')).runWriteBack)
    // The commands below it have options of the same names (`WorktrackCommand.parseOptions`).
    .enablePositionalOptions();

  const receipts = writeBack.command('receipts');
  receipts
    // The options of the command above are not those of this one.
    .configureHelp({ ...receipts.configureHelp(), visibleGlobalOptions: () => [...program.options] })
    .description('print the receipts of a batch, one line for each row')
    .argument('<batch>', 'batch id, or its first digits')
    .option('--rejected', 'only rows that were rejected or are unknown')
    .option('--csv', 'rejected rows with the cells of the input (NDJSON for JSON), ready to correct and send')
    .json()
    .examples('3b860e3713d2 --rejected', '3b860e3713d2 --rejected --csv > corrected.csv')
    .runs(async () => (await import('./write-back/receipts-command.js')).runReceipts);

  const resend = writeBack.command('resend');
  resend
    .configureHelp({ ...resend.configureHelp(), visibleGlobalOptions: () => [...program.options] })
    .description('send rows of a batch again that are not written, or settle them')
    .argument('<batch>', 'batch id, or its first digits')
    .option('--rejected', 'the rows that the service has rejected')
    .option('--unknown', 'the rows that may or may not have been written')
    .option('--rows <numbers>', 'rows by their numbers in the input, such as 3,7-9')
    .option('--new-key', 'with new idempotency keys; a row whose record exists is written a second time')
    .option('--yes-i-looked', 'the records of the --unknown rows do not exist in the service')
    .option('--reject', 'send nothing: the rows stay rejected')
    .option('--again', 'also send rows that another batch has written meanwhile')
    .option('--same-system', 'count rows that were sent to another base URL as written')
    .option('--other-system', 'count rows that were sent to another base URL as new')
    .option('--same-organization', SAME_ORGANIZATION)
    .option('--no-read-back', 'do not read the resource afterwards')
    .option('--yes', 'do not ask for confirmation on a terminal')
    .json()
    .examples('3b860e3713d2 --rejected', '3b860e3713d2 --rows 3,7-9 --new-key')
    .runs(async () => (await import('./write-back/resend-command.js')).runResend);

  const confirm = writeBack.command('confirm');
  confirm
    .configureHelp({ ...confirm.configureHelp(), visibleGlobalOptions: () => [...program.options] })
    .description('look for the written rows of a batch in the service')
    .argument('<batch>', 'batch id, or its first digits')
    .json()
    .examples('3b860e3713d2')
    .runs(async () => (await import('./write-back/confirm-command.js')).runConfirm);

  const undo = writeBack.command('undo');
  undo
    .configureHelp({ ...undo.configureHelp(), visibleGlobalOptions: () => [...program.options] })
    .description('give the records that a batch has updated their values from before')
    .argument('<batch>', 'batch id, or its first digits')
    .option('--with-null', 'also set fields to null that were empty before')
    .option('--limit <n>', 'show at most this many cells (default: 20)')
    .option('--same-organization', SAME_ORGANIZATION)
    .option('--no-read-back', 'do not read the resource afterwards')
    .option('--yes', 'do not ask for confirmation on a terminal')
    .json()
    .examples('3b860e3713d2', '3b860e3713d2 --with-null --yes')
    .runs(async () => (await import('./write-back/undo-command.js')).runUndo);
}
