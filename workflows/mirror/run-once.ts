import { ActivityCancellationType, CancellationScope } from '@temporalio/workflow';
import type {
  ActiveRun,
  Activities,
  MirrorState,
  PreparedRun,
  PublishInput,
  RollbackRequest,
  RunInput,
  RunPublished,
  RunRef,
  RunRequest,
} from '../../src/core/contract/index.js';
import { runSpec } from '../../src/core/mirror-requests.js';
import { runPhases, type Steps } from '../../src/core/phases.js';
import { activity, untilGivenUp } from '../shared/activity.js';
import { workOf } from '../shared/priority.js';
import { fenced, type Mirror } from './mirror-handle.js';
import { sweepOfRun } from './mirror-sweep.js';
import { hookedToOf } from './on-published.js';

/** A cancelled run waits until its activities have stopped writing. Only then can its files be removed. */
const WAIT_UNTIL_STOPPED = {
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
} as const;

function inputOf(
  state: MirrorState,
  request: RunRequest | RollbackRequest,
  active: ActiveRun,
  now: number,
): RunInput {
  const { startedAt } = active;
  const { checkpoint, resumable, pageSize, hookedTo, sweepAt } = state;
  const rollbackTo = request.kind === 'rollback' ? request.to : null;
  const wanted = request.kind === 'run' ? request : runSpec(startedAt, { allowDeletes: true });
  const { mode, reconcile, adopt, allowDeletes, acceptChecks, since, nominalStart } = wanted;
  const sweep = sweepOfRun(state, rollbackTo === null && mode === 'increment' && !reconcile, now);
  return {
    ...{ ...fenced(state, active), mode, reconcile, adopt, allowDeletes, since, rollbackTo, nominalStart },
    ...{ startedAt, checkpoint, resumable, pageSize, hookedTo },
    ...(acceptChecks !== undefined && { acceptChecks }),
    ...(sweepAt?.refused && { refused: sweepAt.refused }),
    ...(sweep && { sweep }),
  };
}

/**
 * One run of one resource: in one activity if it fits into memory, otherwise with an activity for each further phase
 * (docs/explanation/how-it-works.md#in-memory-or-in-the-lake). Throws the error that ended it.
 */
export async function runOnce(
  mirror: Mirror,
  request: RunRequest | RollbackRequest,
  active: ActiveRun,
): Promise<RunPublished> {
  const { state } = mirror;
  const { connection, resource } = state;
  const work = workOf(request);
  const input = inputOf(state, request, active, Date.now());
  mirror.setActive({ ...active, phase: 'read' });
  const summary = `${resource}: ${input.mode}`;
  const done = await activity('worktrack.run', connection, work, { ...WAIT_UNTIL_STOPPED, summary })(input);
  if (done.kind === 'spilled') return runInLake(mirror, input, { prepared: done.prepared, active, work });
  return done;
}

type Work = ReturnType<typeof workOf>;

/** The phases of a run whose staging is in the lake. Each is one activity or more, on any worker. */
async function runInLake(
  mirror: Mirror,
  input: RunInput,
  of: { readonly prepared: PreparedRun; readonly active: ActiveRun; readonly work: Work },
): Promise<RunPublished> {
  const { prepared, active, work } = of;
  const { connection, resource, runId, pageSize, allowDeletes } = input;
  const ref: RunRef = { connection, resource, runId };
  mirror.inLake = 'staged';
  mirror.change({ hookedTo: hookedToOf(mirror.state, prepared) });
  const { resumed, table, onPublished } = prepared;
  let now: ActiveRun = {
    ...{ ...active, mode: prepared.mode, resumed: resumed?.runId ?? null },
    ...{ pages: resumed?.extracted.pages ?? 0, rows: resumed?.extracted.rows ?? 0 },
  };
  const change = (changes: Partial<ActiveRun>): void => {
    now = { ...now, ...changes };
    mirror.setActive(now);
  };
  const { steps, publish } = lakeActivities(prepared, input, work);
  const ready = await runPhases(steps, ref, {
    ...{ prepared, pageSize, allowDeletes },
    onRead: ({ pages, rows }) => change({ pages, rows }),
    onPhase: (phase) => change({ phase }),
  });
  change({ phase: 'publish' });
  mirror.inLake = 'sent';
  // Not cancellable: if the workflow did not wait for the swap, it would not know which run the pointer names.
  const published = await CancellationScope.nonCancellable(() => publish(ready.publish, `${now.rows} rows`));
  const ended = { kind: 'published', run: published, runId: published.runId ?? runId } as const;
  return { ...ended, table, onPublished, pageSize: ready.pageSize, swept: 'to do' };
}

/** The phases of a run in the lake, as activities. */
function lakeActivities(
  { giveUpAfterMs }: PreparedRun,
  { connection, resource, startedAt }: RunInput,
  work: Work,
) {
  const phase = <N extends keyof Activities>(name: N, summary: string) =>
    activity(name, connection, work, {
      ...{ ...WAIT_UNTIL_STOPPED, summary: `${resource}: ${summary}` },
      ...untilGivenUp(name, { giveUpAfterMs, startedAt }),
    });
  const steps: Steps = {
    read: (input, summary) => phase('worktrack.read', summary)(input),
    settle: (input, summary) => phase('worktrack.settle', summary)(input),
    settleById: (input, summary) => phase('worktrack.settleById', summary)(input),
    mergePlan: (input, summary) => phase('worktrack.mergePlan', summary)(input),
    merge: (input, summary) => phase('worktrack.merge', summary)(input),
  };
  const publish = (input: PublishInput, summary: string) => phase('worktrack.publish', summary)(input);
  return { steps, publish };
}
