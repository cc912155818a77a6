/**
 * The rules of a mirror: its state and an event give its next state and the commands to carry out. The events are a request, a
 * withdrawal, an idle moment (`nextTurn`), a sweep that is due, and the end of a call (`callEnded`). A batch of
 * requests has one turn, and a turn has one call at a time. Pure: the workflow sandbox imports this file.
 */

import { auditOutcome } from '../core/audit-outcome.js';
import type { EpochMs, RunId } from '../core/brands.js';
import { runPhaseOf } from '../core/contract/activity-table.js';
import type {
  ActiveRun,
  Audited,
  MirrorRequest,
  MirrorState,
  NextPhase,
  Previewed,
  RollbackRequest,
  RunAnswer,
  RunEnded,
  RunError,
  RunInput,
  RunPublished,
  RunRecord,
  RunRequest,
  RunSpilled,
} from '../core/contract/index.js';
import { isSameDetection } from '../core/delete-detection.js';
import { HOUR_MS } from '../core/duration.js';
import { nextPageSize } from '../core/learned-page-size.js';
import { failedReport, type RunFailure, runSpec } from '../core/mirror-requests.js';
import { attemptRunId, newestId, newRunId, untilOwnSecond } from '../core/run-id.js';
import { limitRecord, limitWarnings } from '../core/run-records.js';
import { removalWarnings, type StoredWarning, toWarning, type Warning } from '../core/warnings.js';
import {
  type Call,
  type CallEnd,
  type CallName,
  type Command,
  call,
  changed,
  type Decided,
  fenced,
  type InputOf,
  type Mirror,
  type Moment,
  type ResultOf,
  type Turn,
  turnOf,
} from './mirror-commands.js';
import {
  alertedBy,
  answerOf,
  enqueue,
  fullQueue,
  isDryRun,
  isFull,
  nextBatch,
  remember,
} from './request-queue.js';
import {
  afterFailedSweep,
  afterPurge,
  afterSweep,
  endedRuns,
  purgeToSweep,
  sweepOfRun,
} from './sweep-rules.js';

const GAVE_WAY =
  'gave way: another request waited for this resource. Nothing was published. Run the command again.';

/** How long the diff of a dry run stays if no command removes it, ms. */
const DIFF_LIFE_MS = HOUR_MS;

/** A request has arrived. */
export function requested(mirror: Mirror, request: MirrorRequest): Decided {
  const { state, turn } = mirror;
  const { requestId } = request;
  const answer = answerOf(state.answered, requestId);
  if (answer !== undefined) return { mirror, commands: reply(request, answer) };
  if (turn?.batch.all.some((other) => other.requestId === requestId)) {
    const wanted = [...new Set([...turn.wanted, requestId])];
    return { mirror: changed(mirror, {}, { wanted }), commands: [] };
  }
  // Not remembered, so that the same request can be made again later.
  if (isFull(state.waiting, request))
    return { mirror, commands: reply(request, { requestId, report: tooMany(state) }) };
  const queued = changed(mirror, { waiting: enqueue(state.waiting, request) });
  const givesWay = turn !== null && isDryRun(turn.batch.first) && !isDryRun(request);
  if (!givesWay) return { mirror: queued, commands: [] };
  return { mirror: changed(queued, {}, { givesWay }), commands: [{ do: 'cancel' }] };
}

/** The sender of a request no longer waits for it. A run is cancelled only if every request of its batch is withdrawn. */
export function withdrawn(mirror: Mirror, requestId: string): Decided {
  const { state, turn } = mirror;
  const isOther = (id: string): boolean => id !== requestId;
  const waiting = state.waiting.filter((request) => isOther(request.requestId));
  const wanted = turn?.wanted.filter(isOther) ?? [];
  const isLast = turn !== null && turn.wanted.length > 0 && wanted.length === 0;
  return { mirror: changed(mirror, { waiting }, { wanted }), commands: isLast ? [{ do: 'cancel' }] : [] };
}

/** Milliseconds until the next turn may begin. */
export function untilTurn({ published, lastRun }: MirrorState, now: number): number {
  return untilOwnSecond(now, [published?.runId, lastRun?.runId]);
}

/** The mirror is idle, so it serves the next batch of requests; `null`: no request waits. */
export function nextTurn(mirror: Mirror, at: Moment): Decided | null {
  const next = nextBatch(mirror.state.waiting);
  if (next === null) return null;
  const { batch, rest } = next;
  const wanted = batch.all.map(({ requestId }) => requestId);
  const queued = changed(mirror, { waiting: rest });
  const opening = { batch, wanted, givesWay: false, beganAt: at.now, newer: null, notContinued: null };
  return begin(queued, opening, at.now, nextId(mirror.state, null, at));
}

/** The id of a run or purge that begins now. @param newer one in the lake that the mirror did not know; `null`: none */
function nextId({ published, lastRun, sweepAt }: MirrorState, newer: RunId | null, at: Moment): RunId {
  const known = newestId([published?.runId, lastRun?.runId, sweepAt?.before, newer]);
  return newRunId(at.now, known, at.random());
}

/** Once more an hour after a purge, because late requests may have restored the purged row. */
export function sweepDue(mirror: Mirror, now: number): Decided {
  return sweep(mirror, mirror.state.sweepAt!.before!, [], now);
}

/** A call has ended, with its result or a failure. */
export function callEnded<N extends CallName>(
  mirror: Mirror,
  { name, input }: Call<N>,
  end: CallEnd<N>,
  at: Moment,
): Decided {
  const after: After<N> = AFTER[name];
  if ('failure' in end) return after.failed(mirror, end.failure, at, input);
  return after.returned(mirror, end.result, at.now, input);
}

/** The run in the lake has come to its next phase. */
export function progressed(mirror: Mirror, { phase, pages, rows }: NextPhase): Mirror {
  const active = { ...turnOf(mirror).active, phase: runPhaseOf(phase), pages, rows };
  return changed(mirror, {}, { active, inLake: phase === 'publish' ? 'sent' : 'staged' });
}

interface After<N extends CallName> {
  returned(mirror: Mirror, result: ResultOf<N>, now: number, input: InputOf<N>): Decided;
  failed(mirror: Mirror, failure: RunFailure, at: Moment, input: InputOf<N>): Decided;
}

/** What follows each call. */
const AFTER: { readonly [N in CallName]: After<N> } = {
  'worktrack.run': {
    returned: (mirror, done, now, run) =>
      done.kind === 'spilled' ? spilled(mirror, done, run) : runEnded(mirror, done, now),
    failed,
  },
  phases: { returned: runEnded, failed },
  'worktrack.followTable': {
    returned: (mirror, { warnings }, now) => followed(mirror, null, warnings, now),
    failed(mirror, { error: { message } }, { now }) {
      const warning = { kind: 'table-behind', message } as const;
      return followed(mirror, warning, [warning], now);
    },
  },
  'worktrack.followOnPublished': {
    returned: (mirror, { hookedTo, warnings }, now) => hooked(changed(mirror, { hookedTo }), warnings, now),
    failed(mirror, { error: { message }, hookedTo }, { now }, { hook }) {
      const target = hook === 'announce' ? null : hook;
      const warning = { kind: 'hook-not-started', target, message } as const;
      return hooked(changed(mirror, hookedTo === undefined ? {} : { hookedTo }), [warning], now);
    },
  },
  'worktrack.sweep': {
    returned: (mirror, swept, now, { before }) => sweptBy(mirror, { before, ...swept }, now),
    failed: (mirror, { error: { message } }, { now }, { before }) =>
      sweptOnce(
        changed(mirror, afterFailedSweep(mirror.state, before, now)),
        [{ kind: 'sweep-failed', message }],
        now,
      ),
  },
  'worktrack.sweepFailedRun': {
    returned: (mirror, _, now) => discarded(mirror, now),
    // The next published run removes what is left.
    failed: (mirror, _, { now }) => discarded(mirror, now),
  },
  'worktrack.purgeRecord': {
    returned(mirror, amended, now, { resource, runId: purge }) {
      const { checkpoint, published, purged } = amended;
      const { runId = null, rows = null, snapshot = null } = published ?? {};
      // The purge has made the table follow.
      const shown = published && { ...published, tableWarning: null };
      const state = { checkpoint, published: shown, resumable: null, ...afterPurge(purge, now) };
      const nothing = { counts: null, warnings: [], error: null };
      const report = { resource, outcome: 'published', runId, rows, snapshot, purged, ...nothing } as const;
      return ended(changed(mirror, state), report, now);
    },
    failed,
  },
};

/** Starts the run of a turn, or its purge. */
function begin(
  mirror: Mirror,
  opening: Pick<Turn, 'batch' | 'wanted' | 'givesWay' | 'beganAt' | 'newer' | 'notContinued'>,
  startedAt: EpochMs,
  runId: RunId,
): Decided {
  const { state } = mirror;
  const request = opening.batch.first;
  const active: ActiveRun = {
    ...{ runId, startedAt, pages: 0, rows: 0, resumed: null },
    phase: request.kind === 'purge' ? 'purge' : 'read',
    mode: request.kind === 'run' ? request.mode : request.kind === 'rollback' ? 'rollback' : 'increment',
  };
  const noRun = { inLake: 'no', published: null, report: null } as const;
  const begun = { ...mirror, turn: { ...opening, ...noRun, runId: active.runId, active } };
  if (request.kind === 'purge') {
    const input = { ...fenced(mirror, active.runId), key: request.key };
    // A timed-out attempt may leave parts in any folder.
    return call(changed(begun, afterPurge(active.runId, startedAt)), 'worktrack.purgeRecord', input);
  }
  const input = inputOf(mirror, request, active, opening.notContinued);
  return call(begun, 'worktrack.run', input, `${state.resource}: ${input.mode}`);
}

function inputOf(
  mirror: Mirror,
  request: RunRequest | RollbackRequest,
  { runId, startedAt }: ActiveRun,
  notContinued: Turn['notContinued'],
): RunInput {
  const { state } = mirror;
  const { checkpoint, resumable, pageSize, hookedTo, sweepAt } = state;
  const rollbackTo = request.kind === 'rollback' ? request.to : null;
  const wanted = request.kind === 'run' ? request : runSpec(startedAt, { allowDeletes: true });
  const { mode, reconcile, adopt, allowDeletes, since, nominalStart, dryRun } = wanted;
  const { adoptOrganization, acceptChecks } = wanted;
  const isPlain = rollbackTo === null && mode === 'increment' && !reconcile;
  const sweep = sweepOfRun(state, { isPlain, notContinued }, startedAt);
  return {
    ...{ ...fenced(mirror, runId), mode, reconcile, adopt, allowDeletes, since, rollbackTo, nominalStart },
    ...{ startedAt, checkpoint, resumable, pageSize, hookedTo },
    ...(adoptOrganization && { adoptOrganization }),
    ...(acceptChecks !== undefined && { acceptChecks }),
    ...(sweepAt?.refused && { refused: sweepAt.refused }),
    ...(notContinued && { notContinued }),
    ...(dryRun === undefined ? sweep && { sweep } : { dryRun }),
  };
}

/** The run continues in the lake. */
function spilled(
  mirror: Mirror,
  { next: first, mode, resumed, giveUpAfterMs, hookedTo }: RunSpilled,
  run: RunInput,
): Decided {
  const { connection, resource, runId, startedAt, dryRun } = run;
  const ref = { connection, resource, runId, ...(dryRun && { isDry: true as const }) };
  const active = { ...turnOf(mirror).active, mode, resumed };
  const input = { ref, first, startedAt, giveUpAfterMs };
  return call(progressed(changed(mirror, { hookedTo }, { active }), first), 'phases', input);
}

function runEnded(mirror: Mirror, done: RunEnded, now: number): Decided {
  return done.kind === 'published' ? published(mirror, done, now) : previewed(mirror, done.run, now);
}

/**
 * `latest.json` names the run. Only here and after a purge does the checkpoint move
 * (docs/explanation/how-it-works.md#checkpoint). Then the table follows (docs/explanation/delta-tables.md), before a sweep,
 * which may remove snapshots that the table has missed.
 */
function published(mirror: Mirror, result: RunPublished, now: number): Decided {
  const { resource, published: before, pageSize: known } = mirror.state;
  const { runId, run, pageSize: sizes, table } = result;
  const { publishedAt, checkpoint, missed, runId: _, ...facts } = run;
  const { snapshot, counts, deletes, checks } = facts;
  const { active, batch } = turnOf(mirror);
  const request = batch.first;
  const shown = { runId, snapshot, rows: counts.rows, publishedAt, deletes };
  const more = { ...(checks && { checks }), ...(missed !== undefined && { missed }) };
  const state = {
    ...{ checkpoint, displaced: false, resumable: null },
    pageSize: sizes === null ? known : nextPageSize(known, sizes.configured, sizes.used),
    // The table shows neither run yet.
    published: { ...shown, ...more, tableWarning: before?.tableWarning ?? null },
  };
  const report: RunRecord = {
    ...{ resource, outcome: 'published', runId, rows: counts.rows, ...facts },
    ...{ error: null, warnings: facts.warnings.map(toWarning), ...asBefore(before, deletes) },
    ...(request.kind === 'rollback' && { rolledBackTo: request.to }),
  };
  if (!table) return followed(changed(mirror, state, { published: result, report }), null, [], now);
  const following = { published: result, report, active: { ...active, runId, phase: 'follow' } } as const;
  const { connection } = mirror.state;
  return call(changed(mirror, state, following), 'worktrack.followTable', { connection, resource, runId });
}

/** Whether a run knows the same about deletes as the published one before it: its note need not be printed again. */
function asBefore(
  before: MirrorState['published'],
  deletes: RunRecord['deletes'],
): Pick<RunRecord, 'deletesAsBefore'> {
  return deletes !== undefined && isSameDetection(before?.deletes, deletes) ? { deletesAsBefore: true } : {};
}

/**
 * The table has followed, or there is none: the workflow of `onPublished` starts for each run of the chain after the last one
 * that it was started for. An activity starts it, because a child workflow would put its result into the mirror's history. The
 * start never fails the run: the next published run starts the workflows that could not be started. The workflow id contains
 * the run, and the server rejects a second start, so each run has one workflow.
 */
function followed(
  before: Mirror,
  tableWarning: Warning | null,
  found: readonly StoredWarning[],
  now: number,
): Decided {
  const { connection, resource, hookedTo: after, published } = before.state;
  const { runId, onPublished: hook } = turnOf(before).published!;
  const mirror = warned(changed(before, { published: { ...published!, tableWarning } }), found);
  if (hook === null) return hooked(changed(mirror, { hookedTo: null }), [], now);
  const input = { connection, resource, runId, hook, after };
  return call(mirror, 'worktrack.followOnPublished', input, 'start the workflow of onPublished');
}

/** Last, the mirror sweeps, unless the activity of the run has done it or no sweep is due. */
function hooked(before: Mirror, found: readonly StoredWarning[], now: number): Decided {
  const { state } = before;
  const { published, runId: requested, notContinued } = turnOf(before);
  const { swept, runId } = published!;
  // A sweep tries again what an earlier one could not remove.
  const mirror = warned(swept === null ? before : withoutRefusals(before), found);
  if (swept === null) return sweptOnce(mirror, [], now);
  if (swept !== 'to do') return sweptBy(mirror, swept, now);
  const replaced = [requested, ...endedRuns(state, notContinued)].filter((id) => id !== runId);
  return sweep(mirror, runId, replaced, now);
}

function sweep(mirror: Mirror, runId: RunId, replaced: readonly RunId[], now: number): Decided {
  const before = purgeToSweep(mirror.state, now);
  return call(mirror, 'worktrack.sweep', { ...fenced(mirror, runId), replaced, before });
}

function sweptBy(mirror: Mirror, sweep: Parameters<typeof afterSweep>[1], now: number): Decided {
  return sweptOnce(
    changed(mirror, afterSweep(mirror.state, sweep, now)),
    removalWarnings(sweep.refused),
    now,
  );
}

/** @param found warnings of the sweep */
function sweptOnce(mirror: Mirror, found: readonly Warning[], now: number): Decided {
  if (mirror.turn === null) return { mirror, commands: [] };
  const { turn } = warned(mirror, found);
  return ended(mirror, turn!.report!, now);
}

/** Adds warnings to the report. */
function warned(mirror: Mirror, found: readonly StoredWarning[]): Mirror {
  const report = turnOf(mirror).report!;
  return changed(
    mirror,
    {},
    { report: { ...report, warnings: limitWarnings([...report.warnings, ...found]) } },
  );
}

/** The turn without the warning that an earlier sweep left objects in the lake. */
function withoutRefusals(mirror: Mirror): Mirror {
  const report = turnOf(mirror).report!;
  const left = report.warnings.filter((one) => one.kind !== 'not-removed' || one.from !== 'lake');
  return changed(mirror, {}, { report: { ...report, warnings: left } });
}

function previewed(mirror: Mirror, run: Previewed | Audited, now: number): Decided {
  const { resource, published } = mirror.state;
  const nothing = { runId: null, snapshot: null, error: null };
  if ('audit' in run) {
    const { rows } = run.audit;
    const outcome = auditOutcome(run.audit);
    return ended(mirror, { resource, outcome, rows, ...run, counts: null, warnings: [], ...nothing }, now);
  }
  const report = { resource, outcome: 'would-publish', rows: run.counts.rows, ...run, ...nothing } as const;
  return ended(mirror, { ...report, ...asBefore(published, run.deletes) }, now);
}

/**
 * A run that failed. What it has in the lake is removed immediately, unless its swap may still arrive: then its folders stay
 * until another run is published, whose sweep removes them before it answers. Pages where the next run may resume stay too. A
 * run in memory has done it itself.
 */
function failed(mirror: Mirror, failure: RunFailure, at: Moment): Decided {
  const { state } = mirror;
  const turn = turnOf(mirror);
  const { active, inLake, batch } = turn;
  const { connection, resource, displaced } = state;
  const { runId, startedAt, phase } = active;
  const { first } = batch;
  if (failure.newerId !== undefined && turn.newer === null)
    return begin(mirror, { ...turn, newer: failure.newerId }, at.now, nextId(state, failure.newerId, at));
  if (failure.unread !== undefined && turn.notContinued === null && first.kind !== 'purge') {
    const notContinued = { ...failure.unread, runId };
    return beginAgain(changed(mirror, {}, { notContinued, runId: attemptRunId(runId, at.random()) }), at.now);
  }
  const report = failedReport(resource, runId, failure);
  if (first.kind === 'purge') return ended(mirror, report, at.now);
  const ref = { connection, resource, runId };
  if (isDryRun(first)) {
    const input = { ...ref, nominalStart: startedAt, staging: 'removed' } as const;
    return call(changed(mirror, {}, { report }), 'worktrack.sweepFailedRun', input);
  }
  const own = mayResume(failure, active) ? runId : null;
  // An activity that would have taken over the pages of an earlier run has taken over none.
  const resumable = inLake === 'no' ? (state.resumable ?? own) : own;
  const staging = resumable === runId ? 'kept' : 'removed';
  // Once another mirror has published instead, this one stays displaced until it publishes again.
  const isDisplaced = displaced || failure.isOvertaken === true;
  const after = changed(mirror, { displaced: isDisplaced, resumable }, { report });
  // These failures show that the run's swap was not sent, or is lost.
  const isLost = failure.error.type === 'Displaced' || failure.error.type === 'Check';
  const isStagedOnly = (phase === 'read' || phase === 'settle') && staging === 'kept';
  if (inLake === 'no' || isStagedOnly || (inLake === 'sent' && !isLost)) return ended(after, report, at.now);
  // A rollback has the day when it begins.
  const nominalStart = first.kind === 'run' ? first.nominalStart : startedAt;
  return call(after, 'worktrack.sweepFailedRun', { ...ref, nominalStart, staging });
}

/**
 * No worker can read what the run has staged, so it begins again, once, under another id of its request. What it has in the lake is
 * removed first, unless its swap may still arrive. If it does, the run that begins now finds that its request was published.
 */
function beginAgain(mirror: Mirror, now: EpochMs): Decided {
  const { batch, active, inLake, runId } = turnOf(mirror);
  if (inLake === 'sent') return begin(mirror, turnOf(mirror), now, runId);
  const { connection, resource } = mirror.state;
  const nominalStart = batch.first.kind === 'run' ? batch.first.nominalStart : active.startedAt;
  const input = { connection, resource, runId: active.runId, nominalStart, staging: 'removed' } as const;
  return call(mirror, 'worktrack.sweepFailedRun', input);
}

/** What a run had in the lake is removed: the run ends, or begins again. */
function discarded(mirror: Mirror, now: EpochMs): Decided {
  const { report, runId } = turnOf(mirror);
  return report === null ? begin(mirror, turnOf(mirror), now, runId) : ended(mirror, report, now);
}

/**
 * Whether the next run may resume from the staged pages of a failed run. It may if the cause lies outside the pages. If
 * the pages may be the cause, one more run resumes from them, and the run after that rereads everything.
 */
function mayResume({ outcome, error: { type } }: RunFailure, { resumed }: ActiveRun): boolean {
  if (outcome === 'cancelled') return false;
  if (type === 'Refused' || type === 'Transient' || type === 'Configuration') return true;
  return (type === 'Lake' || type === 'Failed') && resumed === null;
}

/** The turn ends: its requests are answered, and its run is counted and reported. */
function ended(mirror: Mirror, result: RunRecord, now: number): Decided {
  const { state } = mirror;
  const turn = turnOf(mirror);
  const { batch, wanted, beganAt } = turn;
  const { first, all } = batch;
  const isDry = isDryRun(first);
  const isRun = first.kind === 'run' && !isDry;
  const report = limitRecord(isDry ? dryReport(mirror, turn, result) : result);
  const answers = all.map((request) => ({ request, answer: { requestId: request.requestId, report } }));
  // A rollback that was refused says nothing about the resource.
  const isLast = isRun || (first.kind === 'rollback' && report.outcome === 'published');
  // A dry run can be repeated, and leaves nothing in the state.
  const kept = isDry ? [] : answers.map(({ answer }) => answer);
  const answered = kept.reduce(remember, state.answered);
  const commands: Command[] = [
    ...(isDry ? discardDiff(mirror, turn, result) : []),
    ...(isRun ? ([{ do: 'count', report, ms: now - beganAt }] as const) : []),
    ...(isRun && report.outcome !== 'cancelled' && alertedBy(all, new Set(wanted)) === 'mirror'
      ? ([{ do: 'alert', report }] as const)
      : []),
    ...answers.flatMap(({ request, answer }) => reply(request, answer)),
  ];
  const after = { ...state, answered, ...(isLast && { lastRun: report }) };
  return { mirror: { ...mirror, state: after, turn: null }, commands };
}

/** A run that does everything but publish. Whatever its end, nothing of it stays, apart from its diff for an hour. */
function dryReport({ state: { resource } }: Mirror, { givesWay }: Turn, report: RunRecord): RunRecord {
  if (givesWay && report.outcome === 'cancelled')
    return failedBecause(resource, { type: 'GaveWay', message: GAVE_WAY });
  return { ...report, runId: null };
}

function discardDiff({ state }: Mirror, { active }: Turn, { dryRun, audit }: RunRecord): Command[] {
  if (!(dryRun?.diff ?? audit?.diff)) return [];
  const { connection, resource } = state;
  const { runId, startedAt: nominalStart } = active;
  const input = { connection, resource, runId, nominalStart, staging: 'removed' } as const;
  return [{ do: 'discard-later', input, afterMs: DIFF_LIFE_MS }];
}

function tooMany(state: MirrorState): RunRecord {
  return failedBecause(state.resource, { type: 'Failed', message: fullQueue(state) });
}

function failedBecause(resource: string, error: RunError): RunRecord {
  return failedReport(resource, null, { outcome: 'failed', error });
}

function reply({ replyTo }: MirrorRequest, answer: RunAnswer): Command[] {
  return replyTo === null ? [] : [{ do: 'reply', to: replyTo, answer }];
}
