import { proxyActivities, uuid4 } from '@temporalio/workflow';
import type { ObjectKey, RunId } from '../src/core/brands.js';
import type {
  ActiveRun,
  Activities,
  ExtractResult,
  MirrorState,
  PublishedRun,
  RunRef,
  RunRequest,
} from '../src/core/contract.js';

/** `20261121T020000Z-` and eight hexadecimal digits (DESIGN 6). */
export function newRunId(startedAt: number): RunId {
  const stamp = new Date(startedAt).toISOString().replace(/[-:]|\.\d+/g, '');
  return `${stamp}-${uuid4().slice(0, 8)}` as RunId;
}

/** A silent worker is given up after this; a new attempt goes on from what was staged. */
const HEARTBEAT_TIMEOUT = '10 seconds';
/** Merge activities of one run at a time; workers share them. */
const MERGES_AT_ONCE = 4;
const RETRY = { initialInterval: '1 second', maximumInterval: '1 minute' } as const;

const quick = proxyActivities<Activities>({
  startToCloseTimeout: '5 minutes',
  scheduleToCloseTimeout: '1 hour',
  retry: RETRY,
});

export interface RunResult extends PublishedRun {
  readonly runId: RunId;
  readonly pageSize: number;
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
  let stage: ObjectKey | null = null;
  let pageSize = state.pageSize;
  for (let call = 0, done = false; !done; call++) {
    const extracted: ExtractResult = await long['worktrack.extractPages']({
      ...ref,
      call,
      after: stage,
      pageSize,
    });
    ({ stage, pageSize, done } = extracted);
    now = { ...now, pages: extracted.pages, rows: extracted.rows };
    onChange(now);
  }
  if (stage === null || pageSize === null) throw new Error('nothing was extracted');

  onChange({ ...now, phase: 'merge' });
  const { plan, batches } = await long['worktrack.planMerge']({ ...ref, stage });
  const results = await inOrder(batches, MERGES_AT_ONCE, async (batch) => {
    const merged = await long['worktrack.mergeParts']({ ...ref, plan, batch });
    return merged.result;
  });

  onChange({ ...now, phase: 'publish' });
  const published = await long['worktrack.publish']({ ...ref, stage, plan, results });
  return { ...published, runId, pageSize };
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
