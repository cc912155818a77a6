import { Argument } from 'commander';
import { ALERT_EVENTS } from '../core/alerts/index.js';
import { collect, type WorktrackCommand } from './command.js';
import { declareDemo } from './demo/index.js';
import { declareSql } from './sql/index.js';
import { declareWriteBack } from './write-back/index.js';

const SNAPSHOTS = 'print the folder of each snapshot';
const ALLOW_DELETES =
  'publish although the list is empty, or more than 20 rows and 10% of the rows would be deleted';
const ADOPT_ORGANIZATION =
  'continue with a new API key whose organization could not be checked; reads everything';
const TIMEOUT = 'wait at most this long, such as 30m; the run continues';

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

  const config = program.command('config').description('check, read or change the configuration file');
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

  declareDemo(program);
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

  declareSql(program);

  program
    .command('cat')
    .description('print rows of a published snapshot as CSV with a header')
    .argument('<resource>', 'resource in the configuration')
    .option('--limit <n>', 'maximum number of rows; 0 for all', '20')
    .ofDay()
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
    .option('--no-wait', 'do not wait until earlier builds have drained, but name those that drain')
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
