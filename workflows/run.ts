import { proxyActivities, uuid4 } from '@temporalio/workflow';
import type { RunId } from '../src/core/brands.js';
import type {
  ActiveRun,
  Activities,
  MirrorState,
  PublishedRun,
  RunRef,
  RunRequest,
} from '../src/core/contract.js';
import { parseRunDate } from '../src/lake/run-id.js';
import { Extraction } from './extraction.js';
import { proveGone } from './prove-gone.js';

/**
 * `20261121T020000Z-` and eight hexadecimal digits (DESIGN 6). Run ids sort in the order of publishing: two runs in
 * one second are a second apart in name.
 *
 * @param after the run that was published last
 */
export function newRunId(startedAt: number, after: RunId | null): RunId {
  const second = Math.floor(startedAt / 1000) * 1000;
  const last = after === null ? 0 : parseRunDate(after);
  // A clock that was far ahead once must not name all later runs.
  const time = second === last ? second + 1000 : second;
  const stamp = new Date(time).toISOString().replace(/[-:]|\.\d+/g, '');
  return `${stamp}-${uuid4().slice(0, 8)}` as RunId;
}

/** A silent worker is given up after this; a new attempt goes on from what was staged. */
const HEARTBEAT_TIMEOUT = '10 seconds';
/** Merge activities of one run at a time, shared by all workers: each one keeps two cores busy and holds some 50 MiB. */
const MERGES_AT_ONCE = 2;
const RETRY = { initialInterval: '1 second', maximumInterval: '1 minute' } as const;

const quick = proxyActivities<Activities>({
  startToCloseTimeout: '5 minutes',
  scheduleToCloseTimeout: '1 hour',
  retry: RETRY,
});

export interface RunResult extends PublishedRun {
  readonly runId: RunId;
  readonly pageSize: number;
  /** Whether the run saw everything that there is, so that the time until the next reconciliation counts from it. */
  readonly reconciled: boolean;
}

/**
 * One run of one resource: begin, extract, merge, publish. Throws what ended it; whatever was staged by then is
 * removed by the next good run. `onChange` gets every step, for queries.
 */
export async function runOnce(
  state: MirrorState,
  request: RunRequest,
  active: ActiveRun,
  onChange: (active: ActiveRun) => void,
): Promise<RunResult> {
  const { connection, resource } = state;
  const { runId, startedAt } = active;
  const ref: RunRef = { connection, resource, runId };
  const begun = await quick['worktrack.beginRun']({
    ...ref,
    mode: request.mode,
    reconcile: request.reconcile,
    reconciledAt: state.reconciledAt,
    adopt: request.adopt,
    checkpoint: state.checkpoint,
    publishedRunId: state.published?.runId ?? null,
    startedAt,
    nominalStart: request.nominalStart,
  });
  const long = proxyActivities<Activities>({
    startToCloseTimeout: begun.giveUpAfterMs,
    scheduleToCloseTimeout: begun.giveUpAfterMs,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: RETRY,
  });

  let now: ActiveRun = { ...active, mode: begun.mode, phase: 'extract' };
  onChange(now);
  const extraction = new Extraction(ref, long, state.pageSize, (extracted) => {
    now = { ...now, pages: extracted.pages, rows: extracted.rows };
    onChange(now);
  });
  await extraction.read('list');
  const gone = begun.reconcile ? await proveGone(ref, begun, long, extraction) : null;
  const { stage, pageSize } = extraction;

  onChange({ ...now, phase: 'merge' });
  const { plan, batches } = await long['worktrack.planMerge']({
    ...ref,
    stage,
    gone,
    allowDeletes: request.allowDeletes,
  });
  const results = await inOrder(batches, MERGES_AT_ONCE, async (batch) => {
    const merged = await long['worktrack.mergeParts']({ ...ref, plan, batch });
    return merged.result;
  });

  onChange({ ...now, phase: 'publish' });
  const published = await long['worktrack.publish']({ ...ref, stage, plan, results });
  return { ...published, runId, pageSize, reconciled: begun.reconcile || state.reconciledAt === null };
}

/** Removes staging and what failed runs left. A run is published without it, so a failure here is no failure of the run. */
export async function cleanUp(ref: RunRef): Promise<void> {
  await quick['worktrack.cleanUp'](ref);
}

/** Calls `task` for 0 to `count` - 1, at most `width` at a time, and returns the results in order. */
async function inOrder<T>(count: number, width: number, task: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = new Array(count);
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) results[n] = await task(n);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, lane));
  return results;
}
