import { selectResources } from '../../config/index.js';
import { pointerKey } from '../../lake/published/layout.js';
import { type LoggedRun, readRunLog } from '../../temporal/status/run-log.js';
import { tryTemporal } from '../shared/context.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { withLake } from '../shared/open-lake.js';
import { type GlobalOptions, positive } from '../shared/options.js';
import { output, printJson } from '../shared/output.js';
import { readConnection } from '../shared/settings.js';
import { historyJson, historyLines } from './history-lines.js';

export interface HistoryOptions extends GlobalOptions {
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
  const connection = readConnection(options);
  const limit = positive('--limit', options.limit);
  const resources = selectResources(connection, options.resource).map(({ name }) => name);
  const temporal = await tryTemporal(options, 'Showing published runs only.');
  try {
    const logs = await withLake(connection, async ({ store, retry }) => {
      await retry(() => store.head(pointerKey(resources[0] ?? 'none')));
      // The lake answers. The following call has no time limit, because it takes longer the more runs there are.
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
