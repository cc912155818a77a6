/**
 * The rules that turn observations into messages (docs/how-to/alerts.md#when-messages-are-sent): a state, what was
 * observed, and the time give the messages that are due. Pure: the workflow sandbox imports this file. Times are
 * milliseconds since 1970.
 */

import { FAILED_RUN, isLasting } from '../alert-events.js';
import type { EpochMs } from '../brands.js';
import type {
  AlertMessage,
  AlertProblem,
  AlertReport,
  AlertsConnection,
  AlertsState,
  AlertTargetState,
  FoundProblem,
  Observation,
} from '../contract/alerts.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../duration.js';
import { groupsOf, mostImportant, NO_GROUPS } from './groups.js';
import { viewOf, viewsOf } from './views.js';

/** After a message, further news for the same target are collected for this long. */
export const COLLECT_MS = 10 * MINUTE_MS;
/** While other connections still have problems, a recovery waits this long for theirs. */
const RECOVERY_MS = HOUR_MS;
/** The first reminder. It is later than a day, so that it does not come just before the nightly run that ends the problem. */
export const FIRST_REMINDER_MS = 26 * HOUR_MS;
const REMINDER_MS = DAY_MS;
/** After a message that could not be sent. What happens until then is in the next attempt. */
export const RETRY_MS = 30 * MINUTE_MS;

/**
 * Reports of runs do not overtake others of this age: an export reports all its runs at its end. What a look at the lake has
 * found is reported immediately.
 */
const RUN_SEEN_MS = 2 * DAY_MS;
const LOOK_SEEN_MS = HOUR_MS;

/** Problems beyond this number have no text, and beyond the second are not kept: each report looks at all of them. */
const MAX_TEXTS = 800;
const MAX_PROBLEMS = 3000;

export function newAlerts(): AlertsState {
  return { connections: {}, targets: {} };
}

/** Whether there is nothing to remember, so that the workflow can end. */
export function isIdle({ connections }: AlertsState): boolean {
  return Object.keys(connections).length === 0;
}

/** Something was observed. */
export function reported(state: AlertsState, report: AlertReport, now: number): AlertsState {
  const { connection } = report;
  const old = state.connections[connection];
  if (report.targets.length === 0) {
    const { [connection]: _, ...connections } = state.connections;
    return withUsedTargets({ ...state, connections });
  }
  const known = ({ kind, resource }: AlertProblem): boolean =>
    kind.startsWith('rows-') || kind === 'behind' || report.resources.includes(resource);
  const pausedAt = report.isPaused === true ? now : (old?.pausedAt ?? 0);
  let problems = (old?.problems ?? []).filter(known);
  const seen = new Map(Object.entries(old?.seen ?? {}));
  for (const observation of report.observations) {
    const isDue = ({ dueAt }: FoundProblem): boolean => dueAt === undefined || dueAt > pausedAt;
    const found = { ...observation, problems: observation.problems.filter(isDue) };
    const about = seenKey(observation);
    const { asOf } = observation;
    const isOutdated = asOf !== undefined && asOf < (seen.get(about) ?? asOf);
    if (asOf !== undefined && !isOutdated) seen.set(about, asOf);
    problems = isOutdated
      ? withMomentary(problems, report, found, now)
      : observed(problems, report, found, now);
  }
  const entry: AlertsConnection = {
    targets: report.targets,
    checkAt: checkAtOf(old?.checkAt ?? null, report),
    pausedAt,
    problems: limited(problems, connection, state),
    seen: Object.fromEntries(stillSeen(Object.fromEntries(seen), now)),
  };
  const targets = { ...state.targets };
  for (const { id, incidents } of report.targets) targets[id] = { ...(targets[id] ?? UNUSED), incidents };
  return withUsedTargets({
    ...state,
    targets,
    connections: { ...state.connections, [connection]: pruned(entry, targets) },
  });
}

function checkAtOf(before: number | null, { checkAt, checkBy }: AlertReport): number | null {
  if (checkAt !== undefined) return checkAt;
  if (checkBy === undefined) return before;
  return before === null ? checkBy : Math.min(before, checkBy);
}

const UNUSED: AlertTargetState = { incidents: false, quietUntil: 0, remindAt: 0, retryAt: 0 };

function observed(
  problems: readonly AlertProblem[],
  report: AlertReport,
  { resource, covers, problems: found, quietly }: Observation,
  now: number,
): AlertProblem[] {
  const { connection } = report;
  const left = new Set(found);
  const isFailed = found.some(({ kind }) => FAILED_RUN.includes(kind));
  const after = problems.map((problem): AlertProblem => {
    const { kind, mark } = problem;
    if (problem.connection !== connection || problem.resource !== resource || !covers.includes(kind))
      return problem;
    const same = found.find((one) => one.kind === kind && (isLasting(kind) || one.mark === mark));
    if (same === undefined) {
      if (problem.overAt !== undefined) return problem;
      const isReplaced = quietly === true || (isFailed && FAILED_RUN.includes(kind));
      return { ...problem, ...(isReplaced ? { isReplaced } : {}), overAt: now };
    }
    left.delete(same);
    // One that had ended and comes back before its end was sent continues.
    const { overAt: _, isReplaced: __, only: ___, ...open } = problem;
    const { text, only: targets } = same;
    return { ...open, mark: same.mark, text, ...(targets && { only: targets }) };
  });
  const added = [...left].map((one) => newProblem(one, connection, resource, now));
  return [...after, ...added];
}

function newProblem(
  { dueAt: _, ...found }: FoundProblem,
  connection: string,
  resource: string,
  since: EpochMs,
): AlertProblem {
  return { ...found, connection, resource, since, told: {} };
}

/** What an outdated observation still adds: what has happened once. A newer one has said what lasts, and what has ended. */
function withMomentary(
  problems: readonly AlertProblem[],
  { connection }: AlertReport,
  { resource, problems: found }: Observation,
  now: number,
): AlertProblem[] {
  const known = new Set(problems.map(keyOf));
  const added = found
    .filter(({ kind }) => !isLasting(kind))
    .map((one) => newProblem(one, connection, resource, now))
    .filter((one) => !known.has(keyOf(one)));
  return [...problems, ...added];
}

/** Observations of one resource whose first covered kind is the same replace each other. */
function seenKey({ resource, covers }: Observation): string {
  return `${covers[0]} ${resource}`;
}

/** Of `AlertsConnection.seen`, what a later report may still be older than. */
export function stillSeen(
  seen: AlertsConnection['seen'] = {},
  now: number,
): (readonly [key: string, asOf: EpochMs])[] {
  return Object.entries(seen).filter(([key, asOf]) => {
    const isLook = key.startsWith('stale ');
    return asOf > now - (isLook ? LOOK_SEEN_MS : RUN_SEEN_MS);
  });
}

/** Bounds the state. Problems that were there first stay. */
function limited(
  problems: readonly AlertProblem[],
  connection: string,
  { connections: { [connection]: _, ...others } }: AlertsState,
): AlertProblem[] {
  const before = Object.values(others).flatMap((other) => other.problems).length;
  if (before + problems.length <= MAX_TEXTS) return [...problems];
  return problems
    .slice(0, Math.max(0, MAX_PROBLEMS - before))
    .map((problem, at) => (before + at < MAX_TEXTS ? problem : { ...problem, text: '' }));
}

/** Drops what no target needs to hear of any more. One that is about to hear of a problem will need to hear of its end. */
function pruned(entry: AlertsConnection, targets: AlertsState['targets']): AlertsConnection {
  const sending = new Set(Object.values(targets).flatMap((target) => target.sending ?? []));
  const isNeeded = (problem: AlertProblem): boolean =>
    sending.has(keyOf(problem)) ||
    entry.targets.some(({ id }) => {
      const view = viewOf(entry, id, problem);
      return view !== null && (problem.overAt === undefined || view.isNews || view.isOver);
    });
  return { ...entry, problems: entry.problems.filter(isNeeded) };
}

/** Drops what is known of targets that no connection has any more, once nothing is being sent to them. */
function withUsedTargets(state: AlertsState): AlertsState {
  const isUsed = (id: string): boolean =>
    Object.values(state.connections).some(({ targets }) => targets.some((one) => one.id === id));
  const used = Object.entries(state.targets).filter(
    ([id, { sending }]) => sending !== undefined || isUsed(id),
  );
  return { ...state, targets: Object.fromEntries(used) };
}

/** A message, and what its target has heard once it is sent. */
export interface DueAlert {
  readonly message: AlertMessage;
  /** Connections of the target. */
  readonly connections: readonly string[];
  readonly tells: readonly AlertProblem[];
}

interface NextAlerts {
  readonly due: readonly DueAlert[];
  /** Connections whose data may have become stale. */
  readonly checks: readonly string[];
  /** When to look again if nothing is reported before; `null`: never. */
  readonly at: number | null;
}

/** The messages that are due, at most one for each target whose last one has arrived. */
export function nextAlerts(state: AlertsState, now: number): NextAlerts {
  const due: DueAlert[] = [];
  const later: number[] = [];
  const checks: string[] = [];
  for (const [name, { checkAt }] of Object.entries(state.connections)) {
    if (checkAt === null) continue;
    if (checkAt <= now) checks.push(name);
    else later.push(checkAt);
  }
  const entries = Object.entries(state.connections).filter(([, { problems }]) => problems.length > 0);
  for (const [id, target] of Object.entries(state.targets)) {
    if (target.sending !== undefined) continue;
    if (now < target.retryAt) {
      later.push(target.retryAt);
      continue;
    }
    const found = target.incidents ? nextIncident(entries, id, now) : nextDigest(state, entries, id, now);
    if (found === null) continue;
    if (typeof found === 'number') later.push(found);
    else due.push(found);
  }
  return { due, checks, at: later.length === 0 ? null : Math.min(...later) };
}

/** Connections with problems, and those whose problems have ended. */
type Entries = readonly (readonly [connection: string, entry: AlertsConnection])[];

/** A message to people: all that is new. @returns a time if it is due later */
function nextDigest(state: AlertsState, entries: Entries, id: string, now: number): DueAlert | number | null {
  const target = state.targets[id]!;
  const views = entries.map(([, entry]) => viewsOf(entry, id));
  const times: number[] = [];
  const news = views.flatMap((one) => one.news);
  if (news.length > 0) times.push(Math.max(now, target.quietUntil));
  // One message when all is well again. Until then, a connection that is well waits for the others.
  const ended = views.filter((one) => one.over.length > 0 && one.isWell);
  const isWell = views.every((one) => one.isWell);
  if (ended.length > 0) {
    const first = Math.min(...ended.flatMap(({ over }) => over.map(({ problem }) => problem.overAt!)));
    times.push(isWell ? now : Math.max(now, first + RECOVERY_MS));
  }
  if (views.some(({ known }) => known.length > 0)) times.push(Math.max(now, target.remindAt));
  if (times.length === 0) return null;
  const at = Math.min(...times);
  if (at > now) return at;
  const over = ended.flatMap((one) => one.over);
  const still = views.flatMap((one) => one.known);
  const tells = [...news, ...over].map(({ problem }) => problem);
  const isNew = tells.length > 0;
  return {
    connections: connectionsOf(state, id),
    tells,
    message: {
      target: id,
      kind: isNew ? 'alert' : 'reminder',
      event: mostImportant([
        ...(isNew ? news : still).map(({ event }) => event),
        ...(over.length > 0 ? (['recovery'] as const) : []),
      ]),
      at: now,
      ...{ news: groupsOf(news), over: groupsOf(over), still: groupsOf(still) },
    },
  };
}

/** An event for each connection and kind, and its end. */
function nextIncident(entries: Entries, id: string, now: number): DueAlert | null {
  for (const [connection, entry] of entries) {
    for (const { event, named, news, isTold, isEnded } of viewsOf(entry, id).incidents) {
      const isNew = !isTold && news.length > 0;
      if (!isNew && !isEnded) continue;
      const groups = groupsOf(isNew ? news : named);
      const parts = { news: isNew ? groups : NO_GROUPS, over: isNew ? NO_GROUPS : groups, still: NO_GROUPS };
      return {
        connections: [connection],
        tells: (isNew ? news : named).map(({ problem }) => problem),
        message: { target: id, kind: isNew ? 'alert' : 'resolve', event, at: now, ...parts },
      };
    }
  }
  return null;
}

function connectionsOf({ connections }: AlertsState, id: string): string[] {
  return Object.keys(connections).filter((name) => connections[name]!.targets.some((one) => one.id === id));
}

/** A message is being sent, until `alertSent`. */
export function alertBegun(state: AlertsState, { message: { target: id }, tells }: DueAlert): AlertsState {
  const target = state.targets[id];
  return target === undefined ? state : withTarget(state, id, { ...target, sending: tells.map(keyOf) });
}

/** A message was sent, could not be sent, or its target exists no longer. */
export function alertSent(
  before: AlertsState,
  { message, tells }: DueAlert,
  outcome: 'sent' | 'failed' | 'gone',
  now: number,
): AlertsState {
  const { target: id } = message;
  if (before.targets[id] === undefined) return before;
  const { sending: _, ...target } = before.targets[id];
  const state = withUsedTargets(withTarget(before, id, target));
  if (state.targets[id] === undefined) return state;
  if (outcome === 'gone') return withoutTarget(state, id, now);
  const heard = new Map(tells.map((problem) => [keyOf(problem), problem]));
  const told = (problem: AlertProblem): AlertProblem => {
    const then = outcome === 'sent' ? heard.get(keyOf(problem)) : undefined;
    if (then === undefined) return problem;
    const { [id]: heardBefore, ...others } = problem.told;
    const isEnd =
      message.kind === 'resolve' || (then.overAt !== undefined && typeof heardBefore === 'string');
    if (!isEnd) return { ...problem, told: { ...others, [id]: then.mark } };
    // Should a lasting problem have come back meanwhile, it is news.
    return { ...problem, told: isLasting(problem.kind) ? others : { ...others, [id]: null } };
  };
  const connections = { ...state.connections };
  for (const name of new Set(tells.map(({ connection }) => connection))) {
    const entry = connections[name];
    if (entry === undefined) continue;
    connections[name] = pruned({ ...entry, problems: entry.problems.map(told) }, state.targets);
  }
  if (outcome === 'failed')
    return withTarget({ ...state, connections }, id, { ...target, retryAt: now + RETRY_MS });
  const isReminder = message.kind === 'reminder';
  const next = {
    ...target,
    retryAt: 0,
    quietUntil: message.news.groups.length > 0 ? now + COLLECT_MS : target.quietUntil,
    remindAt: now + (isReminder ? REMINDER_MS : FIRST_REMINDER_MS),
  };
  return withTarget({ ...state, connections }, id, next);
}

/** Momentary problems of one resource are different ones if their marks differ. */
function keyOf({ connection, resource, kind, mark }: AlertProblem): string {
  return [connection, resource, kind, ...(isLasting(kind) ? [] : [mark])].join('\n');
}

function withTarget(state: AlertsState, id: string, target: AlertTargetState): AlertsState {
  return { ...state, targets: { ...state.targets, [id]: target } };
}

/** The problems stay for the targets that the connection has now, which its next check names. */
function withoutTarget(state: AlertsState, id: string, now: number): AlertsState {
  const connections = Object.entries(state.connections).map(([name, entry]) => {
    const targets = entry.targets.filter((one) => one.id !== id);
    if (targets.length === entry.targets.length) return [name, entry] as const;
    return [name, { ...entry, targets, ...(entry.problems.length > 0 && { checkAt: now }) }] as const;
  });
  const known = connections.filter(([, { targets, problems }]) => targets.length + problems.length > 0);
  return withUsedTargets({ ...state, connections: Object.fromEntries(known) });
}

/** The check of a connection has begun, so that it is not requested again before the check has reported. */
export function checkBegun(state: AlertsState, connection: string, now: number): AlertsState {
  const entry = state.connections[connection];
  if (entry === undefined) return state;
  const checked = { ...entry, checkAt: now + HOUR_MS };
  return { ...state, connections: { ...state.connections, [connection]: checked } };
}

/** No worker knows a connection any more. Without targets, nothing is left of it. */
export function connectionGone(state: AlertsState, connection: string): AlertsState {
  if (state.connections[connection]?.targets.length !== 0) return state;
  const { [connection]: _, ...connections } = state.connections;
  return { ...state, connections };
}
