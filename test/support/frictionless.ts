import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { cacheRoot, type Environment } from '../../src/servers/install/cache.js';
import { runCommand } from '../../src/servers/install/command.js';
import { withLock } from '../../src/servers/install/lock.js';

const VERSION = '5.21.0';
const CONSTRAINTS = fileURLToPath(new URL('frictionless-constraints.txt', import.meta.url));
const SCRIPT = fileURLToPath(new URL('validate-packages.py', import.meta.url));
const INSTALL_MS = 10 * 60_000;

/** Where the validator is, or why it is not there. */
export type Frictionless = { readonly folder: string } | { readonly problem: string };

/**
 * Finds the Frictionless validator in the cache, or installs it there with the pip of `python3`. It goes into a
 * separate folder, which needs neither a virtual environment nor write access to the system's Python. Never throws: only
 * the tests that need the validator fail without it.
 */
export async function findFrictionless(env: Environment = process.env): Promise<Frictionless> {
  const signal = AbortSignal.timeout(INSTALL_MS);
  const python = (...args: string[]) => runCommand('python3', args, { env, signal });
  try {
    const which = 'import sys; print("%s%d.%d" % (sys.implementation.name, *sys.version_info[:2]))';
    const tag = (await python('-c', which)).trim();
    const name = `frictionless-${VERSION}-${tag}-${process.platform}-${process.arch}`;
    const folder = join(cacheRoot(env), name);
    await withLock(`${folder}.lock`, { signal }, async () => {
      if ((await stat(folder).catch(() => null)) !== null) return;
      process.stderr.write(`Frictionless ${VERSION}: installing with pip\n`);
      const unfinished = `${folder}.unfinished`;
      await rm(unfinished, { recursive: true, force: true });
      await mkdir(unfinished, { recursive: true });
      const quiet = ['--quiet', '--disable-pip-version-check', '--no-input'];
      const what = ['--constraint', CONSTRAINTS, `frictionless==${VERSION}`];
      await python('-m', 'pip', 'install', ...quiet, '--target', unfinished, ...what);
      await rename(unfinished, folder);
    });
    return { folder };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      problem: `The Frictionless validator cannot be installed; it needs python3 (3.10 or newer) with pip, and the index that pip uses: ${why}`,
    };
  }
}

/** What the validator says of one data package. */
export interface PackageReport {
  readonly path: string;
  /** How many it has read. */
  readonly resources: number;
  readonly errors: readonly { readonly type: string; readonly message: string }[];
}

/** Validates data packages. @param paths of their `_datapackage.json` @throws Error where the validator is not there */
export async function validatePackages(
  frictionless: Frictionless,
  paths: readonly string[],
): Promise<PackageReport[]> {
  if ('problem' in frictionless) throw new Error(frictionless.problem);
  const env = { ...process.env, PYTHONPATH: frictionless.folder, PYTHONNOUSERSITE: '1' };
  const child = spawn('python3', [SCRIPT], { env, stdio: 'pipe' });
  child.stdin.end(paths.map((path) => `${path}\n`).join(''));
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (code !== 0) throw new Error(`the Frictionless validator ended with ${code}: ${err}`);
  return JSON.parse(out) as PackageReport[];
}
