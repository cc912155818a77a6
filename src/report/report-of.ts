import type { RunId } from '../core/brands.js';
import { RunChain } from '../lake/chain.js';
import { DamagedError } from '../lake/damaged-error.js';
import { pointerKey } from '../lake/layout.js';
import { decodePointer } from '../lake/pointer.js';
import { readHistory, readHistoryAt } from '../lake/run-history.js';
import type { ObjectStore } from '../lake/store/index.js';
import { renderReport } from './html.js';
import { REPORTED_RUNS, type ResourceReport, resourceReport, withoutRuns } from './model.js';

export interface ReportWanted {
  readonly connection: string;
  readonly resources: readonly string[];
  /** How things stood at this run, of the one resource that it is of; `null`: now. */
  readonly runId: RunId | null;
  /** Milliseconds since 1970. */
  readonly madeAt: number;
}

/**
 * The report on what is published of some resources, read from the lake alone.
 *
 * @returns HTML; `null` when none of the resources has that run on its chain
 * @throws StoreError when the lake does not answer
 */
export async function reportOf(store: ObjectStore, wanted: ReportWanted): Promise<string | null> {
  const { connection, runId, madeAt } = wanted;
  const found: (ResourceReport | null)[] = [];
  // One after the other: a report is no reason to load the store.
  for (const resource of wanted.resources) found.push(await resourceOf(store, resource, runId));
  const resources = found.filter((one) => one !== null);
  if (resources.length === 0) return null;
  return renderReport({ connection, lake: store.url, madeAt, resources });
}

async function resourceOf(
  store: ObjectStore,
  resource: string,
  runId: RunId | null,
): Promise<ResourceReport | null> {
  try {
    const found = await store.readIfExists(pointerKey(resource));
    if (found === null) return runId === null ? withoutRuns(resource, null) : null;
    const pointer = { ...decodePointer(found.body), resource };
    const chain = new RunChain(store, pointer);
    const most = REPORTED_RUNS;
    const runs =
      runId === null ? await readHistory(chain, most) : await readHistoryAt(chain, { runId, most });
    if (runs === null) return null;
    if (runs.length > 0) return resourceReport(resource, runs);
    return withoutRuns(resource, `the change log of run ${pointer.runId}, the last one, cannot be read`);
  } catch (error) {
    // What is damaged is news for the report; a store that does not answer is the caller's trouble.
    if (!(error instanceof SyntaxError || error instanceof DamagedError)) throw error;
    return withoutRuns(resource, error.message);
  }
}
