import { CancellationScope, log, proxyActivities } from '@temporalio/workflow';
import type {
  ActiveRun,
  Activities,
  MirrorRequest,
  MirrorState,
  PurgeRequest,
  RollbackRequest,
  RunRef,
  RunReport,
  RunRequest,
} from '../src/core/contract.js';
import { toRunError } from './failures.js';
import { runOnce } from './run.js';

const tidy = proxyActivities<Activities>({
  startToCloseTimeout: '1 hour',
  scheduleToCloseTimeout: '2 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

/** Work on what is published: it is seen through, for half of it would help nobody. */
const amend = proxyActivities<Activities>({
  startToCloseTimeout: '1 day',
  scheduleToCloseTimeout: '1 day',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

/** The mirror, as what is done for it sees it. */
export interface Mirror {
  readonly state: () => MirrorState;
  readonly onState: (changes: Partial<MirrorState>) => void;
  /** Every step, for queries. */
  readonly onChange: (active: ActiveRun) => void;
}

/** Does what a request asks for. Throws what ended it. */
export function perform(request: MirrorRequest, active: ActiveRun, mirror: Mirror): Promise<RunReport> {
  switch (request.kind) {
    case 'rollback':
      return rollBack(request, active, mirror);
    case 'purge':
      return purge(request, active, mirror);
    default:
      return run(request, active, mirror);
  }
}

async function run(request: RunRequest, active: ActiveRun, mirror: Mirror): Promise<RunReport> {
  const before = mirror.state();
  const result = await runOnce(before, request, active, {
    onChange: mirror.onChange,
    onPublishing: (publishing) => mirror.onState({ publishing }),
  });
  const { runId, snapshot, counts, publishedAt, warnings, checkpoint, pageSize, reconciled } = result;
  // The checkpoint moves only here, after the swap (DESIGN 2).
  mirror.onState({
    checkpoint,
    pageSize,
    publishing: null,
    displaced: false,
    resumable: null,
    reconciledAt: reconciled ? active.startedAt : before.reconciledAt,
    published: { runId, snapshot, rows: counts.rows, publishedAt },
  });
  const ref = refOf(mirror, active);
  await CancellationScope.nonCancellable(() => tidy['worktrack.cleanUp'](ref)).catch((error) => {
    log.warn('published, but staging could not be removed; the next run will do it', {
      error: toRunError(error).message,
    });
  });
  const { rows } = counts;
  return {
    resource: ref.resource,
    outcome: 'published',
    runId,
    rows,
    counts,
    snapshot,
    warnings,
    error: null,
  };
}

async function rollBack({ to }: RollbackRequest, active: ActiveRun, mirror: Mirror): Promise<RunReport> {
  mirror.onChange({ ...active, phase: 'roll-back' });
  const input = { ...fenced(mirror, active), to };
  // From here on the pointer may name that run.
  mirror.onState({ publishing: to });
  const { checkpoint, ...published } = await CancellationScope.nonCancellable(() =>
    amend['worktrack.rollBack'](input),
  ).catch((error) => {
    // Only a try of which nothing was heard leaves that open.
    if (toRunError(error).type !== 'Transient') mirror.onState({ publishing: input.publishingRunId });
    throw error;
  });
  mirror.onState({ checkpoint, published, publishing: null, resumable: null });
  return amended(input.resource, published);
}

async function purge({ key }: PurgeRequest, active: ActiveRun, mirror: Mirror): Promise<RunReport> {
  mirror.onChange({ ...active, phase: 'purge' });
  const input = { ...fenced(mirror, active), key };
  const { published, checkpoint, purged } = await CancellationScope.nonCancellable(() =>
    amend['worktrack.purgeRecord'](input),
  );
  mirror.onState({ checkpoint, published, resumable: null });
  return { ...amended(input.resource, published), purged };
}

function amended(resource: string, published: MirrorState['published']): RunReport {
  const { runId, rows, snapshot } = published ?? { runId: null, rows: null, snapshot: null };
  return { resource, outcome: 'published', runId, rows, counts: null, snapshot, warnings: [], error: null };
}

function refOf(mirror: Mirror, { runId }: ActiveRun): RunRef {
  const { connection, resource } = mirror.state();
  return { connection, resource, runId };
}

function fenced(mirror: Mirror, active: ActiveRun) {
  const { published, publishing, displaced } = mirror.state();
  return {
    ...refOf(mirror, active),
    publishedRunId: published?.runId ?? null,
    publishingRunId: publishing,
    displaced,
  };
}

/** Removes what a cancelled run wrote. */
export function discardRun(ref: RunRef): Promise<void> {
  return CancellationScope.nonCancellable(() => tidy['worktrack.discardRun'](ref));
}
