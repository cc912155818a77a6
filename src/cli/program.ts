import type { Command } from 'commander';
import { VERSION } from '../core/version.js';
import { collect, type OnEnd, WorktrackCommand } from './command.js';
import { declareCommands } from './commands.js';
import { output } from './shared/output.js';
import { readOptionsFrom, runnableHere } from './shared/runnable.js';

/**
 * Builds the command line. Each command's module is loaded when the command runs, so that `--help` is fast.
 *
 * @param onEnd receives the exit code of the command that ran
 */
export function createProgram(onEnd: OnEnd): Command {
  const program = new WorktrackCommand('worktrack', onEnd)
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
      // Without `help`, which is no task.
      visibleCommands: (parent) => parent.commands.filter((one) => one.name() !== 'help'),
    })
    .showHelpAfterError('Add --help to the command to see its options.')
    .addHelpText('after', EXIT_CODES)
    .configureOutput({
      writeOut: (text) => void process.stdout.write(runnableHere(text)),
      writeErr: (text) => output.paragraph(text.trimEnd(), 'error'),
    })
    .exitOverride();
  readOptionsFrom(() => program.opts());
  declareCommands(program);
  return program;
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
