#!/usr/bin/env node
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheRoot } from '../servers/install/cache.js';
import { codeCache } from './bundle/code-cache.js';
import { loadCompiled } from './bundle/load.js';
import { needsSeparateModules } from './bundle/separate-modules.js';

/** Runs the command that the arguments name, with the bundle that `npm run build` makes of `run.js` if it can. */
const bundled = fileURLToPath(new URL('../../cli/run.cjs', import.meta.url));
const useBundle = !needsSeparateModules(process.argv.slice(2), process.env) && existsSync(bundled);
const { run } = useBundle
  ? (loadCompiled(
      bundled,
      codeCache(path.join(cacheRoot(process.env), 'commands')),
    ) as typeof import('./run.js'))
  : await import('./run.js');
await run();
