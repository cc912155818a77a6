import type { Environment } from '../../src/core/home-folder.js';
import { runCommand } from '../../src/servers/run-command.js';
import { cachedFolder } from './cached-folder.js';

const INSTALL_MS = 10 * 60_000;

/** The folder of an installed package, or why it is not installed. */
export type PythonPackage = { readonly folder: string } | { readonly problem: string };

export interface PackageToInstall {
  /** Name of the package, for messages and the cache. */
  readonly name: string;
  readonly version: string;
  /** Arguments for pip: requirements and constraints. */
  readonly requirements: readonly string[];
  /** Default: ten minutes. */
  readonly limitMs?: number;
}

/**
 * Finds a Python package in the cache, or installs it there with the pip of `python3`. It goes into a separate folder,
 * which needs neither a virtual environment nor write access to the system's Python. Never throws: only the tests that
 * need the package fail without it.
 */
export async function findPythonPackage(
  { name, version, requirements, limitMs = INSTALL_MS }: PackageToInstall,
  env: Environment = process.env,
): Promise<PythonPackage> {
  const signal = AbortSignal.timeout(limitMs);
  const python = (...args: string[]) => runCommand('python3', args, { env, signal });
  try {
    const which = 'import sys; print("%s%d.%d" % (sys.implementation.name, *sys.version_info[:2]))';
    const tag = (await python('-c', which)).trim();
    const folder = await cachedFolder(
      { name: `${name}-${version}-${tag}-${process.platform}-${process.arch}`, env, signal },
      async (unfinished) => {
        const quiet = ['--quiet', '--disable-pip-version-check', '--no-input'];
        await python('-m', 'pip', 'install', ...quiet, '--target', unfinished, ...requirements);
      },
    );
    return { folder };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      problem: `The Python package ${name} cannot be installed; it needs python3 (3.10 or newer) with pip, and the index that pip uses: ${why}`,
    };
  }
}
