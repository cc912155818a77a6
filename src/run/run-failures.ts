import { ApplicationFailure, Context } from '@temporalio/activity';
import type { EpochMs, Millis, RunId } from '../core/brands.js';
import { activityFacts, timeGiven } from '../core/contract/activity-table.js';
import type { FailureType, RunInput, RunRef, StepHeartbeat } from '../core/contract/index.js';
import { MINUTE_MS } from '../core/duration.js';
import type { RunFailure } from '../core/mirror-requests.js';
import { haveSameRequest, parseRunDate } from '../core/run-id.js';
import { readPointer } from '../lake/documents/pointer.js';
import { type RunFile, shownId } from '../lake/documents/run-file.js';
import { isSameWriter } from '../lake/published/ownership.js';
import type { ActivityDeps, OpenConnection } from './deps.js';
import { finalFailure } from './failures.js';
import { readJournal } from './staging.js';

/** The failure of a run that another mirror has displaced by publishing its own run. Its detail tells it from the fence's. */
export function displacedFailure({ resource, runId }: RunRef, to: RunId | null): ApplicationFailure {
  const what = to === null ? 'latest.json was removed' : `another mirror published run ${to}`;
  return finalFailure(
    'Displaced',
    `${resource}: ${what} while run ${runId} was in progress, so this run was not published. ` +
      'If this mirror is the one that should write to the lake, run `worktrack export --adopt`.',
    { isOvertaken: true },
  );
}

/**
 * Checks that this worker asks the service that the run began with, because a cursor or an id means something else to another
 * one. A run in the lake may have begun on another worker, or before a restart.
 *
 * @throws a final failure `Configuration`
 */
export function checkSameService(
  run: RunFile,
  { settings }: OpenConnection,
  { origin }: Pick<ActivityDeps, 'origin'>,
): void {
  const { resource, baseUrl } = run;
  const { name } = resource;
  if (settings.baseUrl === baseUrl) return;
  throw finalFailure(
    'Configuration',
    `${name}: run ${shownId(run)} reads from ${baseUrl}, but ${origin} has the baseUrl ${settings.baseUrl}. Nothing was published. Give ` +
      'all workers of the connection the same configuration, then export again.',
    { resource: name },
  );
}

/** Failure types of a run whose objects the displacing mirror has removed. */
const SYMPTOMS: readonly (FailureType | null | undefined)[] = ['Lake', 'VerificationFailed'];

/**
 * The failure of a phase in the lake as its workflow gets it: see `orDisplaced` and `finalIfLate`. The time until the run gives
 * up is fixed with its settings. It limits the activities that ask the service. The others have a number of attempts.
 *
 * @param clock Temporal's
 */
export async function failureInLake(
  deps: ActivityDeps,
  ref: RunRef,
  failure: unknown,
  clock: () => EpochMs,
): Promise<unknown> {
  if (!isTransient(failure)) return orDisplaced(deps, ref, failure);
  if (isUnread(failure))
    return finalIfUnread(
      failure,
      clock(),
      () => deps.connection(ref.connection).settings.retries.giveUpAfterMs,
    );
  const { activityType, scheduledTimestampMs: from } = Context.current().info;
  if (activityFacts(activityType)?.giveUp !== 'time') return failure;
  const { store } = deps.connection(ref.connection);
  // If this look-up fails as well, another attempt decides.
  const journal = await readJournal(store, ref).catch(() => null);
  if (journal === null) return failure;
  return finalIfLate(failure, clock() - from, () => timeGiven(journal.run, from));
}

/** A run, and its mirror, if the caller knows it: the journal of a run in memory is not in the lake. */
type RefusedRun = RunRef & Partial<Pick<RunInput, 'writer'>>;

/**
 * `Displaced` instead of a failure whose cause is that another mirror published a run and removed what this run had staged.
 */
export async function orDisplaced(deps: ActivityDeps, ref: RefusedRun, failure: unknown): Promise<unknown> {
  if (!(failure instanceof ApplicationFailure) || !SYMPTOMS.includes(failure.type as FailureType))
    return failure;
  // If this look-up fails as well, the original failure is the useful one.
  const winner = await findDisplacingRun(deps, ref).catch(() => null);
  return winner === null ? failure : displacedFailure(ref, winner);
}

/** How long a run waits for a worker that can read what it has staged. */
const MAX_UNREAD_MS = 10 * MINUTE_MS;

/**
 * The final failure if no attempt could read a staged document for long enough, otherwise the failure itself. The mirror then
 * begins the run again. Any other failure is returned unchanged.
 *
 * @param now by Temporal's clock
 * @param giveUpAfterMs called only for such a failure
 */
export function finalIfUnread(failure: unknown, now: EpochMs, giveUpAfterMs: () => Millis): unknown {
  if (!isTransient(failure) || !isUnread(failure)) return failure;
  const context = Context.current();
  const before = context.info.heartbeatDetails as StepHeartbeat | null | undefined;
  const since = before?.unreadSince ?? now;
  // The other details are those of the last attempt that could.
  context.heartbeat({ ...before, unreadSince: since } satisfies StepHeartbeat);
  // The waits between attempts double, so another one comes before Temporal gives up.
  if (now - since < Math.min(MAX_UNREAD_MS, giveUpAfterMs() / 3)) return failure;
  return finalFailure('Transient', failure.message, failure.details?.[0] as object);
}

function isUnread({ details }: ApplicationFailure): boolean {
  return (details?.[0] as Partial<RunFailure> | undefined)?.unread !== undefined;
}

/** A failure that Temporal would retry, of the service or the store. A refusal that is retried seems to be a limit. */
function isTransient(failure: unknown): failure is ApplicationFailure {
  if (!(failure instanceof ApplicationFailure) || failure.nonRetryable === true) return false;
  return failure.type === 'Transient' || failure.type === 'Refused';
}

/**
 * The final failure if the next attempt of a transient one would start too late, otherwise the failure itself.
 *
 * @param ageMs time since the run, or its phase, was requested
 * @param limitMs called only for a transient failure: without a configuration, there is no such time
 */
export function finalIfLate(failure: unknown, ageMs: number, limitMs: () => number): unknown {
  if (!isTransient(failure)) return failure;
  const wait = Number(failure.nextRetryDelay ?? 0);
  if (ageMs + wait < limitMs()) return failure;
  const type = failure.type as FailureType;
  return finalFailure(type, `gave up: ${failure.message}`, failure.details?.[0] as object | undefined);
}

/** Returns the run that another mirror published since this run began; `null` if there is none. */
async function findDisplacingRun(deps: ActivityDeps, ref: RefusedRun): Promise<RunId | null> {
  const { store } = deps.connection(ref.connection);
  const pointer = await readPointer(store, ref.resource);
  if (pointer === null) return null;
  const { runId, writer, publishedAt } = pointer;
  const run = (await readJournal(store, ref))?.run ?? null;
  // Without its journal, compare times: a mirror has one run at a time, so what was published since this run began
  // belongs to another mirror, even if that mirror's run began earlier.
  const before =
    run === null ? Date.parse(publishedAt) < parseRunDate(ref.runId) + 1000 : runId === run.before?.runId;
  const mirror = run?.writer ?? ref.writer;
  const isOfMirror = mirror !== undefined && isSameWriter(mirror, writer);
  // An attempt in memory has its own id.
  const isOwn = runId === ref.runId || (isOfMirror && (run !== null || haveSameRequest(runId, ref.runId)));
  return before || isOwn ? null : runId;
}
