import { ActivityCancellationType, CancellationScope, proxyActivities } from '@temporalio/workflow';
import type { RunId } from '../../src/core/brands.js';
import type {
  ActiveRun,
  Activities,
  MirrorState,
  OnPublishedTarget,
  PreparedRun,
  PublishedRun,
  RollbackRequest,
  RunDone,
  RunInput,
  RunRef,
  RunRequest,
} from '../../src/core/contract/index.js';
import { MINUTE_MS } from '../../src/core/duration.js';
import { runSpec } from '../../src/core/mirror-requests.js';
import { nextPageSize } from '../../src/core/page-size.js';
import type { Steps } from '../../src/core/phases/phase-steps.js';
import { runPhases } from '../../src/core/phases/run-phases.js';
import { priorityOf, workOf } from '../shared/priority.js';
import { fenced } from './mirror-writer.js';
import { sweepOfRun } from './sweep.js';

/** A worker without a heartbeat for this long counts as lost; a new attempt continues from the staged pages. */
const HEARTBEAT_TIMEOUT = '10 seconds';
const RETRY = { initialInterval: '1 second', maximumInterval: '1 minute' } as const;

/** A cancelled run waits until its activities have stopped writing. Only then can its files be removed. */
const WAIT_UNTIL_STOPPED = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;

/**
 * The activity of a whole run is requested before the workflow knows the configuration. The activity itself gives up after
 * `retries.giveUpAfter`; these limits are for absent or crashing workers.
 */
const WHOLE_RUN = {
  startToCloseTimeout: '30 minutes',
  scheduleToStartTimeout: '6 hours',
  scheduleToCloseTimeout: '30 days',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: RETRY,
  cancellationType: WAIT_UNTIL_STOPPED,
} as const;

/** Called by a run in progress. */
interface RunEvents {
  /** Called when a run continues in the lake, before the next phase. */
  readonly onPrepared: (prepared: PreparedRun) => void;
  /** Called at every phase, so that queries show it. */
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
  /** The sweep after the run, as in `RunDone`. */
  readonly swept: Extract<RunDone, { kind: 'published' }>['swept'];
}

function inputOf(
  state: MirrorState,
  request: RunRequest | RollbackRequest,
  active: ActiveRun,
  now: number,
): RunInput {
  const { startedAt } = active;
  const { checkpoint, resumable, pageSize, hookedTo } = state;
  const asked =
    request.kind === 'run'
      ? { ...request, rollbackTo: null }
      : { ...runSpec(startedAt), allowDeletes: true, rollbackTo: request.to };
  const { mode, reconcile, adopt, allowDeletes, acceptChecks, since, rollbackTo, nominalStart } = asked;
  const isPlain = request.kind === 'run' && mode === 'increment' && !reconcile;
  const sweep = sweepOfRun(state, isPlain, now);
  return {
    ...{ ...fenced(state, active), mode, reconcile, adopt, allowDeletes, since, rollbackTo, nominalStart },
    ...{ startedAt, checkpoint, resumable, pageSize, hookedTo },
    ...(acceptChecks === undefined ? {} : { acceptChecks }),
    ...(state.sweepAt?.refused ? { refused: state.sweepAt.refused } : {}),
    ...(sweep === null ? {} : { sweep }),
  };
}

/**
 * One run of one resource: in one activity if it fits into memory, otherwise with an activity for each further phase
 * (docs/explanation/how-it-works.md#in-memory-or-in-the-lake). Throws the error that ended it.
 */
export async function runOnce(
  state: MirrorState,
  request: RunRequest | RollbackRequest,
  active: ActiveRun,
  events: RunEvents,
): Promise<RunResult> {
  const { connection, resource } = state;
  const priority = priorityOf(connection, workOf(request));
  const { 'worktrack.run': run } = proxyActivities<Activities>({ ...WHOLE_RUN, priority });
  const input = inputOf(state, request, active, Date.now());
  events.onChange({ ...active, phase: 'extract' });
  const done = await run.executeWithOptions({ summary: `${resource}: ${input.mode}` }, [input]);
  if (done.kind === 'spilled')
    return runInLake(state, input, { prepared: done.prepared, active, priority }, events);
  const { run: published, runId, table, onPublished, swept } = done;
  return { ...published, runId, table, onPublished, swept, pageSize: learned(state, done.pageSize) };
}

function learned(
  { pageSize: known }: MirrorState,
  sizes: { readonly configured: number; readonly used: number } | null,
): MirrorState['pageSize'] {
  return sizes === null ? known : nextPageSize(known, sizes.configured, sizes.used);
}

interface Spilled {
  readonly prepared: PreparedRun;
  readonly active: ActiveRun;
  readonly priority: ReturnType<typeof priorityOf>;
}

/** The phases of a run whose staging is in the lake. Each is one activity or more, on any worker. */
async function runInLake(
  state: MirrorState,
  { allowDeletes, ...input }: RunInput,
  { prepared, active, priority }: Spilled,
  { onPrepared, onChange, onSent }: RunEvents,
): Promise<RunResult> {
  const { connection, resource, runId, pageSize } = input;
  const ref: RunRef = { connection, resource, runId };
  onPrepared(prepared);
  let now: ActiveRun = {
    ...{ ...active, mode: prepared.mode, phase: 'extract', resumed: prepared.resumed?.runId ?? null },
    ...{ pages: prepared.resumed?.extracted.pages ?? 0, rows: prepared.resumed?.extracted.rows ?? 0 },
  };
  onChange(now);
  const { work, steps } = lakeSteps(prepared, resource, priority);
  const ready = await runPhases(steps, ref, {
    ...{ prepared, pageSize, allowDeletes },
    onRead: ({ pages, rows }) => {
      now = { ...now, pages, rows };
      onChange(now);
    },
    onMerge: () => onChange({ ...now, phase: 'merge' }),
  });
  onChange({ ...now, phase: 'publish' });
  onSent();
  // Not cancellable: if the workflow did not wait for the swap, it would not know which run the pointer names.
  const published = await CancellationScope.nonCancellable(() =>
    work['worktrack.publish'].executeWithOptions({ summary: `${resource}: ${now.rows} rows` }, [
      ready.publish,
    ]),
  );
  const { table, onPublished } = prepared;
  const rest = { table, onPublished, swept: 'to do', pageSize: learned(state, ready.pageSize) } as const;
  return { ...published, runId: published.runId ?? runId, ...rest };
}

/** The steps of a run as activities. */
function lakeSteps({ giveUpAfterMs }: PreparedRun, resource: string, priority: Spilled['priority']) {
  const common = {
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    cancellationType: WAIT_UNTIL_STOPPED,
    priority,
  } as const;
  // These call the service.
  const long = proxyActivities<Activities>({
    ...common,
    startToCloseTimeout: giveUpAfterMs,
    scheduleToCloseTimeout: giveUpAfterMs,
    retry: RETRY,
  });
  // Work on the lake has no total time limit: the heartbeat detects a lost worker, and the number of attempts is limited.
  const work = proxyActivities<Activities>({
    ...common,
    startToCloseTimeout: '1 day',
    retry: { ...RETRY, maximumAttempts: Math.max(3, Math.ceil(giveUpAfterMs / MINUTE_MS)) },
  });
  const of = (what: string) => ({ summary: `${resource}: ${what}` });
  const steps: Steps = {
    extractPages: (input, summary) => long['worktrack.extractPages'].executeWithOptions(of(summary), [input]),
    findAbsent: (input) => work['worktrack.findAbsent'](input),
    confirmDeletes: (input) => long['worktrack.confirmDeletes'](input),
    planMerge: (input, summary) => work['worktrack.planMerge'].executeWithOptions(of(summary), [input]),
    mergeParts: (input, summary) => work['worktrack.mergeParts'].executeWithOptions(of(summary), [input]),
  };
  return { work, steps };
}
