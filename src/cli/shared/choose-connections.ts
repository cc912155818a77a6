import { loadSettings, selectConnection } from '../../config/index.js';
import { ConfigurationError } from '../../core/errors.js';
import type { ConnectionSettings, Settings } from '../../core/settings.js';
import type { GlobalOptions, SeveralOptions } from './command-options.js';
import { UsageError } from './usage-error.js';

/** @throws ConfigurationError */
export function readSettings(options: GlobalOptions): Settings {
  return loadSettings({ file: options.config, env: process.env, cwd: process.cwd() });
}

/** The selected connection. @throws ConfigurationError */
export function readConnection(options: GlobalOptions): ConnectionSettings {
  return selectConnection(readSettings(options), options.connection);
}

/** The named connections, by default all of them. @throws ConfigurationError; UsageError */
export function selectConnections(
  settings: Settings,
  { all, connections = [] }: SeveralOptions,
): readonly ConnectionSettings[] {
  return chooseConnections(settings, { connections, all: all ?? connections.length === 0 });
}

/**
 * The connections of a command that takes `--all` and several `--connection`, in the order of the file.
 *
 * @throws ConfigurationError; UsageError for both options
 */
export function chooseConnections(
  settings: Settings,
  { all = false, connections = [] }: SeveralOptions,
): readonly ConnectionSettings[] {
  if (all && connections.length > 0)
    throw new UsageError('use either --all or --connection, because --all includes every connection');
  if (all) return settings.connections;
  const [only] = settings.connections;
  if (connections.length === 0 && settings.connections.length > 1)
    throw new ConfigurationError(
      `${settings.source} has ${settings.connections.length} connections, such as ${only?.name}`,
      { path: 'connections', remedy: 'Choose some with --connection, or all with --all.' },
    );
  if (connections.length === 0) return [selectConnection(settings)];
  const chosen = new Set(connections.map((name) => selectConnection(settings, name)));
  return settings.connections.filter((connection) => chosen.has(connection));
}
