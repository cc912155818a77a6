import { homedir } from 'node:os';
import { createProgram } from './program.js';
import { EXIT } from './shared/exit-code.js';
import { failureOf } from './shared/failure.js';
import { wantsJsonLog } from './shared/options.js';
import { logNotesAsJson, output, writeStderrSync } from './shared/output.js';

/** Runs the command that the arguments name, and ends the process with its exit code. */
export async function run(): Promise<never> {
  // Libraries such as the AWS SDK ask the system for the home of a user, and fail if it has no entry for the user. Docker
  // sets the same value for such users. This package creates nothing below it.
  if (process.env.HOME === '') delete process.env.HOME;
  if (!hasHome()) process.env.HOME = '/';

  // Must be set before the AWS SDK loads. Otherwise the SDK warns users of Node 20 that it will drop support.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

  // A reader that closes the pipe (`worktrack status | head -1`) is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  // A log pipeline that ended must not end a worker, nor a good export: there is no other place to say so.
  process.stderr.on('error', () => {});

  if (wantsJsonLog(process.argv)) {
    logNotesAsJson();
    // Node writes warnings and fatal errors as text.
    process.removeAllListeners('warning');
    process.on('warning', ({ message }) => output.note(message, 'warn'));
  }
  process.on('uncaughtException', (error) => {
    writeStderrSync(failureOf(error, process.env).message, 'error');
    process.exit(EXIT.failed);
  });

  let code: number = EXIT.done;
  try {
    await createProgram((ended) => {
      code = ended;
    }).parseAsync();
  } catch (error) {
    const failure = failureOf(error, process.env);
    const { errorCode } = failure;
    if (failure.message !== '') output.note(failure.message, 'error', { exitCode: failure.code, errorCode });
    code = failure.code;
  }
  // Flush the output, then exit, even if a handle is still open (for example, a connection that is still being tried).
  process.exitCode = code;
  await Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write('', done))),
  );
  process.exit();
}

function hasHome(): boolean {
  try {
    return homedir() !== '';
  } catch {
    return false;
  }
}
