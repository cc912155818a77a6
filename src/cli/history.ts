import { selectResources } from '../config/index.js';
import { pointerKey } from '../lake/layout.js';
import { type LoggedRun, readRunLog } from '../temporal/run-log.js';
import { readConnection, tryTemporal } from './context.js';
import { EXIT, type ExitCode } from './exit-code.js';
import { historyJson, historyLines } from './history-lines.js';
import { withLake } from './lake.js';
import { type GlobalOptions, positive } from './options.js';
import { output, printJson } from './output.js';

export interface HistoryOptions extends GlobalOptions {
  readonly resource?: readonly string[];
  readonly limit: string;
  readonly json?: boolean;
}

/** What a command prints of one resource. */
export interface ResourceHistory {
  readonly name: string;
  /** Newest first. */
  readonly runs: readonly LoggedRun[];
}

/** `worktrack history`: the last runs, from the lake and, for those that failed or go on, from Temporal. */
export async function runHistory(options: HistoryOptions): Promise<ExitCode> {
  const connection = readConnection(options);
  const limit = positive('--limit', options.limit);
  const resources = selectResources(connection, options.resource).map(({ name }) => name);
  const temporal = await tryTemporal(options, 'Showing published runs only.');
  try {
    const logs = await withLake(connection, async ({ store, reached }) => {
      await reached(() => store.head(pointerKey(resources[0] ?? 'none')));
      // It answers: what follows may take its time, for it grows with the number of runs.
      return readRunLog(temporal, connection, store, { resources, limit });
    });
    const histories = resources.map((name, at): ResourceHistory => ({ name, runs: logs[at] ?? [] }));
    if (options.json === true) printJson(historyJson(connection.name, histories));
    else for (const line of historyLines(histories, Date.now())) output.out(line);
    return EXIT.done;
  } finally {
    await temporal?.close();
  }
}
