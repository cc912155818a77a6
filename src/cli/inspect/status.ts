import type { ConnectionSettings } from '../../core/settings.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { nextScheduled } from '../../temporal/schedule/schedule.js';
import { type ResourceStatus, readStatus } from '../../temporal/status/status.js';
import { tryTemporal } from '../shared/context.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { withLake } from '../shared/open-lake.js';
import type { GlobalOptions } from '../shared/options.js';
import { output, printJson } from '../shared/output.js';
import { readSettings, selectConnections } from '../shared/settings.js';
import { type ConnectionStatus, statusJson, statusLines } from './status-lines.js';

/** `worktrack status`: the state of each mirror, or of `latest.json` if the mirror does not answer. */
export async function runStatus(options: GlobalOptions & { readonly json?: boolean }): Promise<ExitCode> {
  const settings = readSettings(options);
  const chosen = selectConnections(settings, options.connection);
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
  return withLake(connection, ({ store, retry }) => retry(() => readStatus(temporal, connection, store)));
}
