import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Dialect } from '../../src/lake/ddl/ddl.js';
import { findPythonPackage } from '../support/python-packages.js';

const SCRIPT = fileURLToPath(new URL('read.py', import.meta.url));
const INSTALL_MS = 15 * 60_000;

/** A query engine from the Python Package Index. */
export interface PythonEngine {
  readonly dialect: Dialect;
  readonly name: string;
  readonly version: string;
}

export const ENGINES: readonly PythonEngine[] = [
  { dialect: 'duckdb', name: 'duckdb', version: '1.2.2' },
  { dialect: 'duckdb', name: 'duckdb', version: '1.5.5' },
  { dialect: 'duckdb', name: 'duckdb', version: '2.0.0' },
  { dialect: 'clickhouse', name: 'chdb', version: '4.4.0' },
  { dialect: 'spark', name: 'pyspark', version: '3.5.9' },
  { dialect: 'spark', name: 'pyspark', version: '4.3.0' },
];

export interface ViewToRead {
  readonly name: string;
  /** Quoted names. */
  readonly columns: readonly string[];
}

export interface ReadView {
  readonly view: string;
  readonly rows: (string | null)[][];
}

/** Installs an engine in the cache, unless it is there. @returns the folder with its packages */
async function install({ name, version }: PythonEngine): Promise<string> {
  const requirements = [`${name}==${version}`];
  const found = await findPythonPackage({
    name: `engine-${name}`,
    version,
    requirements,
    limitMs: INSTALL_MS,
  });
  if ('problem' in found) throw new Error(found.problem);
  return found.folder;
}

/** Runs statements in an engine and reads views, each cell cast to text. @throws Error with the engine's output */
export async function readViews(
  engine: PythonEngine,
  statements: readonly string[],
  views: readonly ViewToRead[],
): Promise<ReadView[]> {
  const env = { ...process.env, PYTHONPATH: await install(engine), PYTHONNOUSERSITE: '1', TZ: 'UTC' };
  const child = spawn('python3', [SCRIPT], { env, stdio: 'pipe' });
  child.stdin.end(JSON.stringify({ engine: engine.dialect, statements, views }));
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (code !== 0) throw new Error(`${engine.name} ${engine.version} ended with ${code}: ${err.slice(-4000)}`);
  return out
    .split('\n')
    .filter((line) => line.startsWith('{"view"'))
    .map((line) => JSON.parse(line) as ReadView);
}
