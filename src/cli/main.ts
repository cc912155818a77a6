#!/usr/bin/env node
import { createProgram } from './program.js';
import { EXIT } from './shared/exit-code.js';
import { failureOf } from './shared/failure.js';
import { output } from './shared/output.js';

// Must be set before the AWS SDK loads. Otherwise the SDK warns users of Node 20 that it will drop support.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

// A reader that closes the pipe (`worktrack status | head -1`) is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
// A log pipeline that ended must not end a worker, nor a good export: there is no other place to say so.
process.stderr.on('error', () => {});

let code: number = EXIT.done;
try {
  await createProgram((ended) => {
    code = ended;
  }).parseAsync();
} catch (error) {
  const failure = failureOf(error, process.env);
  if (failure.message !== '') output.note(failure.message);
  code = failure.code;
}
// Flush the output, then exit, even if a handle is still open (for example, a connection that is still being tried).
process.exitCode = code;
await Promise.all(
  [process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write('', done))),
);
process.exit();
