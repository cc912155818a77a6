#!/usr/bin/env node
import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';

// Keeps the code that V8 compiles for the next command. Node 20 has no such cache.
const { enableCompileCache } = module as { enableCompileCache?: () => void };
enableCompileCache?.();

// Without a handler, SIGHUP ends a process. A worker that is still loading has none yet, so the signal is repeated until it has. One
// in a terminal ends with it.
if (process.argv.includes('worker') && !isatty(0) && !isatty(2)) {
  const repeat = (): void => {
    if (process.listenerCount('SIGHUP') === 1)
      setTimeout(() => process.emit('SIGHUP', 'SIGHUP'), 100).unref();
  };
  process.on('SIGHUP', repeat);
}

type Commands = typeof import('./run.js');

/**
 * The bundles that `npm run build` makes of `run.js`: one file per part instead of a thousand, which Node loads faster. `host` uses the
 * SDK from its packages, as workers do.
 */
const bundle = (name: 'run' | 'host'): string =>
  fileURLToPath(new URL(`../../cli/${name}.cjs`, import.meta.url));
const load = (name: 'run' | 'host'): Commands => createRequire(import.meta.url)(bundle(name)) as Commands;
if (existsSync(bundle('run'))) await load('run').run(() => load('host'));
else await (await import('./run.js')).run();
