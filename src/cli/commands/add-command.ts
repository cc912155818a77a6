import type { Command } from 'commander';
import type { ExitCode } from '../shared/exit-code.js';

/** Receives the exit code of the command that ran. */
export type OnEnd = (code: ExitCode) => void;

/** Adds a command without arguments to the program or to a parent command. */
type AddCommand = <Options extends object>(
  parent: Command,
  name: string,
  text: string,
  run: (options: Options) => Promise<ExitCode>,
) => Command;

export function commandAdder(onEnd: OnEnd): AddCommand {
  return (parent, name, text, run) =>
    parent
      .command(name)
      .description(text)
      .action(async (_: object, command: Command) => onEnd(await run(command.optsWithGlobals())));
}
