import { createRequire } from 'node:module';
import { ConfigurationError, errorMessage } from '../../core/errors.js';

export type DuckDbLibrary = typeof import('@duckdb/node-api');

/** The command that installs the optional package in a tested version. All its versions are prereleases to npm. */
const INSTALL = 'npm install @duckdb/node-api@1.5.5-r.5';

/**
 * Loads DuckDB. Only queries need it, so it is optional.
 *
 * @throws ConfigurationError if it is not installed
 */
export function duckDbLibrary(): DuckDbLibrary {
  try {
    // Its files are CommonJS. An import would first parse each for the names of its exports, which takes as long as the rest.
    return createRequire(import.meta.url)('@duckdb/node-api') as DuckDbLibrary;
  } catch (cause) {
    const [why] = errorMessage(cause).split('\n');
    throw new ConfigurationError(`query needs DuckDB, which cannot be loaded: ${why}.`, {
      remedy: `Install it next to temporal-worktrack: ${INSTALL}`,
      cause,
    });
  }
}
