// Runs commands in turn in one process, which saves the start of a process and of its code for each of them. Each
// command has its own arguments, environment and folder, and what it leaves running can no longer write.
import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';

const [, , main, bundle] = process.argv;
const commands = createRequire(import.meta.url)(bundle);
const running = new AsyncLocalStorage();

for (const stream of [process.stdout, process.stderr])
  stream.write = (chunk, encoding, written) => {
    const name = stream === process.stdout ? 'stdout' : 'stderr';
    const command = running.getStore();
    if (command !== undefined && !command.isOver) command[name].push(Buffer.from(chunk));
    const done = written ?? encoding;
    if (typeof done === 'function') process.nextTick(done);
    return true;
  };

process.on('message', async ({ args, env, folder }) => {
  process.argv = [process.execPath, main, ...args];
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(folder);
  process.exitCode = undefined;
  const before = listeners();
  const command = { stdout: [], stderr: [], isOver: false };
  const code = await running.run(command, exitCode);
  command.isOver = true;
  for (const [at, { emitter, event, functions }] of listeners().entries())
    for (const one of functions) if (!before[at].functions.includes(one)) emitter.off(event, one);
  const [stdout, stderr] = [command.stdout, command.stderr].map((chunks) => Buffer.concat(chunks).toString());
  process.send({ code, stdout, stderr });
});

/** The listeners of the events that a command may listen to. */
function listeners() {
  const events = ['uncaughtException', 'warning', 'SIGINT', 'SIGTERM', 'SIGHUP'];
  const all = [
    ...events.map((event) => [process, event]),
    [process.stdout, 'error'],
    [process.stderr, 'error'],
  ];
  return all.map(([emitter, event]) => ({ emitter, event, functions: emitter.listeners(event) }));
}

/** Runs the command in `process.argv` until it would end the process. */
function exitCode() {
  return new Promise((resolve, reject) => {
    process.exit = (code = process.exitCode) => resolve(code ?? 0);
    const separate = () => Promise.reject(new Error('this command needs a process of its own'));
    commands.run(separate).catch(reject);
  });
}
