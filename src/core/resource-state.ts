import type { EpochMs } from './brands.js';
import type { RunError, RunOutcome } from './contract/index.js';
import { type AgeLimit, isStale } from './data-age.js';
import {
  findProblems,
  NOTHING_KNOWN,
  type Problem,
  type ResourceFacts,
  type ResourceState,
  STATES,
} from './find-problems.js';

/** From the most to the least important. */
export const RESOURCE_STATES = Object.keys(STATES) as readonly ResourceState[];

/** The names of the states for people. */
export const STATE_NAMES = Object.fromEntries(
  RESOURCE_STATES.map((state) => [state, STATES[state][0]]),
) as Readonly<Record<ResourceState, string>>;

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
  /** When the state began; `null`: not known. */
  readonly since: EpochMs | null;
}

/** What a run in progress does not end. */
const DURING_RUN: readonly ResourceState[] = ['unreadable', 'other-owner', 'retrying', 'no-worker'];

/**
 * Judges a mirrored resource (docs/how-to/monitor.md#states).
 *
 * @example
 * const { state, fresh } = judgeResource(facts, { maxAgeMs: DEFAULT_MAX_AGE_MS, at: Date.now() });
 */
export function judgeResource(facts: ResourceFacts, limit: AgeLimit): Verdict {
  const problems = findProblems(facts, limit).filter(({ state }) => state !== 'published');
  const { active, lastRun, dataFrom } = facts;
  const [worst] = active === null ? problems : problems.filter(({ state }) => DURING_RUN.includes(state));
  const isReadable = !problems.some(({ state }) => state === 'unreadable' || state === 'other-owner');
  const isFresh = dataFrom !== null && !isStale(dataFrom, limit);
  const fresh = isReadable && lastRun?.outcome === 'published' && isFresh;
  if (worst !== undefined) {
    const { state, cause, since } = worst;
    return { state, fresh, isProblem: true, cause, since };
  }
  return active === null
    ? { state: 'published', fresh, isProblem: false, cause: null, since: null }
    : {
        state: 'running',
        fresh,
        isProblem: false,
        cause: causeBefore(facts, problems),
        since: active.startedAt,
      };
}

/** What the run in progress has to end. */
function causeBefore({ lastRun }: ResourceFacts, problems: readonly Problem[]): string | null {
  const before = problems.find(({ state }) => ['refused', 'failed', 'stale'].includes(state));
  if (before === undefined || before.state === 'stale') return before?.cause ?? null;
  const why = lastRun?.error == null ? '' : `: ${lastRun.error.message}`;
  return `the run before ${before.state === 'failed' ? 'failed' : 'was refused'}${why}`;
}

/** A run that was not published, or is in progress. */
export interface OtherRun {
  readonly outcome: RunOutcome | 'running';
  readonly startedAt: EpochMs;
  readonly error: Pick<RunError, 'message'> | null;
  /** Why the last attempt of a running step failed; `null` if it did not. */
  readonly retrying: string | null;
}

/** The newest published run. */
export interface NewestPublished {
  readonly startedAt: EpochMs;
  readonly checkpoint: string;
  readonly rolledBack: boolean;
}

/** What a list of runs says, for those who know only the runs. */
export function factsOfRuns(published: NewestPublished | null, others: readonly OtherRun[]): ResourceFacts {
  const active = others.find(({ outcome }) => outcome === 'running') ?? null;
  const [newest] = endedAfter(published, others);
  return {
    ...NOTHING_KNOWN,
    active: active && { startedAt: active.startedAt, retrying: active.retrying },
    lastRun: newest
      ? { outcome: newest.outcome, startedAt: newest.startedAt, error: newest.error }
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
