import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../../src/core/home-folder.js';
import { findPythonPackage, type PythonPackage } from './python-packages.js';

const VERSION = '5.21.0';
const CONSTRAINTS = fileURLToPath(new URL('frictionless-constraints.txt', import.meta.url));
const SCRIPT = fileURLToPath(new URL('validate-packages.py', import.meta.url));

/** Where the validator is, or why it is not there. */
export type Frictionless = PythonPackage;

/** Finds or installs the Frictionless validator. */
export function findFrictionless(env?: Environment): Promise<Frictionless> {
  const requirements = ['--constraint', CONSTRAINTS, `frictionless==${VERSION}`];
  return findPythonPackage({ name: 'frictionless', version: VERSION, requirements }, env);
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
