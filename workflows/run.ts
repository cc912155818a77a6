import { ActivityCancellationType, CancellationScope, proxyActivities } from '@temporalio/workflow';
import type { RunId } from '../src/core/brands.js';
import type {
  ActiveRun,
  Activities,
  MirrorState,
  PublishedRun,
  RunRef,
  RunRequest,
} from '../src/core/contract.js';
import { inParallel } from '../src/core/in-parallel.js';
import { Extraction } from './extraction.js';
import { proveGone } from './prove-gone.js';

/** A silent worker is given up after this; a new attempt goes on from what was staged. */
const HEARTBEAT_TIMEOUT = '10 seconds';
/** Merge activities of one run at a time, shared by all workers: each one keeps two cores busy and holds some 50 MiB. */
const MERGES_AT_ONCE = 2;
const RETRY = { initialInterval: '1 second', maximumInterval: '1 minute' } as const;

/** A cancelled run is over when nobody writes for it any more: only then can what it wrote be removed. */
const STAYS_UNTIL_DONE = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;

/** Asks the service and the store before anything is known of the configuration; by its default it gives up. */
const begin = proxyActivities<Activities>({
  startToCloseTimeout: '15 minutes',
  scheduleToCloseTimeout: '6 hours',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: RETRY,
});

/** What the mirror is told while a run goes on. */
export interface RunEvents {
  /** Every step, for queries. */
  readonly onChange: (active: ActiveRun) => void;
  /** From here on the pointer may name the run. */
  readonly onPublishing: (runId: RunId) => void;
}

export interface RunResult extends PublishedRun {
  readonly runId: RunId;
  readonly pageSize: MirrorState['pageSize'];
  /** Whether the run saw everything that there is, so that the time until the next reconciliation counts from it. */
  readonly reconciled: boolean;
}

/**
 * One run of one resource: begin, extract, merge, publish. Throws what ended it; whatever was staged by then is
 * removed by the next good run.
 */
export async function runOnce(
  state: MirrorState,
  request: RunRequest,
  active: ActiveRun,
  { onChange, onPublishing }: RunEvents,
): Promise<RunResult> {
  const { connection, resource } = state;
  const { runId, startedAt } = active;
  const ref: RunRef = { connection, resource, runId };
  const begun = await begin['worktrack.beginRun']({
    ...ref,
    mode: request.mode,
    reconcile: request.reconcile,
    reconciledAt: state.reconciledAt,
    adopt: request.adopt,
    checkpoint: state.checkpoint,
    since: request.since,
    publishedRunId: state.published?.runId ?? null,
    publishingRunId: state.publishing,
    resumable: state.resumable,
    displaced: state.displaced,
    startedAt,
    nominalStart: request.nominalStart,
  });
  const long = proxyActivities<Activities>({
    startToCloseTimeout: begun.giveUpAfterMs,
    scheduleToCloseTimeout: begun.giveUpAfterMs,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: RETRY,
    cancellationType: STAYS_UNTIL_DONE,
  });

  // Work on the lake takes as long as it takes, under its heartbeat; it is attempts that give up.
  const work = proxyActivities<Activities>({
    startToCloseTimeout: '1 day',
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    cancellationType: STAYS_UNTIL_DONE,
    retry: { ...RETRY, maximumAttempts: Math.max(3, Math.ceil(begun.giveUpAfterMs / 60_000)) },
  });

  const learned = state.pageSize?.configured === begun.pageSize ? state.pageSize.learned : null;
  let now: ActiveRun = {
    ...{ ...active, mode: begun.mode, phase: 'extract', resumed: begun.resumed?.runId ?? null },
    ...{ pages: begun.resumed?.extracted.pages ?? 0, rows: begun.resumed?.extracted.rows ?? 0 },
  };
  onChange(now);
  const taken = begun.reapply ? await work['worktrack.reapply'](ref) : (begun.resumed?.extracted ?? null);
  const extraction = new Extraction(ref, long, { taken, pageSize: learned }, (extracted) => {
    now = { ...now, pages: extracted.pages, rows: extracted.rows };
    onChange(now);
  });
  await extraction.read('list');
  const gone = begun.reconcile ? await proveGone(ref, begun, work, extraction) : null;
  const { stage, pageSize } = extraction;

  onChange({ ...now, phase: 'merge' });
  const { plan, batches } = await work['worktrack.planMerge']({
    ...ref,
    stage,
    gone,
    allowDeletes: request.allowDeletes,
  });
  const numbers = Array.from({ length: batches }, (_, batch) => batch);
  const results = await inParallel(numbers, MERGES_AT_ONCE, async (batch) => {
    const merged = await work['worktrack.mergeParts'].executeWithOptions(
      { summary: `${resource}: ${batch + 1} of ${batches}` },
      [{ ...ref, plan, batch }],
    );
    return merged.result;
  });

  onChange({ ...now, phase: 'publish' });
  onPublishing(runId);
  // Once it has begun it is seen through: a swap that nobody waits for would leave a pointer that nobody knows.
  const published = await CancellationScope.nonCancellable(() =>
    work['worktrack.publish']({ ...ref, stage, plan, results }),
  );
  const changedPageSize =
    pageSize === begun.pageSize ? null : { configured: begun.pageSize, learned: pageSize };
  return {
    ...published,
    runId,
    pageSize: changedPageSize,
    reconciled: begun.reconcile || state.reconciledAt === null,
  };
}
