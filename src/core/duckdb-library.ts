import { createRequire } from 'node:module';
import { ConfigurationError, errorMessage } from './errors.js';

export type DuckDbLibrary = typeof import('@duckdb/node-api');

const NAME = '@duckdb/node-api';
/** The command that installs the optional package in a tested version. All its versions are prereleases to npm. */
const INSTALL = `npm install ${NAME}@1.5.5-r.5`;

/**
 * Loads DuckDB. Only queries and tables need it, so it is optional.
 *
 * @param need what needs it, as the subject of a sentence
 * @throws ConfigurationError if it is not installed
 */
export function duckDbLibrary(need: string): DuckDbLibrary {
  // Its files are CommonJS. An import would first parse each for the names of its exports, which takes as long as the rest.
  return orNotInstalled(need, () => createRequire(import.meta.url)(NAME) as DuckDbLibrary);
}

/** Functions of `@duckdb/node-bindings`, a dependency of the package. */
export interface DuckDbBindings {
  library_version(): string;
  create_config(): unknown;
  set_config(config: unknown, name: string, value: string): void;
  open(path: string, config: unknown): Promise<unknown>;
  connect(database: unknown): Promise<unknown>;
  query(connection: unknown, sql: string): Promise<unknown>;
  rows_changed(result: unknown): number;
  fetch_chunk(result: unknown): Promise<unknown>;
  data_chunk_get_size(chunk: unknown): number;
  data_chunk_get_column_count(chunk: unknown): number;
  data_chunk_get_vector(chunk: unknown, at: number): unknown;
  vector_get_data(vector: unknown, bytes: number): Uint8Array;
  vector_get_validity(vector: unknown, bytes: number): Uint8Array | null;
  get_data_from_pointer(buffer: ArrayBufferLike, offset: number, bytes: number): Uint8Array;
}

/** Loads the functions without the package's classes, which take longer to load than all else. @throws as `duckDbLibrary` */
export function duckDbBindings(need: string): DuckDbBindings {
  return orNotInstalled(need, () => {
    const { resolve } = createRequire(import.meta.url);
    return createRequire(resolve(NAME))('@duckdb/node-bindings') as DuckDbBindings;
  });
}

/**
 * Checks that DuckDB is installed, for a process that leaves its use to another one.
 *
 * @param need as above
 * @throws ConfigurationError if it is not installed
 */
export function requireDuckDb(need: string): void {
  orNotInstalled(need, () => createRequire(import.meta.url).resolve(NAME));
}

function orNotInstalled<T>(need: string, load: () => T): T {
  try {
    return load();
  } catch (cause) {
    throw duckDbMissing(need, errorMessage(cause), cause);
  }
}

/** The error for a DuckDB that cannot be loaded. @param reason its first line is shown */
export function duckDbMissing(need: string, reason: string, cause?: unknown): ConfigurationError {
  const [why] = reason.split('\n');
  return new ConfigurationError(`${need} needs DuckDB, which cannot be loaded: ${why}.`, {
    remedy: `Install it next to temporal-worktrack: ${INSTALL}`,
    cause,
  });
}
