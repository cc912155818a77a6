#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { namedCache } from '../core/home-folder.js';
import { codeCache } from './bundle/code-cache.js';
import { loadCompiled } from './bundle/load.js';
import { needsSeparateModules } from './bundle/separate-modules.js';

/** Runs the command that the arguments name, with the bundle that `npm run build` makes of `run.js` if it can. */
const bundled = fileURLToPath(new URL('../../cli/run.cjs', import.meta.url));
const useBundle = !needsSeparateModules(process.argv.slice(2), process.env) && existsSync(bundled);
const { run } = useBundle ? loadBundle() : await import('./run.js');
await run();

function loadBundle(): typeof import('./run.js') {
  const { exports, keepCode } = loadCompiled(bundled, codeCache(folderOfCaches()));
  process.on('exit', keepCode);
  return exports as typeof import('./run.js');
}

/** `null`: there is none, such as for a user without a home or in a folder that was deleted. */
function folderOfCaches(): string | null {
  try {
    return namedCache(process.env);
  } catch {
    return null;
  }
}
