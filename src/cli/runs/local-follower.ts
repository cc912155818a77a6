import type { ExportInput } from '../../core/contract/index.js';
import type { ConnectionSettings, Settings } from '../../core/settings.js';
import type { GlobalOptions } from '../shared/command-options.js';
import type { RunCommand } from './start-and-follow.js';

/** Runs an export or an audit with a Temporal server and a worker in this process (`--local`). */
export function localFollower(
  options: GlobalOptions,
  settings: Settings,
  inputOf: (connection: ConnectionSettings) => ExportInput,
): NonNullable<RunCommand['follower']> {
  return async (connection) => {
    const { runLocalExport } = await import('./local-export.js');
    return runLocalExport(options, settings, connection, inputOf(connection));
  };
}
