import type { ProblemKind } from './alert-events.js';
import type { EpochMs } from './brands.js';
import type { RunError, RunRecord } from './contract/index.js';
import { type AgeLimit, isStale } from './data-age.js';
import { schemaChangeTexts } from './schema-changes.js';
import { warningText } from './warnings.js';

/**
 * The states of a mirrored resource, from the most to the least important: the name for people, and the event of alerts
 * (docs/how-to/alerts.md#events). `null`: there is no alert about it. A failed run has the event of its type of error.
 */
export const STATES = {
  unreadable: ['unreadable', null],
  'other-owner': ['owned by another writer', null],
  refused: ['refused', 'failure'],
  failed: ['failed', 'failure'],
  retrying: ['retrying', null],
  'no-worker': ['no worker', null],
  'rolled-back': ['rolled back', null],
  stale: ['stale', 'stale'],
  cancelled: ['cancelled', null],
  'behind-schedule': ['behind schedule', 'behind'],
  'never-run': ['never run', null],
  running: ['running', null],
  published: ['published', null],
} as const satisfies Record<string, readonly [name: string, event: ProblemKind | null]>;

export type ResourceState = keyof typeof STATES;

/** What is known about a resource. */
export interface ResourceFacts {
  /** Why the lake, or the pointer in it, cannot be read; `null`: it can. */
  readonly problem: string | null;
  /** Which other connection or mirror has written the resource, and what to do; `null`: none. */
  readonly owner: string | null;
  /** The run in progress; `retrying` is why the last attempt of its step failed. */
  readonly active: { readonly startedAt: EpochMs | null; readonly retrying: string | null } | null;
  /** Whether a worker polls the task queue; `null`: not known. */
  readonly hasWorker: boolean | null;
  /** The last run that ended. */
  readonly lastRun: EndedRun | null;
  /** The published checkpoint: every change before it is in the lake; `null`: nothing is published, or it is not known. */
  readonly dataFrom: EpochMs | null;
  /** A rollback published earlier rows, and no complete full read has followed. */
  readonly rolledBack: boolean;
  /** Nominal start of the scheduled run that the published data lacks; `null`: there is none. */
  readonly behindSince: EpochMs | null;
}

/** What the judge uses of a run that ended. */
interface EndedRun
  extends Pick<RunRecord, 'outcome'>,
    Partial<Pick<RunRecord, 'warnings' | 'schemaChanges'>> {
  /** `null`: not known. */
  readonly startedAt: EpochMs | null;
  readonly error: (Partial<Pick<RunError, 'type'>> & Pick<RunError, 'message'>) | null;
}

/** For those who know only some of the facts. */
export const NOTHING_KNOWN: ResourceFacts = {
  ...{ problem: null, owner: null, active: null, hasWorker: null, lastRun: null },
  ...{ dataFrom: null, rolledBack: false, behindSince: null },
};

/** Something that is wrong, or, in the state `published`, something that a person should know. */
export interface Problem {
  readonly state: ResourceState;
  readonly cause: string;
  /** When it began; `null`: not known. */
  readonly since: EpochMs | null;
  /** The event of alerts that its beginning and its end are; `null`: no alert. */
  readonly event: ProblemKind | null;
}

/**
 * Everything that is wrong with a resource, the most important first. `status` and the report show the first; alerts report when
 * each that has an event begins and ends.
 */
export function findProblems(facts: ResourceFacts, limit: AgeLimit): Problem[] {
  const { problem, owner, active, hasWorker, lastRun, dataFrom, rolledBack, behindSince } = facts;
  const { outcome = null, startedAt = null, error = null } = lastRun ?? {};
  const found: Problem[] = [];
  const add = (state: Problem['state'], cause: string, since: number | null = null): void => {
    found.push({ state, cause, since, event: STATES[state][1] });
  };
  if (problem !== null) add('unreadable', problem);
  if (owner !== null) add('other-owner', owner);
  if (outcome === 'refused' || outcome === 'failed')
    found.push({
      ...{
        state: outcome,
        cause: error?.message ?? `the run was ${outcome}; the cause is not known`,
        since: startedAt,
      },
      event: eventOfFailure(error),
    });
  if (hasWorker === false) add('no-worker', 'no worker polls the task queue');
  else if (active?.retrying != null) add('retrying', active.retrying, active.startedAt);
  if (rolledBack)
    add('rolled-back', 'a rollback published earlier rows, and no complete full read has followed');
  if (dataFrom !== null && isStale(dataFrom, limit)) add('stale', whyStale(lastRun, limit), dataFrom);
  if (outcome === 'cancelled') add('cancelled', 'the last run was cancelled', startedAt);
  if (behindSince !== null) add('behind-schedule', 'the last scheduled run was not published', behindSince);
  if (outcome === null) add('never-run', 'no run is published yet');
  return lastRun?.outcome === 'published' ? [...found, ...notesOf(lastRun)] : found;
}

/** What a published run says: its warnings and its schema changes. */
function notesOf({ warnings = [], schemaChanges, startedAt: since }: EndedRun): Problem[] {
  const note = (event: ProblemKind, cause: string): Problem => ({ state: 'published', event, cause, since });
  const notes: Problem[] = [];
  if (warnings.length > 0) notes.push(note('warning', listed(warnings.map(warningText))));
  if (schemaChanges !== undefined) {
    const { first, count } = schemaChanges;
    notes.push(note('schema-change', listed(schemaChangeTexts({ first, count: first.length }), count)));
  }
  return notes;
}

/** Most texts of a cause. The manifest has all. */
const MAX_NAMED = 5;

/** The first texts. @param all the number of all of them */
function listed(texts: readonly string[], all = texts.length): string {
  const more = all - Math.min(texts.length, MAX_NAMED);
  return [...texts.slice(0, MAX_NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

function eventOfFailure(error: EndedRun['error']): ProblemKind {
  if (error?.type === 'Check') return 'check';
  return error?.type === 'DeletesHeld' ? 'deletes-held' : STATES.failed[1];
}

/** A run publishes what it has read, but moves no checkpoint, if its list was incomplete. */
function whyStale(lastRun: ResourceFacts['lastRun'], limit: AgeLimit): string {
  const isRecent =
    lastRun?.outcome === 'published' && lastRun.startedAt !== null && !isStale(lastRun.startedAt, limit);
  return isRecent
    ? 'the last run was published, but did not read all changes: see its warnings'
    : 'no recent run was published';
}
