import type { Command } from 'commander';
import type { ExitCode } from '../shared/exit-code.js';
import { UsageError } from '../shared/usage-error.js';

/** Receives the exit code of the command that ran. */
export type OnEnd = (code: ExitCode) => void;

/** How many connections a command works on. */
type Connections = 'one' | 'several';

/** Adds a command without arguments to the program or to a parent command. */
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
      .action(async (_: object, command: Command) => onEnd(await run(optionsOf(command, connections))));
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
  return { ...options, connections, connection: connections.at(-1) } as unknown as Options;
}

/** Adds the options of a command that prints one line per connection. */
export function withSeveral(command: Command): Command {
  return command
    .option('--all', 'all connections; to select several, repeat --connection')
    .option('--failing', 'with several connections: print only those with a problem')
    .option('--details', 'with several connections: print the details of each, not only of problems');
}
