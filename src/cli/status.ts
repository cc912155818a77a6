import type { ConnectionSettings } from '../core/settings.js';
import type { TemporalClient } from '../temporal/connect.js';
import { OutOfReachError } from '../temporal/reach.js';
import { type ResourceStatus, readStatus } from '../temporal/status.js';
import { chosenConnections, openTemporal, readSettings } from './context.js';
import { EXIT, type ExitCode } from './exit-code.js';
import { withLake } from './lake.js';
import { type GlobalOptions, reachTimeoutMs } from './options.js';
import { output, printJson } from './output.js';
import { type ConnectionStatus, statusJson, statusLines } from './status-lines.js';

/** Temporal gets so long: what the lake says is worth more than a long wait. */
const TEMPORAL_MS = 4_000;

/** `worktrack status`: what each mirror says of itself, or `latest.json` where none answers. */
export async function runStatus(options: GlobalOptions & { readonly json?: boolean }): Promise<ExitCode> {
  const settings = readSettings(options);
  const chosen = chosenConnections(settings, options.connection);
  const temporal = await tryTemporal(options);
  try {
    const connections: ConnectionStatus[] = [];
    for (const connection of chosen) {
      connections.push({ name: connection.name, resources: await statusOf(temporal, connection) });
    }
    if (options.json === true) printJson(statusJson(connections));
    else for (const line of statusLines(connections, Date.now())) output.out(line);
    return EXIT.done;
  } finally {
    await temporal?.close();
  }
}

async function tryTemporal(options: GlobalOptions): Promise<TemporalClient | null> {
  try {
    return await openTemporal(options, Math.min(TEMPORAL_MS, reachTimeoutMs(process.env)), () => {});
  } catch (error) {
    if (!(error instanceof OutOfReachError)) throw error;
    output.note(`${error.message}. Showing latest.json.`);
    return null;
  }
}

function statusOf(
  temporal: TemporalClient | null,
  connection: ConnectionSettings,
): Promise<ResourceStatus[]> {
  return withLake(connection, ({ store, reached }) => reached(() => readStatus(temporal, connection, store)));
}
