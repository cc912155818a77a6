import {
  ActivityCancellationType,
  CancellationScope,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { RunId } from '../../src/core/brands.js';
import type {
  ActiveRun,
  Activities,
  MirrorState,
  OnPublishedTarget,
  PreparedRun,
  PrepareRunInput,
  PublishedRun,
  RollbackRequest,
  RunRef,
  RunRequest,
  ShortRun,
  Writer,
} from '../../src/core/contract/index.js';
import { MINUTE_MS } from '../../src/core/duration.js';
import { runSpec } from '../../src/core/mirror.js';
import { nextPageSize, sizeToTry } from '../../src/core/page-size.js';
import { attemptRunIds } from '../../src/core/run-id.js';
import { priorityOf, workOf } from '../shared/priority.js';
import { detectDeletes } from './detect-deletes.js';
import { Extraction } from './extraction.js';
import { mergeStaged } from './merge-steps.js';
import { mergeSettled } from './reread.js';
import { mayBeShort, tryShortRun } from './short-run.js';

/** A worker without a heartbeat for this long counts as lost; a new attempt continues from the staged pages. */
const HEARTBEAT_TIMEOUT = '10 seconds';
const RETRY = { initialInterval: '1 second', maximumInterval: '1 minute' } as const;

/** A cancelled run waits until its activities have stopped writing. Only then can its files be removed. */
const WAIT_UNTIL_STOPPED = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;

/**
 * Preparation runs before the workflow knows the configuration. The activity itself gives up after
 * `retries.giveUpAfter`; these limits are for absent or crashing workers.
 */
const PREPARATION = {
  startToCloseTimeout: '15 minutes',
  scheduleToStartTimeout: '6 hours',
  scheduleToCloseTimeout: '30 days',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: RETRY,
} as const;

/** Called by a run in progress. */
interface RunEvents {
  /** Called when the run is prepared, before it reads anything. */
  readonly onPrepared: (prepared: PreparedRun) => void;
  /** Called at every step, so that queries show it. */
  readonly onChange: (active: ActiveRun) => void;
  /** Called before the swap may be sent. If the run fails from here on, it may still be published. */
  readonly onSent: () => void;
}

export interface RunResult extends PublishedRun {
  readonly runId: RunId;
  readonly pageSize: MirrorState['pageSize'];
  /** As in `PreparedRun`. */
  readonly table: boolean;
  /** As in `PreparedRun`. */
  readonly onPublished: OnPublishedTarget | null;
  /** Earlier attempts of a short run, each with its own run id, that can no longer be published. */
  readonly replaced: readonly RunId[];
  /** Whether a sweep has to follow. A short run makes its own: what it did, or `null` if none was due. */
  readonly sweep: 'to do' | ShortSwept | null;
}

type ShortSwept = NonNullable<Extract<ShortRun, { kind: 'published' }>['swept']>;

/** This mirror, as pointer and manifests name it. */
export function writer(): Writer {
  const { firstExecutionRunId: workflow, namespace } = workflowInfo();
  return { workflow, namespace };
}

/** Identifies a run and its mirror. */
export function fenced({ connection, resource, published, displaced }: MirrorState, { runId }: ActiveRun) {
  const publishedRunId = published?.runId ?? null;
  return { connection, resource, runId, writer: writer(), publishedRunId, displaced };
}

/** What both a short run and the first of the separate steps need to know. */
function preparation(
  state: MirrorState,
  request: RunRequest | RollbackRequest,
  active: ActiveRun,
): PrepareRunInput {
  const { startedAt } = active;
  const asked =
    request.kind === 'run'
      ? { ...request, rollbackTo: null }
      : { ...runSpec(startedAt), rollbackTo: request.to };
  return {
    ...fenced(state, active),
    mode: asked.mode,
    reconcile: asked.reconcile,
    adopt: asked.adopt,
    allowDeletes: asked.allowDeletes,
    ...(asked.acceptChecks === undefined ? {} : { acceptChecks: asked.acceptChecks }),
    checkpoint: state.checkpoint,
    since: asked.since,
    resumable: state.resumable,
    startedAt,
    rollbackTo: asked.rollbackTo,
    nominalStart: asked.nominalStart,
    ...(state.sweepAt?.refused ? { refused: state.sweepAt.refused } : {}),
  };
}

/** One run of one resource: in one activity if it has little to do, otherwise in separate steps. Throws the error that ended it. */
export async function runOnce(
  state: () => MirrorState,
  request: RunRequest | RollbackRequest,
  active: ActiveRun,
  events: RunEvents,
): Promise<RunResult> {
  if (request.kind === 'rollback' || !mayBeShort(state(), request))
    return runSteps(state(), request, active, events);
  events.onChange({ ...active, phase: 'extract' });
  const input = preparation(state(), request, active);
  const short = await tryShortRun(input, { state: state(), request }, events.onSent);
  if (short.kind === 'published') {
    const { runId, attempt, pageSize: sizes, swept = null } = short;
    const { pageSize: known } = state();
    const none = { table: false, onPublished: null };
    return {
      ...{ ...short.run, ...none, runId },
      pageSize: sizes === null ? known : nextPageSize(known, sizes.configured, sizes.used),
      replaced: attemptRunIds(active.runId, attempt).filter((id) => id !== runId),
      // An earlier attempt published the run, and may have ended before its sweep.
      sweep: sizes === null ? 'to do' : swept,
    };
  }
  // Only a replaced attempt may have used the run's id.
  const runId = short.attempts === 1 ? active.runId : attemptRunIds(active.runId, short.attempts + 1).at(-1)!;
  const again = { ...active, runId };
  events.onChange(again);
  const result = await runSteps(state(), request, again, events);
  const attempts = attemptRunIds(active.runId, short.attempts + 1);
  return { ...result, replaced: attempts.filter((id) => id !== result.runId) };
}

/**
 * The steps of one run of one resource: prepare, extract, merge, publish. Throws the error that ended the run. The next
 * published run removes what it staged.
 */
async function runSteps(
  state: MirrorState,
  request: RunRequest | RollbackRequest,
  active: ActiveRun,
  { onPrepared, onChange, onSent }: RunEvents,
): Promise<RunResult> {
  const { connection, resource } = state;
  const { runId } = active;
  const ref: RunRef = { connection, resource, runId };
  const priority = priorityOf(connection, workOf(request));
  const allowDeletes = request.kind === 'rollback' || request.allowDeletes;
  const first = proxyActivities<Activities>({ ...PREPARATION, priority });
  const prepared = await first['worktrack.prepareRun'](preparation(state, request, active));
  onPrepared(prepared);
  const long = proxyActivities<Activities>({
    startToCloseTimeout: prepared.giveUpAfterMs,
    scheduleToCloseTimeout: prepared.giveUpAfterMs,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: RETRY,
    cancellationType: WAIT_UNTIL_STOPPED,
    priority,
  });

  // Work on the lake has no total time limit: the heartbeat detects a lost worker, and the number of attempts is limited.
  const work = proxyActivities<Activities>({
    startToCloseTimeout: '1 day',
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    cancellationType: WAIT_UNTIL_STOPPED,
    retry: { ...RETRY, maximumAttempts: Math.max(3, Math.ceil(prepared.giveUpAfterMs / MINUTE_MS)) },
    priority,
  });

  const { rollback } = prepared;
  const tried = sizeToTry(state.pageSize, prepared.pageSize);
  let now: ActiveRun = {
    ...{ ...active, mode: prepared.mode, phase: 'extract', resumed: prepared.resumed?.runId ?? null },
    ...{ pages: prepared.resumed?.extracted.pages ?? 0, rows: prepared.resumed?.extracted.rows ?? 0 },
  };
  onChange(now);
  const staged = rollback ?? prepared.resumed?.extracted ?? null;
  const extraction = new Extraction(ref, long, { staged, pageSize: tried }, (extracted) => {
    now = { ...now, pages: extracted.pages, rows: extracted.rows };
    onChange(now);
  });
  // The target of a rollback is staged already, and complete.
  if (rollback === null) await extraction.read('list');
  const deletes = prepared.reconcile
    ? await detectDeletes(ref, prepared, { long, work, allowDeletes }, extraction)
    : null;
  // Resumed pages lack the changes since the earlier run. Delete detection has already read them.
  if (prepared.resumed !== null && !prepared.reconcile) await extraction.read('catch-up');
  const { merged, shifted } = await mergeSettled(extraction, (pass) => {
    onChange({ ...now, phase: 'merge' });
    return mergeStaged(ref, work, {
      pass,
      stage: extraction.stage,
      gone: deletes?.gone ?? null,
      allowDeletes,
    });
  });
  const { plan, results } = merged;
  const { stage, pageSize } = extraction;
  const unproven = deletes?.unproven ?? 0;

  onChange({ ...now, phase: 'publish' });
  onSent();
  // Not cancellable: if the workflow did not wait for the swap, it would not know which run the pointer names.
  const published = await CancellationScope.nonCancellable(() =>
    work['worktrack.publish']({
      ...{ ...ref, stage, plan, results, shifted, unproven },
      ...(deletes === null ? {} : { deletesProblems: deletes.problems }),
    }),
  );
  // Resumed pages were read with an earlier page size, so they do not show whether the service accepts the new one.
  const wasTried = prepared.resumed === null && rollback === null;
  return {
    ...published,
    runId: published.runId ?? runId,
    ...{ table: prepared.table, onPublished: prepared.onPublished, replaced: [], sweep: 'to do' },
    pageSize: wasTried ? nextPageSize(state.pageSize, prepared.pageSize, pageSize) : state.pageSize,
  };
}
