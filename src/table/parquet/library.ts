import { ConfigurationError, errorMessage } from '../../core/errors.js';

/** The command that installs the optional packages in tested versions. */
const INSTALL = 'npm install hyparquet-writer@~0.17.0 hyparquet@~1.31.5';

export interface ParquetLibrary {
  readonly writer: typeof import('hyparquet-writer');
  readonly reader: typeof import('hyparquet');
}

let loaded: Promise<ParquetLibrary> | null = null;

/**
 * Loads the packages that read and write Parquet. Only tables need them, so they are optional.
 *
 * @throws ConfigurationError if they are not installed
 */
export function parquetLibrary(): Promise<ParquetLibrary> {
  loaded ??= load().catch((cause: unknown) => {
    loaded = null;
    const [why] = errorMessage(cause).split('\n');
    throw new ConfigurationError(
      `cannot load the Parquet packages that \`tables.format: delta\` needs: ${why}.`,
      {
        remedy: `Install them next to temporal-worktrack: ${INSTALL}`,
        cause,
      },
    );
  });
  return loaded;
}

async function load(): Promise<ParquetLibrary> {
  const [writer, reader] = await Promise.all([import('hyparquet-writer'), import('hyparquet')]);
  return { writer, reader };
}
