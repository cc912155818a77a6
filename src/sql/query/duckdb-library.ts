import { ConfigurationError, errorMessage } from '../../core/errors.js';

export type DuckDbLibrary = typeof import('@duckdb/node-api');

/** The command that installs the optional package in a tested version. All its versions are prereleases to npm. */
const INSTALL = 'npm install @duckdb/node-api@1.5.5-r.5';

/**
 * Loads DuckDB. Only queries need it, so it is optional.
 *
 * @throws ConfigurationError if it is not installed
 */
export async function duckDbLibrary(): Promise<DuckDbLibrary> {
  try {
    return await import('@duckdb/node-api');
  } catch (cause) {
    const [why] = errorMessage(cause).split('\n');
    throw new ConfigurationError(`query needs DuckDB, which cannot be loaded: ${why}.`, {
      remedy: `Install it next to temporal-worktrack: ${INSTALL}`,
      cause,
    });
  }
}
