import { type Command, Option } from 'commander';
import { ALERT_EVENTS } from '../../core/alerts/index.js';
import { collect } from '../shared/command-options.js';
import type { ScheduleAction } from '../triggers/schedule-command.js';
import {
  commandAdder,
  type OnEnd,
  optionsOf,
  resourceArguments,
  resourceOption,
  withLogFormat,
  withSeveral,
} from './add-command.js';

const DETAILS = 'print the folder of each snapshot';

/** Commands that run the mirror: the worker, and manual exports and backfills. */
export function addRunCommands(program: Command, onEnd: OnEnd): void {
  const add = commandAdder(onEnd);
  withLogFormat(
    add<import('../worker/worker-command.js').WorkerCommandOptions>(
      program,
      'worker',
      'run a worker until SIGTERM, then drain it',
      async (options) => (await import('../worker/worker-command.js')).runWorker(options),
    ),
  )
    .addOption(
      new Option('--log-level <level>', 'minimum log level')
        .choices(['trace', 'debug', 'info', 'warn', 'error'])
        .default('info'),
    )
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
    .option('--build-id <id>', 'build id within the deployment (default: $WORKTRACK_BUILD_ID)');

  withSeveral(
    add<import('../runs/export-command.js').ExportOptions>(
      program,
      'export',
      'start an export now and follow it to its end',
      async (options) => (await import('../runs/export-command.js')).runExport(options),
      'several',
    ),
    DETAILS,
  )
    .addArgument(resourceArguments())
    .addOption(resourceOption())
    .option('--full', 'read everything, not only changes')
    .option(
      '--adopt',
      'take over a lake of another writer, a renamed connection or a service at a new address',
    )
    .option(
      '--allow-deletes',
      'publish although the list is empty, or more than 20 rows and 10% of the rows would be deleted',
    )
    .option('--accept-checks', 'publish once although checks fail; the manifest records it')
    .option('--local', 'start a Temporal server (state on disk) and a worker in this process')
    .option('--follow <workflow-id>', 'follow a running export instead of starting one')
    .option('--timeout <duration>', 'wait at most this long, such as 30m; the run continues')
    .option('--no-wait', 'print the workflow id and do not wait')
    .option('--json', 'print one JSON object');

  withSeveral(
    add<import('../runs/backfill-command.js').BackfillOptions>(
      program,
      'backfill',
      'reread everything, or changes since a time; never moves a checkpoint back',
      async (options) => (await import('../runs/backfill-command.js')).runBackfill(options),
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
      'publish although the list is empty, or more than 20 rows and 10% of the rows would be deleted',
    )
    .option('--timeout <duration>', 'wait at most this long, such as 30m; the run continues')
    .option('--no-wait', 'print the workflow id and do not wait')
    .option('--json', 'print one JSON object');

  program
    .command('cancel')
    .description('cancel an export, backfill, rollback, purge or write-back; published data stays')
    .argument('<workflow-id>', 'id that the command printed when it started')
    .option('--no-wait', 'do not wait for its end')
    .option('--json', 'print one JSON object')
    .action(async (workflowId: string, _: object, command: Command) => {
      const { runCancel } = await import('../runs/cancel-command.js');
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
      const { runReplay } = await import('../worker/replay-command.js');
      onEnd(await runReplay(files, optionsOf(command, 'several')));
    });
}

/** Commands for automatic runs and their alerts: the Schedule, change notices, and targets of alerts. */
export function addTriggerCommands(program: Command, onEnd: OnEnd): void {
  const add = commandAdder(onEnd);
  const schedule = program.command('schedule').description('manage the nightly Schedule of a connection');
  for (const [action, text] of Object.entries(SCHEDULE) as [ScheduleAction, string][]) {
    const command = withSeveral(
      add<import('../triggers/schedule-command.js').ScheduleOptions>(
        schedule,
        action,
        text,
        async (options) => (await import('../triggers/schedule-command.js')).runSchedule(action, options),
        'several',
      ),
    ).option('--json', 'print one JSON object');
    if (action === 'pause' || action === 'resume')
      command.option('--note <text>', 'reason, shown with the Schedule');
  }

  withSeveral(
    add<import('../triggers/notify-command.js').NotifyOptions>(
      program,
      'notify',
      'send an example alert to each target and print the answer',
      async (options) => (await import('../triggers/notify-command.js')).runNotify(options),
      'several',
    ),
  )
    .option('--test', 'send the example; required, because people get it')
    .addOption(new Option('--event <event>', 'event of the example').choices(ALERT_EVENTS).default('failure'))
    .option('--json', 'print one JSON object');

  withLogFormat(
    add<import('../triggers/webhook-command.js').WebhookOptions>(
      program,
      'webhook',
      'receive change notices until SIGTERM and start incremental runs for them',
      async (options) => (await import('../triggers/webhook-command.js')).runWebhook(options),
      'several',
    ).option(
      '--listen <host:port>',
      'address for all connections (default: webhook.listen of each connection)',
    ),
  );
}

const SCHEDULE: Readonly<Record<ScheduleAction, string>> = {
  apply: 'create or update the Schedule from the configuration, and show changes',
  describe: 'show the next runs and the outcome of the last ones',
  trigger: 'start a run now, unless one is in progress',
  pause: 'pause the Schedule',
  resume: 'resume a paused Schedule',
  delete: 'delete the Schedule; published data stays',
};

export function addWriteBackCommand(program: Command, onEnd: OnEnd): void {
  const writeBack = program
    .command('write-back')
    .description('write the rows of a file to the service, each exactly once, with receipts')
    .usage('[options] <resource> <file>')
    .argument('<resource>', 'time-entries (creates) or calendar-entries (upserts)')
    .argument('<file>', 'CSV, JSON or NDJSON: a path, a file:// or s3:// URL, or - for stdin')
    .option('--dry-run', 'show the requests without sending them')
    .option('--key-column <name>', 'column that identifies a row (default: the content of the row)')
    .option(
      '--batch-id <id>',
      'batch id (default: a hash of resource and content, so that the same file is the same batch)',
    )
    .addOption(
      new Option('--format <format>', 'input format (default: the file extension)').choices([
        'csv',
        'json',
        'ndjson',
      ]),
    )
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
    .option('--timezone <zone>', 'time zone of these dates, such as Europe/Berlin')
    .option('--drop-column <name>', 'column that is not sent (repeatable)', collect)
    .option('--text-column <name>', 'column that is always text (repeatable)', collect)
    .addOption(
      new Option(
        '--unknown <what>',
        'rows that may have been sent more than writeBack.unknownAfter ago',
      ).choices(['resend', 'skip']),
    )
    .option('--again', 'also send rows that an earlier batch has written')
    .option('--skip-written', 'leave such rows out (default with --key-column; otherwise an error)')
    .option('--no-read-back', 'do not read the resource afterwards')
    .option('--json', 'print one JSON object')
    .action(async (resource: string, file: string, _: object, command: Command) => {
      const { runWriteBack } = await import('../write-back/write-back-command.js');
      onEnd(await runWriteBack(resource, file, optionsOf(command)));
    });

  const receipts = writeBack.command('receipts');
  receipts
    // The options of the command above are not those of this one.
    .configureHelp({ ...receipts.configureHelp(), visibleGlobalOptions: () => [...program.options] })
    .description('print the receipts of a batch, one line for each row')
    .argument('<batch>', 'batch id, or its first digits')
    .option('--rejected', 'only rows that were rejected or are unknown')
    .option('--json', 'print one JSON object')
    .action(async (batch: string, _: object, command: Command) => {
      const { runReceipts } = await import('../write-back/receipts-command.js');
      onEnd(await runReceipts(batch, optionsOf(command)));
    });
}
