import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
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

/** A process that reads tables in turn (read-delta.py). It ends with this one. */
interface Reader {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Those that wait for an answer, in the order of their lines. */
  readonly waiting: ((answer: Answer) => void)[];
}

type Answer = { readonly table: DeltaTable } | { readonly error: string };

let reader: Reader | null = null;

function startReader(folder: string): Reader {
  const env = { ...process.env, PYTHONPATH: folder, PYTHONNOUSERSITE: '1' };
  const child = spawn('python3', [SCRIPT], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const waiting: Reader['waiting'] = [];
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += String(chunk);
  });
  createInterface({ input: child.stdout }).on('line', (line) =>
    waiting.shift()?.(JSON.parse(line) as Answer),
  );
  child.once('close', () => {
    reader = null;
    for (const answer of waiting.splice(0)) answer({ error: said });
  });
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as unknown as Socket).unref();
  return { child, waiting };
}

/**
 * Reads a table with delta-rs.
 *
 * @param path folder of the table @param version default: the newest
 * @throws Error if delta-rs cannot read it, or is not installed
 */
export async function readDelta(deltaRs: PythonPackage, path: string, version?: number): Promise<DeltaTable> {
  if ('problem' in deltaRs) throw new Error(deltaRs.problem);
  reader ??= startReader(deltaRs.folder);
  const { child, waiting } = reader;
  const answer = await new Promise<Answer>((resolve) => {
    waiting.push(resolve);
    child.stdin.write(`${JSON.stringify([path, version ?? null])}\n`);
  });
  if ('error' in answer) throw new Error(`delta-rs cannot read ${path}: ${answer.error}`);
  return answer.table;
}
