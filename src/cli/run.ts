import { homedir } from 'node:os';
import type { Command } from 'commander';
import { rememberEnvironment } from '../core/secrets.js';
import { keepThreadPoolAwake } from '../core/thread-pool.js';
import { createProgram } from './program.js';
import { EXIT, failureOf } from './shared/choose-exit-code.js';
import type { GlobalOptions } from './shared/command-options.js';
import { output, writeStderrSync } from './shared/output.js';

/** Commands that run a worker or the simulated service in their process. */
const HOSTS: readonly string[] = ['worker', 'replay', 'unpin', 'demo', 'simulator'];

/**
 * Runs the command in the arguments, and ends the process with its exit code.
 *
 * @param host loads this module from the bundle that uses the SDK's packages; absent: this is not the bundle of clients
 */
export async function run(host?: () => { run(): Promise<never> }): Promise<never> {
  // Libraries such as the AWS SDK ask the system for the home of a user, and fail if it has no entry for the user. Docker
  // sets the same value for such users. This package creates nothing below it.
  if (process.env.HOME === '') delete process.env.HOME;
  if (!hasHome()) process.env.HOME = '/';

  // Before anything is written: no message may show a secret.
  rememberEnvironment();

  keepThreadPoolAwake();

  // Must be set before the AWS SDK loads. Otherwise the SDK warns users of Node 20 that it will drop support.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

  // A reader that closes the pipe (`worktrack status | head -1`) is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  // A log pipeline that ended must not end a worker, nor a good export: there is no other place to say so.
  process.stderr.on('error', () => {});

  let code: number = EXIT.done;
  const program = createProgram((ended) => {
    code = ended;
  });
  program.hook('preAction', async (_, command) => {
    if (host !== undefined && usesPackages(command)) await host().run();
    process.on('uncaughtException', (error) => {
      writeStderrSync(failureOf(error, process.env).message, 'error');
      process.exit(EXIT.failed);
    });
  });
  try {
    await program.parseAsync();
  } catch (error) {
    const failure = failureOf(error, process.env);
    const { errorCode } = failure;
    if (failure.message !== '')
      output.paragraph(failure.message, 'error', { exitCode: failure.code, errorCode });
    code = failure.code;
  }
  // Flush the output, then exit, even if a handle is still open (for example, a connection that is still being tried).
  process.exitCode = code;
  await Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write('', done))),
  );
  process.exit();
}

/**
 * Whether a command loads the SDK from its packages, itself or through a module of the user. Everything in its process must
 * then share that copy of the SDK; the bundle contains another one.
 */
function usesPackages(command: Command): boolean {
  const { dataConverter, traces, local } = command.optsWithGlobals<GlobalOptions & { local?: boolean }>();
  const hasConverter = dataConverter !== undefined || Boolean(process.env.WORKTRACK_DATA_CONVERTER);
  return HOSTS.includes(command.name()) || local === true || traces === true || hasConverter;
}

function hasHome(): boolean {
  try {
    return homedir() !== '';
  } catch {
    return false;
  }
}
