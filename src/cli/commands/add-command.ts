import { Argument, type Command, Option } from 'commander';
import type { ExitCode } from '../shared/choose-exit-code.js';
import { collect } from '../shared/command-options.js';
import { logNotesAsJson } from '../shared/output.js';
import { UsageError } from '../shared/usage-error.js';

/** Receives the exit code of the command that ran. */
export type OnEnd = (code: ExitCode) => void;

/** How many connections a command works on. */
type Connections = 'one' | 'several';

/** Adds a command without arguments, or with `resourceArguments`, to the program or to a parent command. */
type AddCommand = <Options extends object>(
  parent: Command,
  name: string,
  text: string,
  run: (options: Options) => Promise<ExitCode>,
  connections?: Connections,
) => Command;

export function commandAdder(onEnd: OnEnd): AddCommand {
  return (parent, name, text, run, connections = 'one') =>
    parent
      .command(name)
      .description(text)
      .action(async (...args: unknown[]) =>
        // Commander passes the arguments, the options and the command.
        onEnd(await run(optionsOf(args.at(-1) as Command, connections))),
      );
}

/**
 * The options of a command and the global ones. `connections` has every `--connection`, `connection` the last.
 *
 * @throws UsageError for several connections if the command takes one
 */
export function optionsOf<Options extends object>(command: Command, takes: Connections = 'one'): Options {
  const options = command.optsWithGlobals();
  const connections: readonly string[] = options.connection ?? [];
  if (takes === 'one' && connections.length > 1)
    throw new UsageError(
      `${command.name()} works on one connection, but --connection names ${connections.length}`,
    );
  const resource = resourcesOf(command, options.resource);
  return { ...options, ...resource, connections, connection: connections.at(-1) } as unknown as Options;
}

const RESOURCES = 'resources';

/** Resources as arguments of a command, such as `worktrack history tasks`; use it with `resourceOption`. */
export function resourceArguments(): Argument {
  return new Argument(`[${RESOURCES}...]`, 'only these resources (default: all)');
}

/** The same as `resourceArguments`, as an option. */
export function resourceOption(): Option {
  return new Option('--resource <name>', 'only this resource; repeatable').argParser(collect);
}

function resourcesOf(command: Command, named: readonly string[] = []): { resource?: readonly string[] } {
  const takesThem = command.registeredArguments.some((argument) => argument.name() === RESOURCES);
  if (!takesThem || named.length + command.args.length === 0) return {};
  return { resource: [...new Set([...named, ...command.args])] };
}

/** Adds `--log-format`. Errors in the arguments are in the log, too, so the format counts as soon as it is parsed. */
export function withLogFormat(command: Command): Command {
  const formats = ['text', 'json'] as const;
  return command
    .addOption(new Option('--log-format <format>', 'log format on stderr').choices(formats).default('text'))
    .on('option:log-format', (format: (typeof formats)[number]) => {
      if (format === 'json') logNotesAsJson();
    });
}

/** Adds the options of a command that prints one line per connection. */
export function withSeveral(
  command: Command,
  details = 'with several connections: print the details of each, not only of problems',
): Command {
  return command
    .option('--all', 'all connections; to select several, repeat --connection')
    .option('--failing', 'with several connections: print only those with a problem')
    .option('--details', details);
}
