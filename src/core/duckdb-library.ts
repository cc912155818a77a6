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
