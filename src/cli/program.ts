import { Command } from 'commander';
import { VERSION } from '../temporal/version.js';
import type { OnEnd } from './commands/add.js';
import { addPublishedCommands } from './commands/published.js';
import { addReplayCommand } from './commands/replay.js';
import { addRunCommands } from './commands/runs.js';
import { addSetupCommands } from './commands/setup.js';
import { addTriggerCommands } from './commands/triggers.js';
import { addWriteBackCommand } from './commands/write-back.js';
import { addExamples } from './examples.js';

/**
 * The command line. Each command's module is loaded when it runs, so that `--help` is there at once.
 *
 * @param onEnd hears the exit code of the command that ran
 */
export function createProgram(onEnd: OnEnd): Command {
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

  // In the order of the help.
  addRunCommands(program, onEnd);
  addPublishedCommands(program, onEnd);
  addReplayCommand(program, onEnd);
  addWriteBackCommand(program, onEnd);
  addTriggerCommands(program, onEnd);
  addSetupCommands(program, onEnd);
  addExamples(program);
  return program;
}

const EXIT_CODES = `
Exit codes: 0 done; 1 a run failed or was cancelled, or a written row was rejected or is unknown; 2 usage or
configuration; 3 refused by the service; 4 Temporal or S3 out of reach for more than 60 s; 130 left by Ctrl-C while the
run goes on.`;
