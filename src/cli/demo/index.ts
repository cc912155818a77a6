import type { WorktrackCommand } from '../command.js';

/** Declares `demo` and `simulator`. The module of a command is loaded when it runs. */
export function declareDemo(program: WorktrackCommand): void {
  program
    .command('demo')
    .description('run everything on this machine without configuration')
    .option('--dir <folder>', 'folder for the demo files (default: .worktrack/demo)')
    .option('--rows <n>', 'time entries in the simulated service (default: 5000)')
    .option('--awkward', 'add quotes, line breaks, large numbers and other awkward values')
    .option('--keep', 'leave the servers running, and print their addresses')
    .examples('', '--keep', '--dir demo --rows 20000')
    .runs(async () => (await import('./demo-command.js')).runDemo);

  program
    .command('simulator')
    .description('run a simulated service on this machine; prints its URL as JSON')
    .argument(
      '[options...]',
      '--port and --seed; --projects, --tasks, --time-entries and so on with a number of records; --plain for ordinary data; --odd with a name, or `list`',
    )
    .allowUnknownOption()
    .allowExcessArguments()
    .examples('--time-entries 20000')
    .runs(async () => (await import('./simulator-command.js')).runSimulator);
}
