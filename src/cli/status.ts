import type { ConnectionSettings } from '../core/settings.js';
import type { TemporalClient } from '../temporal/connect.js';
import { nextScheduled } from '../temporal/schedule.js';
import { type ResourceStatus, readStatus } from '../temporal/status.js';
import { chosenConnections, readSettings, tryTemporal } from './context.js';
import { EXIT, type ExitCode } from './exit-code.js';
import { withLake } from './lake.js';
import type { GlobalOptions } from './options.js';
import { output, printJson } from './output.js';
import { type ConnectionStatus, statusJson, statusLines } from './status-lines.js';

/** `worktrack status`: what each mirror says of itself, or `latest.json` where none answers. */
export async function runStatus(options: GlobalOptions & { readonly json?: boolean }): Promise<ExitCode> {
  const settings = readSettings(options);
  const chosen = chosenConnections(settings, options.connection);
  const temporal = await tryTemporal(options, 'Showing latest.json.');
  try {
    const connections: ConnectionStatus[] = [];
    for (const connection of chosen) {
      const [resources, schedule] = await Promise.all([
        statusOf(temporal, connection),
        temporal === null ? null : nextScheduled(temporal, connection.name),
      ]);
      connections.push({ name: connection.name, resources, schedule });
    }
    if (options.json === true) printJson(statusJson(connections));
    else for (const line of statusLines(connections, Date.now())) output.out(line);
    return EXIT.done;
  } finally {
    await temporal?.close();
  }
}

function statusOf(
  temporal: TemporalClient | null,
  connection: ConnectionSettings,
): Promise<ResourceStatus[]> {
  return withLake(connection, ({ store, reached }) => reached(() => readStatus(temporal, connection, store)));
}
