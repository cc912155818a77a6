import { EXIT, type ExitCode } from './exit-code.js';

/** `worktrack simulator`: the made-up service, as its own entry point runs it, until it is told to stop. */
export async function runSimulator(args: readonly string[]): Promise<ExitCode> {
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...args);
  await import('../simulator/main.js');
  // It ends the process itself, unless it did not start.
  await new Promise((resolve) => process.once('beforeExit', resolve));
  return process.exitCode === EXIT.usage ? EXIT.usage : EXIT.done;
}
