import type { RunId } from '../../core/brands.js';
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
import { eachConnection, endedCode } from '../shared/each-connection.js';
import { EXIT, type ExitCode, worstExitCode } from '../shared/exit-code.js';
import { withLake } from '../shared/open-lake.js';
import { output } from '../shared/output.js';

/** A connection of the report, and those of its resources that are on the page. */
export interface Chosen {
  readonly connection: ConnectionSettings;
  readonly resources: readonly string[];
}

/**
 * Reads the report's data of each connection. A single connection whose lake cannot be read is an error. Of several, it
 * appears on the page with the reason, and the exit code is the worst of these.
 *
 * @param temporal `null` if Temporal is unreachable
 */
export async function readReports(
  temporal: TemporalClient | null,
  chosen: readonly Chosen[],
  madeAt: number,
): Promise<{ code: ExitCode; connections: readonly ConnectionReport[] }> {
  const resourcesOf = new Map(chosen.map(({ connection, resources }) => [connection, resources]));
  const knownOf = new Map<ConnectionSettings, KnownRuns>();
  const read = async (connection: ConnectionSettings, timeoutMs?: number): Promise<ConnectionReport> => {
    const one = { connection, resources: resourcesOf.get(connection)! };
    const known = await unpublishedRuns(temporal, one);
    knownOf.set(connection, known);
    return (await readReport(one, { runId: null, madeAt, known, timeoutMs }))!;
  };
  if (chosen.length === 1) return { code: EXIT.done, connections: [await read(chosen[0]!.connection)] };
  const ended = await eachConnection([...resourcesOf.keys()], read, ({ connection, failure }) => {
    if (failure !== null) output.note(`${connection.name}: ${failure.message}`);
  });
  return {
    code: worstExitCode(ended.map((one) => endedCode(one, () => EXIT.done))),
    connections: ended.map(({ connection, result, failure }) => {
      if (failure === null) return result;
      const one = { connection, resources: resourcesOf.get(connection)! };
      return unreadableLake(one, { known: knownOf.get(connection)!, madeAt, problem: failure.message });
    }),
  };
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
  readonly timeoutMs?: number | undefined;
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
      return readConnectionReport(
        store,
        { connection: connection.name, baseUrl: connection.baseUrl, resources, runId, madeAt },
        known,
      );
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
