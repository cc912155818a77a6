#!/usr/bin/env node
import { EXIT } from './exit-code.js';
import { failureOf } from './failure.js';
import { output } from './output.js';
import { createProgram } from './program.js';

// Before the AWS SDK is loaded, which would tell users of Node 20 of its own plans.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

// A reader that went away (`worktrack status | head -1`) is no trouble of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

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
// Whatever is still open (a connection that never came about) must not keep the process; what was printed must come through.
process.exitCode = code;
await Promise.all(
  [process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write('', done))),
);
process.exit();
