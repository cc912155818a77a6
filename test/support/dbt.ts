import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { findPythonPackage } from './python-packages.js';

const INSTALL_MS = 15 * 60_000;
const COMPARE = fileURLToPath(new URL('compare-history.py', import.meta.url));
const CHECK_ATHENA = fileURLToPath(new URL('check-athena.py', import.meta.url));

// Version 1.12 of dbt-core needs a package that is not in the Python Package Index itself.
const DBT_CORE = 'dbt-core==1.11.16';

/** The newest adapters, with the newest DuckDB, and a parser of Athena's SQL. */
const PACKAGES = {
  duckdb: { version: '1.11.1', requirements: ['dbt-duckdb==1.11.1', 'duckdb==2.0.1', DBT_CORE] },
  athena: { version: '1.11.1', requirements: ['dbt-athena==1.11.1', 'sqlglot==30.30.0', DBT_CORE] },
} as const;

const RUN = `import sys
from dbt.cli.main import dbtRunner
dbt = dbtRunner()
sys.exit(0 if all(dbt.invoke(command.split()).success for command in sys.argv[1:]) else 1)
`;

/** dbt with one adapter, installed in the cache. */
export interface Dbt {
  /** Runs dbt commands in a project, in one process, until one fails. */
  run(project: string, commands: readonly string[]): Promise<DbtResult>;
  /** Runs a Python program with the same packages. @throws Error with its output if it fails */
  python(args: readonly string[], options?: PythonOptions): Promise<string>;
}

interface PythonOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
}

export interface DbtResult {
  readonly code: number;
  readonly output: string;
}

/** @param home an empty folder; dbt must not depend on files of the user. @throws Error if pip cannot install it */
export async function installDbt(adapter: keyof typeof PACKAGES, home: string): Promise<Dbt> {
  const { version, requirements } = PACKAGES[adapter];
  const found = await findPythonPackage({
    name: `dbt-${adapter}`,
    version,
    requirements,
    limitMs: INSTALL_MS,
  });
  if ('problem' in found) throw new Error(found.problem);
  const base = {
    ...process.env,
    HOME: home,
    PYTHONPATH: found.folder,
    PYTHONNOUSERSITE: '1',
    TZ: 'Pacific/Auckland',
    NO_COLOR: '1',
    DBT_SEND_ANONYMOUS_USAGE_STATS: 'false',
  };
  const start = async (args: readonly string[], { cwd = home, env = {}, input = '' }: PythonOptions) => {
    const child = spawn('python3', args, { cwd, env: { ...base, ...env }, stdio: 'pipe' });
    child.stdin.end(input);
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    return { out, err, code: code as number };
  };
  return {
    run: async (project, commands) => {
      const { code, out, err } = await start(['-c', RUN, ...commands], { cwd: project });
      return { code, output: `${out}${err}` };
    },
    python: async (args, options = {}) => {
      const { code, out, err } = await start(args, options);
      if (code !== 0) throw new Error(`python3 ${args[0]} ended with ${code}: ${err.slice(-4000)}`);
      return out;
    },
  };
}

/** The snapshot of a run: cells as text, in the order of the header. */
export interface RunSnapshot {
  readonly runId: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
}

export interface HistoryToCompare {
  /** File of the DuckDB database. */
  readonly database: string;
  readonly model: string;
  /** Names of the key columns. */
  readonly key: readonly string[];
  /** Whether snapshots leave deleted rows out. */
  readonly dropsDeleted: boolean;
  readonly runs: readonly RunSnapshot[];
}

export interface Comparison {
  readonly runId: string;
  readonly rows: number;
  readonly cells: number;
  readonly different: readonly string[];
}

/** Compares history models, as of the start of each run, with the snapshot of that run: row by row and cell by cell. */
export async function compareHistories(
  dbt: Dbt,
  histories: readonly HistoryToCompare[],
): Promise<Comparison[][]> {
  return JSON.parse(await dbt.python([COMPARE], { input: JSON.stringify(histories) })) as Comparison[][];
}

export interface AthenaCheck {
  /** Number of compiled queries, which a parser of Athena's SQL has parsed. */
  readonly compiled: number;
  /** The statements that create the sources for dbt, parsed too. */
  readonly sent: readonly string[];
}

/** Compiles a project for Athena and creates its sources, without AWS. @throws Error if a statement is not valid */
export async function checkAthena(dbt: Dbt, project: string): Promise<AthenaCheck> {
  const env = { DBT_ATHENA_STAGING_DIR: 's3://results/staging/', DBT_ATHENA_DATA_DIR: 's3://results/data/' };
  return JSON.parse(await dbt.python([CHECK_ATHENA], { cwd: project, env })) as AthenaCheck;
}
