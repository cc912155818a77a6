import type { Command } from 'commander';
import type { ExitCode } from '../exit-code.js';

/** Hears the exit code of the command that ran. */
export type OnEnd = (code: ExitCode) => void;

/** Adds a command without arguments to the program, or to a command of it. */
export type Add = <Options extends object>(
  parent: Command,
  name: string,
  text: string,
  run: (options: Options) => Promise<ExitCode>,
) => Command;

export function adder(onEnd: OnEnd): Add {
  return <Options extends object>(
    parent: Command,
    name: string,
    text: string,
    run: (options: Options) => Promise<ExitCode>,
  ): Command =>
    parent
      .command(name)
      .description(text)
      .action(async (_: object, command: Command) => onEnd(await run(command.optsWithGlobals<Options>())));
}
