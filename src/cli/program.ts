import { Command } from 'commander';
import { VERSION } from '../core/version.js';
import type { OnEnd } from './commands/add-command.js';
import { addPublishedCommands } from './commands/data-commands.js';
import {
  addReplayCommand,
  addRunCommands,
  addTriggerCommands,
  addWriteBackCommand,
} from './commands/run-commands.js';
import { addSetupCommands } from './commands/setup-commands.js';
import { collect } from './shared/command-options.js';
import { output } from './shared/output.js';
import { readOptionsFrom, runnableHere } from './shared/runnable.js';

/**
 * Builds the command line. Each command's module is loaded when the command runs, so that `--help` is fast.
 *
 * @param onEnd receives the exit code of the command that ran
 */
export function createProgram(onEnd: OnEnd): Command {
  const program = new Command('worktrack')
    .description(
      'Mirrors a work-tracking service into a data lake as verified CSV snapshots, durably, with Temporal.',
    )
    .version(VERSION, '-V, --version', 'print the version')
    .option(
      '--config <file>',
      'configuration file (default: $WORKTRACK_CONFIG, or worktrack.yaml, .yml or .json in the working directory)',
    )
    .option(
      '--connection <name>',
      'connection in the configuration (optional if there is only one); several commands accept it repeatedly',
      collect,
    )
    .option('--task-queue <name>', 'Temporal task queue (default: worktrack)')
    .option('--address <host:port>', 'Temporal server (default: $TEMPORAL_ADDRESS, or the profile)')
    .option('--namespace <name>', 'Temporal namespace (default: $TEMPORAL_NAMESPACE, or the profile)')
    .option(
      '--data-converter <module>',
      'module that exports your data converter (default: $WORKTRACK_DATA_CONVERTER)',
    )
    .option('--traces', 'send OpenTelemetry traces to $OTEL_EXPORTER_OTLP_ENDPOINT (OTLP over HTTP)')
    .configureHelp({
      showGlobalOptions: true,
      subcommandTerm: nameAndArguments,
      visibleCommands: listedCommands,
    })
    .showHelpAfterError('Add --help to the command to see its options.')
    .addHelpText('after', EXIT_CODES)
    .configureOutput({
      writeOut: (text) => void process.stdout.write(runnableHere(text)),
      writeErr: (text) => output.note(text.trimEnd(), 'error'),
    })
    .exitOverride();
  readOptionsFrom(() => program.opts());

  // The groups of the help are in the order of their first commands.
  addSetupCommands(program, onEnd);
  addRunCommands(program, onEnd);
  addPublishedCommands(program, onEnd);
  addReplayCommand(program, onEnd);
  addWriteBackCommand(program, onEnd);
  addTriggerCommands(program, onEnd);
  groupCommands(program);
  addExamples(program);
  return program;
}

/** The commands by task, in the order of the help. A test checks that each is in one group. */
export const COMMAND_GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Set up:': ['init', 'doctor', 'config', 'demo', 'simulator'],
  'Run:': ['worker', 'export', 'backfill', 'schedule', 'webhook', 'cancel'],
  'Watch:': ['status', 'history', 'report', 'notify'],
  'Use the data:': ['cat', 'ddl', 'dbt', 'verify'],
  'Correct and maintain:': ['rollback', 'purge', 'replay'],
  'Write to the service:': ['write-back'],
};

function groupCommands(program: Command): void {
  for (const [group, names] of Object.entries(COMMAND_GROUPS))
    for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(group);
}

/** Without `help`, which is no task. */
function listedCommands(parent: Command): Command[] {
  return parent.commands.filter((one) => one.name() !== 'help');
}

/** Leaves out `[options]`, which every command has, so that the descriptions fit 80 columns. */
function nameAndArguments(command: Command): string {
  const args = command.registeredArguments.map((one) => {
    const name = one.variadic ? `${one.name()}...` : one.name();
    return one.required ? ` <${name}>` : ` [${name}]`;
  });
  return command.name() + args.join('');
}

const EXIT_CODES = `
Exit codes:
  0    done
  1    a run failed or was cancelled, or a row was rejected or is unknown
  2    usage or configuration error
  3    the service refused the API key, the plan or a grant
  4    Temporal or S3 was unreachable for more than 60 s
  130  left with Ctrl-C or after --timeout; the run continues`;

/** Common uses, shown below each command's help. A test checks them against the commands. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  worker: ['', '--log-format json --health 8081 --metrics 127.0.0.1:9464'],
  export: ['', '--resource tasks --full', '--local', '--all --timeout 2h', '--no-wait'],
  cancel: ['worktrack/acme/export/20261121T020000Z-1a2b3c4d'],
  backfill: ['--resource tasks --since 2026-08-01', '--resource projects --reconcile'],
  status: ['', '--json', '--failing'],
  history: ['--resource tasks --limit 30', '--all --failing'],
  verify: ['', '--resource tasks', '--all'],
  report: ['--resource tasks --open', '--all --out report.html'],
  rollback: ['--resource tasks --to 20261121T020000Z-1a2b3c4d'],
  purge: [
    '--resource tasks --key 01KM0000000000000000000000',
    '--resource tasks --key 01KM0000000000000000000000 --dry-run',
  ],
  ddl: ['--dialect athena', '--resource tasks --dt 2026-11-21'],
  dbt: ['', '--adapter athena --dir warehouse'],
  cat: ['tasks --limit 5', 'tasks --dt 2026-11-21 --json'],
  replay: ['--from-server', 'history.json'],
  'write-back': [
    'time-entries november.csv --dry-run',
    'calendar-entries s3://company-lake/in/holidays.json',
  ],
  'write-back receipts': ['3b860e3713d2 --rejected'],
  'schedule apply': ['', '--all'],
  'schedule describe': [''],
  'schedule trigger': [''],
  'schedule pause': ['--note "audit"'],
  'schedule resume': [''],
  'schedule delete': [''],
  notify: ['--test', '--test --all --event stale'],
  webhook: ['', '--listen 127.0.0.1:8080'],
  doctor: ['', '--connection acme --json'],
  init: ['', '--base-url https://tracker.example.com --lake file:///srv/lake'],
  'config check': ['--config worktrack.yaml'],
  'config schema': ['> worktrack.schema.json'],
  demo: ['', '--keep', '--dir demo --rows 20000'],
  simulator: ['--time-entries 20000'],
};

/** Adds the examples to the help of each command below `parent`. */
function addExamples(parent: Command, prefix = ''): void {
  for (const command of parent.commands) {
    const name = `${prefix}${command.name()}`;
    const lines = EXAMPLES[name]?.map((rest) => `  worktrack ${name} ${rest}`.trimEnd());
    if (lines !== undefined)
      command.addHelpText('after', `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.join('\n')}`);
    addExamples(command, `${name} `);
  }
}
