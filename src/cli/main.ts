#!/usr/bin/env node
import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

// Keeps the code that V8 compiles for the next command. Node 20 has no such cache.
const { enableCompileCache } = module as { enableCompileCache?: () => void };
enableCompileCache?.();

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
