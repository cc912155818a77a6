import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  DuckDBConnection,
  DuckDBInstance,
  DuckDBPreparedStatement,
  DuckDBResult,
} from '@duckdb/node-api';
import type { RunId } from '../../core/brands.js';
import { type DuckDbLibrary, duckDbLibrary } from '../../core/duckdb-library.js';
import { ConfigurationError, errorMessage } from '../../core/errors.js';
import { namedCache } from '../../core/home-folder.js';
import type { ConnectionSettings, ResourceSettings } from '../../core/settings.js';
import { viewName } from '../../core/view-name.js';
import { type Manifest, readManifest } from '../../lake/documents/manifest.js';
import { readPublishedIds } from '../../lake/published/chain.js';
import {
  type PublishedSnapshot,
  readPublished,
  readPublishedOn,
  readPublishedRun,
  SnapshotNotFoundError,
} from '../../lake/published/read-published.js';
import { listRuns } from '../../lake/published/run-folders.js';
import { type ObjectStore, openStore } from '../../lake/store/index.js';
import { duckdb } from '../ddl/duckdb-views.js';
import { type TableSource, viewStatements } from '../ddl/engine-views.js';
import { sqlName, sqlString } from '../ddl/names-and-quotes.js';
import { OPERATIONS } from '../ddl/operations.js';
import { logSource, publishedResource, runSource } from '../ddl/published-sources.js';
import { QueryError } from './errors.js';
import { fetchOperations, type OperationView } from './operation-files.js';
import { PartCache, type WantedPart } from './part-cache.js';
import { type QueryValue, toQueryValue, toText } from './query-value.js';
import { listsViews, mentionedViews, type ReadingStatement, readingStatement } from './reading-statement.js';

/** Which snapshots a query reads. Default: the current ones. */
export interface QueryOptions {
  /** The last published run of this day, such as `2026-11-21`. */
  readonly dt?: string | undefined;
  /** This published run. */
  readonly run?: RunId | undefined;
  /** Folder for fetched parts. Default: below the cache folder of this user. */
  readonly cacheFolder?: string | undefined;
  /** Called before parts are fetched. */
  readonly onFetch?:
    | ((needed: { readonly parts: number; readonly bytes: number; readonly folder: string }) => void)
    | undefined;
  /** Repeats a first request to a lake that does not answer. Default: no repetition. */
  readonly retry?: (<T>(attempt: () => Promise<T>) => Promise<T>) | undefined;
}

export interface QueryColumn {
  readonly name: string;
  /** DuckDB's type, such as `DECIMAL(18,2)`. */
  readonly type: string;
}

/** The rows of a statement. Iterate one of them once, or call `close`. */
export interface QueryResult {
  readonly columns: readonly QueryColumn[];
  /** The run whose snapshot each resource in the statement shows. */
  readonly runs: Readonly<Record<string, RunId>>;
  /** The rows as values. */
  rows(): AsyncGenerator<QueryValue[]>;
  /** The rows as text: every digit of a number, and `null` for NULL. */
  texts(): AsyncGenerator<(string | null)[]>;
  /** Writes the rows to a Parquet file, whose types are those of `columns`. @param path on this machine */
  writeParquet(path: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Answers a statement over the published snapshots of a connection, with DuckDB. The views are those of `ddl`: `time_entries`,
 * `time_entries_text`, and `time_entries_changes` for the change logs. It only reads: DuckDB never sees the lake, but verified copies of
 * the parts, and accepts one SELECT, or EXPLAIN without options.
 *
 * @throws QueryError for any other statement, or one that fails; SnapshotNotFoundError; ConfigurationError if DuckDB is not installed
 * @example
 * const acme = selectConnection(loadSettings({ env: process.env, cwd: process.cwd() }));
 * const result = await queryLake(acme, 'SELECT id, title FROM tasks WHERE _deleted_at IS NULL');
 * for await (const [id, title] of result.rows()) console.log(id, title);
 */
export async function queryLake(
  connection: ConnectionSettings,
  sql: string,
  options: QueryOptions = {},
): Promise<QueryResult> {
  const statement = readingStatement(sql);
  const library = duckDbLibrary('query');
  const engine = await openEngine(library, statement);
  const store = openStore(connection.lake);
  const cache = new PartCache(options.cacheFolder ?? defaultCache());
  const session = await cache.openSession();
  const clear = async (): Promise<void> => {
    engine.close();
    await rm(session, { recursive: true, force: true });
  };
  try {
    const sources = await readSources(connection, store, statement, options);
    await provideParts(store, cache, session, { sources, options });
    const operations = await fetchOperations(connection, store, {
      session,
      ...operationsIn(connection, statement),
    });
    await defineViews(engine.connection, session, {
      sources: sources.map(({ source }) => source),
      operations,
    });
    const runs = Object.fromEntries(sources.map(({ snapshot }) => [snapshot.resource, snapshot.runId]));
    return await startStatement(library, engine, { statement, session, runs, clear });
  } catch (error) {
    await clear();
    throw orUnknownView(error, connection);
  } finally {
    store.close();
    await cache.prune().catch(() => {});
  }
}

function defaultCache(): string {
  const cache = namedCache(process.env);
  if (cache !== null) return join(cache, 'query');
  throw new ConfigurationError('there is no folder for the parts of a query.', {
    remedy: 'Set WORKTRACK_CACHE to a folder that this user can write.',
  });
}

/** A source of rows, and the parts that hold them. */
interface LocalSource {
  readonly source: TableSource & { files: string[] };
  readonly snapshot: PublishedSnapshot;
  readonly parts: Manifest['parts'];
}

/** What the views in the statement read. Views that the statement does not name do not exist for it. */
async function readSources(
  connection: ConnectionSettings,
  store: ObjectStore,
  { sql }: ReadingStatement,
  options: QueryOptions,
): Promise<LocalSource[]> {
  const views = connection.resources.flatMap((resource) => {
    const name = viewName(resource.name);
    return (['run', 'log'] as const).map((shape) => {
      const view = shape === 'run' ? name : `${name}_changes`;
      return { resource, shape, names: [view, `${view}_text`] };
    });
  });
  const mentioned = new Set(
    mentionedViews(
      sql,
      views.flatMap(({ names }) => names),
    ),
  );
  const sources: LocalSource[] = [];
  const isList = listsViews(sql);
  for (const { resource, shape, names } of views) {
    const isNamed = names.some((name) => mentioned.has(name));
    if (!isNamed && !isList) continue;
    // Only a list: what has no such snapshot is not in it.
    if (!isNamed && shape === 'log' && (options.dt ?? options.run) !== undefined) continue;
    const snapshot = await snapshotOf(store, resource, options).catch((error: unknown) => {
      if (!isNamed && error instanceof SnapshotNotFoundError) return null;
      throw error;
    });
    if (snapshot === null) continue;
    const input = { lake: connection.lake, ...publishedResource(resource, snapshot) };
    const about = { name: viewName(resource.name), about: `${resource.name} as of run ${snapshot.runId}` };
    const source = shape === 'run' ? runSource(input, about, snapshot) : logSource(input, 'log');
    const parts = shape === 'run' ? snapshot.manifest.parts : await changeParts(store, snapshot, options);
    sources.push({ source: { ...source, files: [] }, snapshot, parts });
  }
  return sources;
}

/** The views of operations that the statement may read. A resource's own view has its name first. */
function operationsIn({ resources }: ConnectionSettings, { sql }: ReadingStatement) {
  const taken = new Set(resources.map(({ name }) => viewName(name)));
  const read: ReadonlySet<string> = new Set(mentionedViews(sql, OPERATIONS));
  const wanted = OPERATIONS.filter((name) => !taken.has(name) && (read.has(name) || listsViews(sql)));
  return { wanted, read };
}

async function snapshotOf(
  store: ObjectStore,
  { name }: ResourceSettings,
  { dt, run, retry = (attempt) => attempt() }: QueryOptions,
): Promise<PublishedSnapshot> {
  const current = await retry(() => readPublished(store, name));
  if (run !== undefined) return readPublishedRun(store, current, run);
  return dt === undefined ? current : readPublishedOn(store, current, dt);
}

/** The parts of the change logs of the published runs, oldest first. */
async function changeParts(
  store: ObjectStore,
  { resource, pointer }: PublishedSnapshot,
  { dt, run }: QueryOptions,
): Promise<Manifest['parts']> {
  if (dt !== undefined || run !== undefined)
    throw new QueryError(
      `${viewName(resource)}_changes has the changes of all runs. Leave out --dt and --run.`,
    );
  const { runs } = await readPublishedIds(store, pointer);
  const logs = [...(await listRuns(store, resource, 'changes'))].filter(([runId]) => runs.has(runId)).sort();
  const manifests = await Promise.all(logs.map(([, key]) => readManifest(store, key)));
  return manifests.flatMap((manifest) => manifest?.parts ?? []);
}

async function provideParts(
  store: ObjectStore,
  cache: PartCache,
  session: string,
  { sources, options }: { readonly sources: readonly LocalSource[]; readonly options: QueryOptions },
): Promise<void> {
  const wanted = sources.map(({ source, parts }) =>
    parts.map((part, at): WantedPart => {
      const extension = part.key.endsWith('.gz') ? '.csv.gz' : '.csv';
      return { part, name: `${source.name}-${String(at).padStart(5, '0')}${extension}` };
    }),
  );
  const missing = await cache.missing(wanted.flat());
  const bytes = missing.reduce((sum, { part }) => sum + part.bytes, 0);
  if (missing.length > 0) options.onFetch?.({ parts: missing.length, bytes, folder: cache.folder });
  const paths = await cache.provide(store, session, { wanted: wanted.flat(), missing });
  for (const { source, parts } of sources) source.files.push(...paths.splice(0, parts.length));
}

interface Engine {
  readonly connection: DuckDBConnection;
  close(): void;
}

/** Memory of DuckDB; above it, DuckDB spills to the session's folder. */
const MEMORY_LIMIT = '1GiB';

/** What DuckDB may not do. It is set before any statement, and locked before the one of the user. */
const OFF = [
  'autoinstall_known_extensions',
  'autoload_known_extensions',
  'allow_community_extensions',
  'allow_persistent_secrets',
] as const;

/** Opens DuckDB, and refuses what its parser does not take for one statement, before anything is fetched. */
async function openEngine(
  { DuckDBInstance: Instance }: DuckDbLibrary,
  { sql }: ReadingStatement,
): Promise<Engine> {
  const options = Object.fromEntries(OFF.map((option) => [option, 'false']));
  const instance: DuckDBInstance = await Instance.create(':memory:', {
    ...options,
    memory_limit: MEMORY_LIMIT,
  });
  const connection = await instance.connect();
  const engine = {
    connection,
    close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
  try {
    const { count } = await orQueryError(() => connection.extractStatements(sql));
    if (count !== 1) throw new QueryError(`query runs one statement at a time, and these are ${count}.`);
    return engine;
  } catch (error) {
    engine.close();
    throw error;
  }
}

/** Makes the views, and then locks the session: the statement of the user sees the folder of its parts only. */
async function defineViews(
  connection: DuckDBConnection,
  session: string,
  {
    sources,
    operations,
  }: { readonly sources: readonly TableSource[]; readonly operations: readonly OperationView[] },
): Promise<void> {
  await connection.run(`SET temp_directory = ${sqlString(join(session, 'spilled'))}`);
  for (const source of sources) {
    for (const { sql } of viewStatements(duckdb, source, 'views').filter(({ kind }) => kind === 'define'))
      await connection.run(sql);
  }
  for (const { name, query } of operations) await connection.run(`CREATE VIEW ${name} AS\n${query}`);
  await connection.run(`SET allowed_directories = [${sqlString(session)}]`);
  await connection.run('SET enable_external_access = false');
  await connection.run('SET lock_configuration = true');
}

async function prepareReading(
  { StatementType }: DuckDbLibrary,
  connection: DuckDBConnection,
  { sql, explained }: ReadingStatement,
): Promise<DuckDBPreparedStatement> {
  const prepare = (text: string) =>
    orQueryError(async () => (await connection.extractStatements(text)).prepare(0));
  const reads = await prepare(explained ?? sql);
  if (reads.statementType !== StatementType.SELECT)
    throw new QueryError(
      'query only reads, so it refuses this statement. Use SELECT, or EXPLAIN without options.',
    );
  return explained === null ? reads : prepare(sql);
}

async function startStatement(
  library: DuckDbLibrary,
  { connection }: Engine,
  of: {
    readonly statement: ReadingStatement;
    readonly session: string;
    readonly runs: QueryResult['runs'];
    readonly clear: () => Promise<void>;
  },
): Promise<QueryResult> {
  const { statement, session, runs, clear: close } = of;
  const prepared = await prepareReading(library, connection, statement);
  const result: DuckDBResult = await orQueryError(() => prepared.stream());
  const types = result.columnTypes();
  async function* converted<T>(convert: typeof toText | typeof toQueryValue): AsyncGenerator<T[]> {
    try {
      for (;;) {
        const chunk = await orQueryError(() => result.fetchChunk());
        if (chunk === null || chunk.rowCount === 0) return;
        for (const row of chunk.getRows()) yield row.map((value, at) => convert(value, types[at]!) as T);
      }
    } finally {
      await close();
    }
  }
  const columns = result.deduplicatedColumnNames().map((name, at) => ({ name, type: String(types[at]) }));
  return {
    columns,
    runs,
    rows: () => converted<QueryValue>(toQueryValue),
    texts: () => converted<string | null>(toText),
    async writeParquet(path) {
      if (statement.explained !== null)
        throw new QueryError('A plan cannot be written to a Parquet file. Leave out EXPLAIN or --output.');
      const own = join(session, 'result.parquet');
      // DuckDB takes the statement as a text, with whatever stands behind its semicolon.
      const body = exactInParquet(columns, `FROM query(${sqlString(statement.sql)})`);
      await orQueryError(() =>
        connection.run(`COPY (\n${body}\n) TO ${sqlString(own)} (FORMAT parquet, COMPRESSION zstd)`),
      );
      await copyFile(own, path);
      await close();
    },
    close,
  };
}

/** Types that DuckDB writes to Parquet as floating-point numbers, without a word (1.5.5); names of fields are in quotation marks. */
const ROUNDED = /"[^"]*"|\bU?HUGEINT\b|\bBIGNUM\b/g;

/** A query for the same rows whose numbers Parquet holds exactly. A number of 39 digits fails. */
function exactInParquet(columns: readonly QueryColumn[], body: string): string {
  const exact = columns.map(({ type }) =>
    type.replace(ROUNDED, (found) => (found.startsWith('"') ? found : 'DECIMAL(38,0)')),
  );
  if (exact.every((type, at) => type === columns[at]!.type)) return body;
  const list = columns.map(({ name, type }, at) => {
    const column = `#${at + 1}`;
    return `${exact[at] === type ? column : `CAST(${column} AS ${exact[at]})`} AS ${sqlName(name)}`;
  });
  return `SELECT ${list.join(', ')} FROM (\n${body}\n)`;
}

/** DuckDB's errors are about the statement. Their first paragraph says what is wrong. */
async function orQueryError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof QueryError) throw cause;
    const [message = ''] = errorMessage(cause).replace('Failed to extract statements: ', '').split('\n\n');
    const lines = message.split('\n').map((line) => line.trim());
    throw new QueryError(lines.filter((line) => line !== '').join(' '), { cause });
  }
}

/** DuckDB does not know the views that a statement does not name, so it proposes an internal table. */
function orUnknownView(error: unknown, { resources }: ConnectionSettings): unknown {
  if (!(error instanceof QueryError)) return error;
  const [, name] = /^Catalog Error: Table with name (.+?) does not exist!/.exec(error.message) ?? [];
  if (name === undefined) return error;
  const views = resources.map((resource) => viewName(resource.name)).join(', ');
  return new QueryError(`there is no view ${name}.`, {
    remedy: `The views are ${views}; each of them with _changes; and ${OPERATIONS.join(', ')}.`,
    cause: error,
  });
}
