import type { RunId } from '../core/brands.js';
import { DamagedError } from '../lake/damaged-error.js';
import { RunChain } from '../lake/published/chain.js';
import { readPointer } from '../lake/published/pointer.js';
import { readHistory, readHistoryAt } from '../lake/published/run-history.js';
import type { ObjectStore } from '../lake/store/index.js';
import { renderReport } from './html.js';
import { REPORTED_RUNS, type ResourceReport, resourceReport, withoutRuns } from './model.js';

export interface ReportRequest {
  readonly connection: string;
  readonly resources: readonly string[];
  /** Report the state as of this run, for the resource that has it; `null`: the current state. */
  readonly runId: RunId | null;
  /** Milliseconds since 1970. */
  readonly madeAt: number;
}

/**
 * Creates the report on the published runs of some resources, read from the lake only.
 *
 * @returns HTML; `null` if no resource has published the run `runId`
 * @throws StoreError if the lake does not answer
 */
export async function createReport(store: ObjectStore, request: ReportRequest): Promise<string | null> {
  const { connection, runId, madeAt } = request;
  const found: (ResourceReport | null)[] = [];
  // One at a time, to keep the load on the store low.
  for (const resource of request.resources) found.push(await readResource(store, resource, runId));
  const resources = found.filter((one) => one !== null);
  if (resources.length === 0) return null;
  return renderReport({ connection, lake: store.url, madeAt, resources });
}

async function readResource(
  store: ObjectStore,
  resource: string,
  runId: RunId | null,
): Promise<ResourceReport | null> {
  try {
    const pointer = await readPointer(store, resource);
    if (pointer === null) return runId === null ? withoutRuns(resource, null) : null;
    const chain = new RunChain(store, pointer);
    const most = REPORTED_RUNS;
    const runs =
      runId === null ? await readHistory(chain, most) : await readHistoryAt(chain, { runId, most });
    if (runs === null) return null;
    if (runs.length > 0) return resourceReport(resource, runs);
    return withoutRuns(resource, `cannot read the change log of the last run, ${pointer.runId}`);
  } catch (error) {
    // The report shows damaged data as a problem. The caller handles a store that does not answer.
    if (!(error instanceof SyntaxError || error instanceof DamagedError)) throw error;
    return withoutRuns(resource, error.message);
  }
}
