import type { ConnectionSettings } from '../../core/settings.js';
import { startExport } from '../../temporal/client/start.js';
import { printResult } from '../runs/result-lines.js';
import { type RunCommand, runOnConnections } from '../runs/start-and-follow.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
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
  const input = { connection: connection.name, resources: [resource] };
  const start: RunCommand['start'] = (temporal, _, startOptions) =>
    startExport(temporal, input, startOptions);
  const print: RunCommand['print'] = (result, run, of) =>
    result.outcome === 'published' ? EXIT.done : printResult(result, run, of);
  const run: RunCommand = { what: 'export', options, resources: [resource], start, print };
  const code = await runOnConnections(run, [connection]);
  return code === EXIT.done ? null : code;
}
