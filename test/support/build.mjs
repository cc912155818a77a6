// Builds the package: compiles TypeScript, then bundles the workflows once, so that workers need not, and the commands,
// so that they start fast.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleCli } from './bundle-cli.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tsc = path.join(
  path.dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin',
  'tsc',
);
rmSync(path.join(root, 'dist'), { recursive: true, force: true });
const compiled = spawnSync(process.execPath, [tsc, '-p', path.join(root, 'tsconfig.build.json')], {
  stdio: 'inherit',
});
if (compiled.status !== 0) process.exit(compiled.status ?? 1);

const { bundleWorkflows, SHIPPED_BUNDLES } = await import(
  path.join(root, 'dist/src/temporal/worker/bundle.js')
);
for (const [list, file] of Object.entries(SHIPPED_BUNDLES)) {
  const { code } = await bundleWorkflows(list);
  writeFileSync(file, withoutMachinePaths(code));
}

await bundleCli(root);

const assets = path.join(root, 'src/assets');
if (existsSync(assets)) cpSync(assets, path.join(root, 'dist/src/assets'), { recursive: true });
const main = path.join(root, 'dist/src/cli/main.js');
if (existsSync(main)) chmodSync(main, 0o755);

/** The inline source map, which the SDK wants, names files by their absolute paths: from the package on will do. */
function withoutMachinePaths(code) {
  return code.replace(
    /(sourceMappingURL=data:application\/json;charset=utf-8;base64,)(\S+)/,
    (_, head, base64) => {
      const map = Buffer.from(base64, 'base64').toString('utf8');
      return head + Buffer.from(map.replaceAll(root, '')).toString('base64');
    },
  );
}
