import type { ConnectionSettings } from '../../core/settings.js';
import { startExport } from '../../temporal/client/start.js';
import { printResult } from '../runs/result-lines.js';
import { startAndFollow } from '../runs/start-and-follow.js';
import type { ExitCode } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';

/**
 * Lets the mirror of a resource read an increment, and follows it to its end, so that the published snapshot shows the service as it
 * is now.
 *
 * @returns the exit code if nothing was published, after the failure is printed; otherwise `null`
 */
export async function readIncrement(
  connection: ConnectionSettings,
  resource: string,
  options: GlobalOptions,
): Promise<ExitCode | null> {
  const run = { what: 'export', options, resources: [resource] } as const;
  const input = { connection: connection.name, resources: [resource] };
  const result = await startAndFollow(
    { ...run, start: (temporal, _, startOptions) => startExport(temporal, input, startOptions) },
    connection,
  );
  return result.outcome === 'published' ? null : printResult(result, run, connection);
}
