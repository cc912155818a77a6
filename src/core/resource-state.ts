import type { RunOutcome } from './contract/index.js';
import { type AgeLimit, isStale } from './data-age.js';

/** The states of a mirrored resource and their names for people, from the most to the least important. */
export const STATE_NAMES = {
  unreadable: 'unreadable',
  'other-owner': 'owned by another writer',
  refused: 'refused',
  failed: 'failed',
  retrying: 'retrying',
  'no-worker': 'no worker',
  'rolled-back': 'rolled back',
  stale: 'stale',
  cancelled: 'cancelled',
  'behind-schedule': 'behind schedule',
  'never-run': 'never run',
  running: 'running',
  published: 'published',
} as const;

export type ResourceState = keyof typeof STATE_NAMES;

/** From the most to the least important. */
export const RESOURCE_STATES = Object.keys(STATE_NAMES) as readonly ResourceState[];

/** What is known about a resource. Times are milliseconds since 1970. */
export interface ResourceFacts {
  /** Why the lake, or the pointer in it, cannot be read; `null`: it can. */
  readonly problem: string | null;
  /** Which other connection or mirror has written the resource, and what to do; `null`: none. */
  readonly owner: string | null;
  /** The run in progress; `retrying` is why the last attempt of its step failed. */
  readonly active: { readonly startedAt: number | null; readonly retrying: string | null } | null;
  /** Whether a worker polls the task queue; `null`: not known. */
  readonly hasWorker: boolean | null;
  /** The last run that ended. */
  readonly lastRun: {
    readonly outcome: RunOutcome;
    readonly startedAt: number | null;
    readonly error: string | null;
  } | null;
  /** The published checkpoint: every change before it is in the lake; `null`: nothing is published, or it is not known. */
  readonly dataFrom: number | null;
  /** A rollback published earlier rows, and no complete full read has followed. */
  readonly rolledBack: boolean;
  /** Nominal start of the scheduled run that the published data lacks; `null`: there is none. */
  readonly behindSince: number | null;
}

/** Those in the worst state of all; empty for none. */
export function worstOf<One extends Pick<Verdict, 'state'>>(all: readonly One[]): One[] {
  const worst = RESOURCE_STATES.find((state) => all.some((one) => one.state === state));
  return all.filter(({ state }) => state === worst);
}

/** What the facts amount to. Every command, the report and the alerts print this and judge nothing themselves. */
export interface Verdict {
  readonly state: ResourceState;
  /** Whether the last run was published and the data is not stale: `status --check`. */
  readonly fresh: boolean;
  /** Whether a person should look at it. */
  readonly isProblem: boolean;
  /** Why, as a text without a full stop; `null` if there is nothing to say. */
  readonly cause: string | null;
  /** When the state began, milliseconds since 1970; `null`: not known. */
  readonly since: number | null;
}

/**
 * Judges a mirrored resource (docs/how-to/monitor.md#states).
 *
 * @example
 * const { state, fresh } = judgeResource(facts, { maxAgeMs: DEFAULT_MAX_AGE_MS, at: Date.now() });
 */
export function judgeResource(facts: ResourceFacts, limit: AgeLimit): Verdict {
  const found = judge(facts, limit);
  const { problem, owner, lastRun, dataFrom } = facts;
  const isReadable = problem === null && owner === null;
  const fresh =
    isReadable && lastRun?.outcome === 'published' && dataFrom !== null && !isStale(dataFrom, limit);
  return { ...found, fresh, isProblem: found.state !== 'published' && found.state !== 'running' };
}

type Judgement = Pick<Verdict, 'state' | 'cause' | 'since'>;

function judge(facts: ResourceFacts, limit: AgeLimit): Judgement {
  const { problem, owner, active, hasWorker, lastRun, dataFrom, rolledBack, behindSince } = facts;
  const outcome = lastRun?.outcome ?? null;
  const started = lastRun?.startedAt ?? null;
  if (problem !== null) return is('unreadable', problem);
  if (owner !== null) return is('other-owner', owner);
  if (active !== null && hasWorker !== false) {
    if (active.retrying !== null) return is('retrying', active.retrying, active.startedAt);
    return is('running', causeBefore(lastRun, dataFrom, limit), active.startedAt);
  }
  if (active === null && (outcome === 'refused' || outcome === 'failed'))
    return is(outcome, lastRun?.error ?? 'the cause is not known', started);
  if (hasWorker === false) return is('no-worker', 'no worker polls the task queue');
  if (rolledBack)
    return is('rolled-back', 'a rollback published earlier rows, and no complete full read has followed');
  if (dataFrom !== null && isStale(dataFrom, limit)) return is('stale', whyStale(lastRun, limit), dataFrom);
  if (outcome === 'cancelled') return is('cancelled', 'the last run was cancelled', started);
  if (behindSince !== null)
    return is('behind-schedule', 'the last scheduled run was not published', behindSince);
  return outcome === null ? is('never-run', 'no run is published yet') : is('published', null);
}

function is(state: ResourceState, cause: string | null, since: number | null = null): Judgement {
  return { state, cause, since };
}

/** A run publishes what it has read, but moves no checkpoint, if its list was incomplete. */
function whyStale(lastRun: ResourceFacts['lastRun'], limit: AgeLimit): string {
  const isRecent =
    lastRun?.outcome === 'published' && lastRun.startedAt !== null && !isStale(lastRun.startedAt, limit);
  return isRecent
    ? 'the last run was published, but did not read all changes: see its warnings'
    : 'no recent run was published';
}

/** What the run in progress has to end. */
function causeBefore(
  lastRun: ResourceFacts['lastRun'],
  dataFrom: number | null,
  limit: AgeLimit,
): string | null {
  if (lastRun?.outcome === 'failed' || lastRun?.outcome === 'refused')
    return `the run before ${lastRun.outcome === 'failed' ? 'failed' : 'was refused'}${lastRun.error === null ? '' : `: ${lastRun.error}`}`;
  return dataFrom !== null && isStale(dataFrom, limit) ? whyStale(lastRun, limit) : null;
}

/** A run that was not published, or is in progress. */
export interface OtherRun {
  readonly outcome: RunOutcome | 'running';
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly error: { readonly message: string } | null;
  readonly retrying: string | null;
}

/** The newest published run. */
export interface NewestPublished {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly checkpoint: string;
  readonly rolledBack: boolean;
}

/** What a list of runs says, for those who know only the runs. */
export function factsOfRuns(published: NewestPublished | null, others: readonly OtherRun[]): ResourceFacts {
  const active = others.find(({ outcome }) => outcome === 'running') ?? null;
  const [newest] = endedAfter(published, others);
  return {
    ...{ problem: null, owner: null, hasWorker: null, behindSince: null },
    active: active && { startedAt: active.startedAt, retrying: active.retrying },
    lastRun: newest
      ? { outcome: newest.outcome, startedAt: newest.startedAt, error: newest.error?.message ?? null }
      : published && { outcome: 'published', startedAt: published.startedAt, error: null },
    dataFrom: published === null ? null : Date.parse(published.checkpoint),
    rolledBack: published?.rolledBack ?? false,
  };
}

/** The runs that ended without publishing after the newest published one, newest first. */
export function endedAfter<Run extends OtherRun>(
  published: Pick<NewestPublished, 'startedAt'> | null,
  others: readonly Run[],
): (Run & { readonly outcome: RunOutcome })[] {
  const from = published?.startedAt ?? Number.NEGATIVE_INFINITY;
  return others
    .filter(
      (run): run is Run & { readonly outcome: RunOutcome } =>
        run.outcome !== 'running' && run.startedAt > from,
    )
    .sort((a, b) => b.startedAt - a.startedAt);
}
