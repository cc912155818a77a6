import type { RunId } from '../../core/brands.js';
import { inParallel } from '../../core/in-parallel.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { pointerKey } from '../../lake/published/layout.js';
import {
  type ConnectionReport,
  type KnownRuns,
  REPORTED_RUNS,
  readConnectionReport,
  unreadable,
} from '../../report/index.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { readUnpublishedRuns } from '../../temporal/status/unpublished-runs.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { failureOf } from '../shared/failure.js';
import { withLake } from '../shared/open-lake.js';
import { reachTimeoutMs } from '../shared/options.js';
import { output } from '../shared/output.js';

/** A connection of the report, and those of its resources that are on the page. */
export interface Chosen {
  readonly connection: ConnectionSettings;
  readonly resources: readonly string[];
}

/** Number of connections that are read at the same time. */
const CONCURRENCY = 16;
/** Once a lake is out of reach, the others are tried for this long, so that one outage does not delay the page by hours. */
const LATER_TIMEOUT_MS = 5_000;

/**
 * Reads the report's data of each connection. A single connection whose lake cannot be read is an error. Of several, it
 * appears on the page with the reason, and the exit code is that of the first one.
 *
 * @param temporal `null` if Temporal is unreachable
 */
export async function readReports(
  temporal: TemporalClient | null,
  chosen: readonly Chosen[],
  madeAt: number,
): Promise<{ code: ExitCode; connections: readonly ConnectionReport[] }> {
  let code: ExitCode = EXIT.done;
  const connections = await inParallel(chosen, CONCURRENCY, async (one) => {
    const known = await unpublishedRuns(temporal, one);
    const timeoutMs = reachTimeoutMs(process.env);
    try {
      const limit = code === EXIT.done ? timeoutMs : Math.min(timeoutMs, LATER_TIMEOUT_MS);
      return (await readReport(one, { runId: null, madeAt, known, timeoutMs: limit }))!;
    } catch (error) {
      if (chosen.length === 1) throw error;
      const failure = failureOf(error, process.env);
      if (code === EXIT.done) code = failure.code;
      output.note(`${one.connection.name}: ${failure.message}`);
      return unreadableLake(one, { known, madeAt, problem: failure.message });
    }
  });
  return { code, connections };
}

async function unpublishedRuns(
  temporal: TemporalClient | null,
  { connection, resources }: Chosen,
): Promise<KnownRuns> {
  if (temporal === null) return { coverage: 'no-temporal', runs: [] };
  return readUnpublishedRuns(temporal, connection.name, { resources, limit: REPORTED_RUNS });
}

interface ReadOptions {
  readonly runId: RunId | null;
  readonly madeAt: number;
  readonly known?: KnownRuns;
  readonly timeoutMs?: number;
}

/** @returns `null` if no resource has published the run `runId` */
export function readReport(
  { connection, resources }: Chosen,
  { runId, madeAt, known, timeoutMs }: ReadOptions,
): Promise<ConnectionReport | null> {
  return withLake(
    connection,
    async ({ store, retry }) => {
      await retry(() => store.head(pointerKey(resources[0]!)));
      // The lake answers. The following call has no time limit, because it takes longer the more resources there are.
      return readConnectionReport(store, { connection: connection.name, resources, runId, madeAt }, known);
    },
    timeoutMs,
  );
}

function unreadableLake(
  { connection, resources }: Chosen,
  { known, madeAt, problem }: { known: KnownRuns; madeAt: number; problem: string },
): ConnectionReport {
  const options = { at: madeAt, unpublished: known.runs };
  return {
    connection: connection.name,
    lake: connection.lake.url,
    coverage: known.coverage,
    resources: resources.map((resource) => unreadable(resource, problem, options)),
  };
}
