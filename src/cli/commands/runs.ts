import { type Command, Option } from 'commander';
import {
  commandAdder,
  type OnEnd,
  optionsOf,
  resourceArguments,
  resourceOption,
  withLogFormat,
  withSeveral,
} from './add-command.js';

const DETAILS = 'print the folder of each snapshot, including connections without a problem';

/** Commands that run the mirror: the worker, and manual exports and backfills. */
export function addRunCommands(program: Command, onEnd: OnEnd): void {
  const add = commandAdder(onEnd);
  withLogFormat(
    add<import('../worker/worker.js').WorkerCommandOptions>(
      program,
      'worker',
      'run a worker until SIGTERM, then drain it',
      async (options) => (await import('../worker/worker.js')).runWorker(options),
    ),
  )
    .addOption(
      new Option('--log-level <level>', 'minimum log level')
        .choices(['trace', 'debug', 'info', 'warn', 'error'])
        .default('info'),
    )
    .option(
      '--health <host:port>',
      'serve GET /healthz and /readyz at this address; a port alone listens on loopback',
    )
    .option('--metrics <host:port>', 'serve Prometheus metrics at this address, such as 127.0.0.1:9464')
    .option(
      '--watch',
      'load the configuration file when it changes, as on SIGHUP; runs in progress keep theirs',
    )
    .option(
      '--give-up-after <duration>',
      'end with exit code 4 when Temporal has not accepted the worker for this long, such as 10m (default: never)',
    )
    .option('--max-activities <n>', 'concurrent activities in this process (default: 16)')
    .option(
      '--max-activity-memory <size>',
      'memory for concurrent activities, such as 512MiB (default: half of the free memory)',
    )
    .option(
      '--max-cached-workflows <n>',
      'workflows cached in memory (default: all mirrors and exports, or 100 if there are more than 400)',
    )
    .option(
      '--deployment-name <name>',
      'enable worker versioning; requires --build-id (default: $WORKTRACK_DEPLOYMENT_NAME)',
    )
    .option('--build-id <id>', 'build id within the deployment (default: $WORKTRACK_BUILD_ID)');

  withSeveral(
    add<import('../runs/export.js').ExportOptions>(
      program,
      'export',
      'start an export now and follow it to its end',
      async (options) => (await import('../runs/export.js')).runExport(options),
      'several',
    ),
    DETAILS,
  )
    .addArgument(resourceArguments())
    .addOption(resourceOption())
    .option('--full', 'read everything, not only changes')
    .option(
      '--adopt',
      'take over a lake that another writer wrote last, or follow a renamed connection or a service at a new address',
    )
    .option(
      '--allow-deletes',
      'publish even if the run deletes more than 10% of the rows and more than 20 rows, or if the list is empty',
    )
    .option('--accept-checks', 'publish once although checks fail; the manifest records who accepted what')
    .option('--local', 'start a Temporal server (state on disk) and a worker in this process')
    .option('--follow <workflow-id>', 'follow a running export instead of starting one')
    .option('--timeout <duration>', 'wait at most this long, such as 30m; the export continues')
    .option('--no-wait', 'start the export, print its workflow id, and end')
    .option('--json', 'print one JSON object');

  withSeveral(
    add<import('../runs/backfill.js').BackfillOptions>(
      program,
      'backfill',
      'reread everything, or changes since a time; never moves a checkpoint back',
      async (options) => (await import('../runs/backfill.js')).runBackfill(options),
      'several',
    ),
    DETAILS,
  )
    .addArgument(resourceArguments())
    .addOption(resourceOption())
    .option('--since <time>', 'only changes since this date or time (default: everything)')
    .option('--reconcile', 'read everything and detect deleted records')
    .option(
      '--allow-deletes',
      'publish even if the run deletes more than 10% of the rows and more than 20 rows, or if the list is empty',
    )
    .option('--timeout <duration>', 'wait at most this long, such as 30m; the backfill continues')
    .option('--no-wait', 'start the backfill, print its workflow id, and end')
    .option('--json', 'print one JSON object');

  program
    .command('cancel')
    .description('cancel an export, backfill, rollback, purge or write-back; published data stays')
    .argument('<workflow-id>', 'id that the command printed when it started')
    .option('--no-wait', 'do not wait for its end')
    .option('--json', 'print one JSON object')
    .action(async (workflowId: string, _: object, command: Command) => {
      const { runCancel } = await import('../runs/cancel.js');
      onEnd(await runCancel(workflowId, optionsOf(command)));
    });
}

export function addReplayCommand(program: Command, onEnd: OnEnd): void {
  withSeveral(program.command('replay'))
    .description('replay workflow histories against this build; run it before an upgrade')
    .argument('[files...]', 'histories from `temporal workflow show --output json` or the UI')
    .option('--from-server', "replay this package's workflows from the server, running ones first")
    .option('--workflow-id <id>', 'only this workflow; requires --from-server')
    .option('--limit <n>', 'maximum number of histories; requires --from-server (default: 100)')
    .option('--json', 'print one JSON object')
    .action(async (files: string[], _options: object, command: Command) => {
      const { runReplay } = await import('../worker/replay.js');
      onEnd(await runReplay(files, optionsOf(command, 'several')));
    });
}
