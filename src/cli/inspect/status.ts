import { inParallel } from '../../core/in-parallel.js';
import { tryTemporal } from '../shared/context.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { duration, type GlobalOptions } from '../shared/options.js';
import { output, printJson } from '../shared/output.js';
import { readSettings, selectConnections } from '../shared/settings.js';
import { openStatus, readConnectionStatus } from './read-status.js';
import { isAllFresh, statusJson, statusLines } from './status-lines.js';

export interface StatusOptions extends GlobalOptions {
  readonly json?: boolean;
  /** Exits with 0 only if everything is fresh. */
  readonly check?: boolean;
  readonly maxAge: string;
}

const CONCURRENCY = 8;

/** `worktrack status`: the state of each resource, from its mirror, the server and `latest.json`. */
export async function runStatus(options: StatusOptions): Promise<ExitCode> {
  const settings = readSettings(options);
  const chosen = selectConnections(settings, options.connection);
  const maxAgeMs = duration('--max-age', options.maxAge, '26h or 8d');
  const temporal = await tryTemporal(options, 'Showing latest.json.');
  try {
    const from = await openStatus(temporal, settings.source, options.taskQueue);
    const connections = await inParallel(chosen, CONCURRENCY, (one) => readConnectionStatus(from, one));
    const now = Date.now();
    if (options.json === true) printJson(statusJson(connections, { maxAgeMs, now }));
    else for (const line of statusLines(connections, now)) output.out(line);
    if (options.check !== true) return EXIT.done;
    if (!isAllFresh(connections, { maxAgeMs, now })) return EXIT.failed;
    // A run that failed since then is not in the lake.
    return temporal === null ? EXIT.outOfReach : EXIT.done;
  } finally {
    await temporal?.close();
  }
}
