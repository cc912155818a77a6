import { type Command, Option } from 'commander';
import { collect } from '../options.js';
import { adder, type OnEnd } from './add.js';

/** Commands for what runs the mirror: a worker, and exports and backfills by hand. */
export function addRunCommands(program: Command, onEnd: OnEnd): void {
  const add = adder(onEnd);
  add<import('../worker.js').WorkerCommandOptions>(
    program,
    'worker',
    'run a worker until SIGTERM; it drains',
    async (options) => (await import('../worker.js')).runWorker(options),
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

  add<import('../export.js').ExportOptions>(
    program,
    'export',
    'export now, and follow it to its end',
    async (options) => (await import('../export.js')).runExport(options),
  )
    .option('--resource <name>', 'only this resource; may be given more than once', collect)
    .option('--full', 'read everything again, not only what changed')
    .option('--adopt', 'take over a lake that somebody else wrote last')
    .option('--allow-deletes', 'publish although more than a tenth of the rows are gone from the service')
    .option('--local', 'bring a Temporal server (state kept on disk) and a worker along')
    .option('--follow <workflow-id>', 'start nothing; follow an export that is going on')
    .option('--json', 'print one JSON object');

  add<import('../backfill.js').BackfillOptions>(
    program,
    'backfill',
    'read again, everything or since a time; never moves a checkpoint back',
    async (options) => (await import('../backfill.js')).runBackfill(options),
  )
    .option('--resource <name>', 'only this resource; may be given more than once', collect)
    .option('--since <time>', 'only what changed since this date or time (default: everything)')
    .option('--reconcile', 'read everything, and conclude which records are gone')
    .option('--allow-deletes', 'publish although more than a tenth of the rows are gone from the service')
    .option('--json', 'print one JSON object');
}
