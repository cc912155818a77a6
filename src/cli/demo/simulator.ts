import { EXIT, type ExitCode } from '../shared/exit-code.js';

/** `worktrack simulator`: runs the entry point of the simulated service until a signal stops it. */
export async function runSimulator(args: readonly string[]): Promise<ExitCode> {
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...args);
  await import('../../simulator/main.js');
  // The entry point ends the process itself, unless it failed to start.
  await new Promise((resolve) => process.once('beforeExit', resolve));
  return process.exitCode === EXIT.usage ? EXIT.usage : EXIT.done;
}
