#!/usr/bin/env node
import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

// Keeps the code that V8 compiles for the next command. Node 20 has no such cache.
const { enableCompileCache } = module as { enableCompileCache?: () => void };
enableCompileCache?.();

/** The bundle that `npm run build` makes of `run.js`: one file per part instead of a thousand, which Node loads faster. */
const bundle = fileURLToPath(new URL('../../cli/run.cjs', import.meta.url));
const separate = () => import('./run.js');
if (existsSync(bundle)) {
  const bundled = createRequire(import.meta.url)(bundle) as typeof import('./run.js');
  await bundled.run(separate);
} else {
  await (await separate()).run();
}
