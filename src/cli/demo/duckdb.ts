import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { cacheRoot, findExecutable, pathFolders, runCommand } from '../../servers/index.js';

const PACKAGE = '@duckdb/node-api';
/** The version that this package is tested with. */
const VERSION = '1.5.5-r.5';
const INSTALL_MS = 90_000;
/** A query of the demo takes less than a second. */
const COMMAND_MS = 30_000;

type Row = Readonly<Record<string, unknown>>;

/** A DuckDB that answers queries. */
export interface Duckdb {
  /** For example `DuckDB 1.5.5`. */
  readonly name: string;
  query(sql: string): Promise<readonly Row[]>;
}

/** The part of `@duckdb/node-api` that the demo uses. */
interface NodeApi {
  version(): string;
  readonly DuckDBInstance: {
    create(path: string): Promise<{
      connect(): Promise<{
        runAndReadAll(sql: string): Promise<{ getRowObjectsJson(): Row[] }>;
        closeSync(): void;
      }>;
    }>;
  };
}

/**
 * Finds DuckDB: the command on PATH, or the npm package next to this one, or the npm package in the cache folder, into
 * which it is installed if necessary.
 *
 * @param note shows what takes time
 * @returns the reason if there is none
 */
export async function findDuckdb(
  note: (text: string) => void,
): Promise<Duckdb | { readonly problem: string }> {
  const command = await findExecutable('duckdb', pathFolders(process.env));
  if (command !== null) {
    const found = await fromCommand(command).catch(() => null);
    if (found !== null) return found;
  }
  const folder = join(cacheRoot(process.env), `duckdb-${VERSION}-${process.platform}-${process.arch}`);
  for (const from of [import.meta.url, pathToFileURL(join(folder, 'x.js')).href]) {
    const found = await fromPackage(from).catch(() => null);
    if (found !== null) return found;
  }
  try {
    note('Installing DuckDB from the npm registry, once');
    await install(folder);
    return await fromPackage(pathToFileURL(join(folder, 'x.js')).href);
  } catch {
    return {
      problem: 'npm could not install it. To use it, install the command duckdb (https://duckdb.org).',
    };
  }
}

async function fromCommand(executable: string): Promise<Duckdb> {
  const run = async (...args: string[]): Promise<string> => {
    const running = promisify(execFile)(executable, args, { maxBuffer: 2 ** 26, timeout: COMMAND_MS });
    // Another program of this name may wait for input.
    running.child.stdin?.end();
    return (await running).stdout;
  };
  const version = /^v?(\d+\.\d+\S*)/.exec((await run('--version')).trim())?.[1];
  if (version === undefined) throw new Error(`${executable} is not DuckDB`);
  return {
    name: `DuckDB ${version}`,
    query: async (sql) => JSON.parse((await run('-json', '-c', sql)) || '[]') as Row[],
  };
}

async function fromPackage(from: string): Promise<Duckdb> {
  const file = createRequire(from).resolve(PACKAGE);
  const module = (await import(pathToFileURL(file).href)) as NodeApi & { readonly default?: NodeApi };
  const { DuckDBInstance, version } = module.default ?? module;
  return {
    name: `DuckDB ${version().replace(/^v/, '')}`,
    async query(sql) {
      const connection = await (await DuckDBInstance.create(':memory:')).connect();
      try {
        return (await connection.runAndReadAll(sql)).getRowObjectsJson();
      } finally {
        connection.closeSync();
      }
    },
  };
}

async function install(folder: string): Promise<void> {
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-save', '--fetch-retries=1'];
  const signal = AbortSignal.timeout(INSTALL_MS);
  // `npx` names its own npm, which may not be on PATH.
  const npm = process.env.npm_execpath;
  const own = npm?.endsWith('.js') ? ([process.execPath, [npm]] as const) : (['npm', []] as const);
  await runCommand(own[0], [...own[1], ...args, `${PACKAGE}@${VERSION}`], { env: process.env, signal });
}
