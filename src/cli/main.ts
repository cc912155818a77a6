#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { needsSeparateModules } from './separate-modules.js';

/** Runs the command that the arguments name, with the bundle that `npm run build` makes of `run.js` if it can. */
const bundled = new URL('../../cli/run.js', import.meta.url);
const useBundle = !needsSeparateModules(process.argv.slice(2), process.env) && existsSync(bundled);
await import(useBundle ? bundled.href : './run.js');
