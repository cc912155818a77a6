import type { EpochMs, Millis, RunId } from '../core/brands.js';
import { DEFAULT_MAX_AGE_MS } from '../core/data-age.js';
import type { Verdict } from '../core/resource-state.js';
import { DamagedError } from '../lake/damaged-error.js';
import { lastAudit } from '../lake/documents/audit-statement.js';
import { readPointer } from '../lake/documents/pointer.js';
import { readChain, readHistory } from '../lake/published/chain.js';
import { hasOtherOwner, otherOwnerText } from '../lake/published/ownership.js';
import type { ObjectStore } from '../lake/store/index.js';
import { DocumentTooLargeError } from '../lake/too-large-error.js';
import { renderReport } from './html.js';
import {
  type ConnectionReport,
  type Coverage,
  type FigureGroup,
  REPORTED_RUNS,
  type ResourceReport,
  resourceReport,
  type UnpublishedRun,
} from './model.js';

export interface ReportRequest {
  readonly connection: string;
  /** The connection's URL, to see whether the lake belongs to another one. Default: only the name is compared. */
  readonly baseUrl?: string;
  readonly resources: readonly string[];
  /** Report the state as of this run, for the resource that has it; `null`: the current state. */
  readonly runId: RunId | null;
  readonly madeAt: EpochMs;
  /** The largest age of data that is not stale. Default: 26 hours. */
  readonly maxAgeMs?: Millis;
  /** Charts of what the rows contain. Without them, the page has no record data. */
  readonly figures?: FigureGroup | undefined;
}

/** What the lake does not know: failed and running runs, and the state of each resource, as `status` shows it. */
export interface KnownFromTemporal {
  readonly coverage: Coverage;
  readonly runs: readonly UnpublishedRun[];
  /** By resource. */
  readonly verdicts?: ReadonlyMap<string, Verdict>;
}

/**
 * Creates the report on the published runs of some resources, read from the lake only.
 *
 * @returns HTML; `null` if no resource has published the run `runId`
 * @throws StoreError if the lake does not answer
 * @example
 * const request = { connection: 'acme', resources: ['tasks'], runId: null, madeAt: Date.now() };
 * const html = await createReport(store, request);
 */
export async function createReport(store: ObjectStore, request: ReportRequest): Promise<string | null> {
  const connection = await readConnectionReport(store, request);
  if (connection === null) return null;
  const { madeAt, figures, maxAgeMs = DEFAULT_MAX_AGE_MS } = request;
  return renderReport({ madeAt, maxAgeMs, connections: [connection], figures });
}

/**
 * Reads the report's data of one connection.
 *
 * @returns `null` if no resource has published the run `runId`
 * @throws StoreError if the lake does not answer
 */
export async function readConnectionReport(
  store: ObjectStore,
  request: ReportRequest,
  known: KnownFromTemporal = { coverage: 'published', runs: [] },
): Promise<ConnectionReport | null> {
  const { connection } = request;
  const found: (ResourceReport | null)[] = [];
  // One at a time, to keep the load on the store low.
  for (const resource of request.resources) found.push(await readResource(store, resource, request, known));
  const resources = found.filter((one) => one !== null);
  if (resources.length === 0) return null;
  const audit = request.runId === null ? await lastAudit(store).catch(() => null) : null;
  return { connection, lake: store.url, coverage: known.coverage, resources, audit };
}

async function readResource(
  store: ObjectStore,
  resource: string,
  { connection, baseUrl, runId, madeAt: at, maxAgeMs }: ReportRequest,
  { runs: unpublished, verdicts }: KnownFromTemporal,
): Promise<ResourceReport | null> {
  const options = { at, unpublished, maxAgeMs };
  const verdict = verdicts?.get(resource);
  try {
    const pointer = await readPointer(store, resource);
    if (pointer === null)
      return runId === null ? resourceReport(resource, [], { ...options, verdict }) : null;
    const claim = { connection, baseUrl: baseUrl ?? pointer.baseUrl };
    if (hasOtherOwner(pointer, claim)) {
      if (runId !== null) return null;
      return resourceReport(resource, [], { ...options, owner: otherOwnerText(pointer, claim) });
    }
    const wanted = { most: REPORTED_RUNS, from: runId ?? undefined };
    const runs = await readHistory(readChain(store, pointer), wanted);
    if (runId !== null && runs.length === 0) return null;
    if (runs[0] === undefined) {
      const problem = `cannot read the change log of the last run, ${pointer.runId}`;
      return resourceReport(resource, [], { ...options, problem });
    }
    const until = runId === null ? at : Date.parse(runs[0].publishedAt);
    return resourceReport(resource, runs, { ...options, at: until, verdict });
  } catch (error) {
    // The report shows damaged data as a problem. The caller handles a store that does not answer.
    const isOfObject =
      error instanceof SyntaxError || error instanceof DamagedError || error instanceof DocumentTooLargeError;
    if (!isOfObject) throw error;
    return resourceReport(resource, [], { ...options, problem: error.message });
  }
}
