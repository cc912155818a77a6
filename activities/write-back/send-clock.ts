import { Context } from '@temporalio/activity';
import type { EpochMs } from '../../src/core/brands.js';
import type { RunClocks } from '../../src/lake/documents/run-file.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import type { ActivityDeps } from '../../src/run/deps.js';
import { latestOf } from '../../src/write-back/request-age.js';

/** All clocks that an attempt at sending knows. The worker's may be wrong, and may be set while the attempt runs. */
export class SendClock {
  readonly #worker: Pick<ActivityDeps, 'now'>;
  readonly #store: Pick<ObjectStore, 'serverTime'>;
  readonly #temporal: () => EpochMs;

  /** @param temporal Temporal's clock */
  constructor(
    worker: Pick<ActivityDeps, 'now'>,
    store: Pick<ObjectStore, 'serverTime'>,
    temporal: () => EpochMs,
  ) {
    this.#worker = worker;
    this.#store = store;
    this.#temporal = temporal;
  }

  read(): RunClocks {
    return { temporal: this.#temporal(), worker: this.#worker.now(), store: this.#store.serverTime() };
  }

  /** The latest time that a clock shows. */
  now(): EpochMs {
    return latestOf(this.read());
  }
}

/**
 * Temporal's clock: the time when the attempt started, plus the time elapsed since. The SDK tells an
 * activity only when it was scheduled, which can be days before a worker took it, so the server is asked. Without an answer, it is
 * the time when it was scheduled.
 */
export async function temporalStartClock(): Promise<() => EpochMs> {
  const begun = performance.now();
  const { info } = Context.current();
  const scheduled = info.currentAttemptScheduledTimestampMs;
  const started = await startedAt().catch(() => null);
  return () => Math.round(Math.max(scheduled, started ?? scheduled) + performance.now() - begun);
}

async function startedAt(): Promise<EpochMs | null> {
  const { client, info } = Context.current();
  const { workflowId, runId } = info.workflowExecution!;
  const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
  const own = raw.pendingActivities?.find(({ activityId }) => activityId === info.activityId);
  const time = own?.lastStartedTime;
  return time == null ? null : Number(time.seconds ?? 0) * 1000 + Math.floor((time.nanos ?? 0) / 1e6);
}
