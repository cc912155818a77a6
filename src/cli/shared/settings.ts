import { loadSettings, selectConnection } from '../../config/index.js';
import type { ConnectionSettings, Settings } from '../../core/settings.js';
import type { GlobalOptions } from './options.js';

/** @throws ConfigurationError */
export function readSettings(options: GlobalOptions): Settings {
  return loadSettings({ file: options.config, env: process.env, cwd: process.cwd() });
}

/** The selected connection. @throws ConfigurationError */
export function readConnection(options: GlobalOptions): ConnectionSettings {
  return selectConnection(readSettings(options), options.connection);
}

/** The named connection, or all of them. @throws ConfigurationError */
export function selectConnections(
  settings: Settings,
  name: string | undefined,
): readonly ConnectionSettings[] {
  return name === undefined ? settings.connections : [selectConnection(settings, name)];
}
