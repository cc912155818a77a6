import { selectResources } from '../../config/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { pointerKey } from '../../lake/published/layout.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { type LoggedRun, readRunLog } from '../../temporal/status/run-log.js';
import { printEnded } from '../shared/connection-lines.js';
import { tryTemporal } from '../shared/context.js';
import { eachConnection } from '../shared/each-connection.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { withLake } from '../shared/open-lake.js';
import { isSeveral, positive, type SeveralOptions } from '../shared/options.js';
import { output, printJson } from '../shared/output.js';
import { chooseConnections, readSettings } from '../shared/settings.js';
import { historyJson, historyLines } from './history-lines.js';
import { historySummary } from './history-summary.js';

export interface HistoryOptions extends SeveralOptions {
  readonly resource?: readonly string[];
  readonly limit: string;
  readonly json?: boolean;
}

/** The runs of one resource. */
export interface ResourceHistory {
  readonly name: string;
  /** Newest first. */
  readonly runs: readonly LoggedRun[];
}

/** `worktrack history`: the last runs; published ones from the lake, failed and running ones from Temporal. */
export async function runHistory(options: HistoryOptions): Promise<ExitCode> {
  const chosen = chooseConnections(readSettings(options), options);
  const limit = positive('--limit', options.limit);
  const temporal = await tryTemporal(options, 'Showing published runs only.');
  const read = (connection: ConnectionSettings, timeoutMs?: number) =>
    readHistories(temporal, connection, { wanted: options.resource, limit, timeoutMs });
  try {
    if (isSeveral(options))
      return printEnded(await eachConnection(chosen, read), options, {
        summary: (histories) => historySummary(histories, Date.now()),
        json: (histories, { name }) => historyJson(name, histories),
      });
    const [connection] = chosen as [ConnectionSettings];
    const histories = await read(connection);
    if (options.json === true) printJson(historyJson(connection.name, histories));
    else for (const line of historyLines(histories, Date.now())) output.out(line);
    return EXIT.done;
  } finally {
    await temporal?.close();
  }
}

interface ReadOptions {
  readonly wanted: readonly string[] | undefined;
  readonly limit: number;
  readonly timeoutMs: number | undefined;
}

async function readHistories(
  temporal: TemporalClient | null,
  connection: ConnectionSettings,
  { wanted, limit, timeoutMs }: ReadOptions,
): Promise<ResourceHistory[]> {
  const resources = selectResources(connection, wanted).map(({ name }) => name);
  const logs = await withLake(
    connection,
    async ({ store, retry }) => {
      await retry(() => store.head(pointerKey(resources[0] ?? 'none')));
      // The lake answers. The following call has no time limit, because it takes longer the more runs there are.
      return readRunLog(temporal, connection, store, { resources, limit });
    },
    timeoutMs,
  );
  return resources.map((name, at): ResourceHistory => ({ name, runs: logs[at] ?? [] }));
}
