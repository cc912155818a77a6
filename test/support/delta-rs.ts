import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { findPythonPackage, type PythonPackage } from './python-packages.js';

const VERSION = '1.6.6';
const SCRIPT = fileURLToPath(new URL('read-delta.py', import.meta.url));
const REQUIREMENTS = [`deltalake==${VERSION}`, 'arro3-core==0.9.1', 'pyarrow==26.0.1'];

/** delta-rs, an independent implementation of Delta Lake, which reads the tables in tests. */
export function findDeltaRs(): Promise<PythonPackage> {
  return findPythonPackage({
    name: 'deltalake',
    version: VERSION,
    requirements: [...REQUIREMENTS, 'deprecated==1.3.1'],
  });
}

/** A table as delta-rs reads it. */
export interface DeltaTable {
  readonly version: number;
  /** Types of Delta, by name of the column. */
  readonly types: Readonly<Record<string, string>>;
  /** Names of the columns in the table, by their name in the snapshot. */
  readonly names: Readonly<Record<string, string>>;
  /** Values as text, in an exact form; `null` for NULL. */
  readonly rows: readonly Readonly<Record<string, string | null>>[];
  readonly files: readonly string[];
}

/**
 * Reads a table with delta-rs.
 *
 * @param path folder of the table @param version default: the newest
 * @throws Error if delta-rs cannot read it, or is not installed
 */
export async function readDelta(deltaRs: PythonPackage, path: string, version?: number): Promise<DeltaTable> {
  if ('problem' in deltaRs) throw new Error(deltaRs.problem);
  const env = { ...process.env, PYTHONPATH: deltaRs.folder, PYTHONNOUSERSITE: '1' };
  const args = [SCRIPT, path, ...(version === undefined ? [] : [String(version)])];
  const child = spawn('python3', args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (code !== 0) throw new Error(`delta-rs cannot read ${path}: ${err}`);
  return JSON.parse(out) as DeltaTable;
}
