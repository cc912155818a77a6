/** What the problems of a connection are to one target. Pure: the workflow sandbox imports this file. */

import { eventFor, isLasting, isTrouble, type ProblemKind } from '../alert-events.js';
import type { AlertProblem, AlertsConnection, AlertTarget } from '../contract/alerts.js';

/** What a target makes of a problem. */
export interface View {
  readonly problem: AlertProblem;
  readonly event: ProblemKind;
  /** Whether the target has not heard of it. */
  readonly isNews: boolean;
  /** Whether it has ended, and the target does not know that. */
  readonly isOver: boolean;
  /** Whether the target has heard of the problem or an earlier state of it. */
  readonly isTold: boolean;
}

export function viewOf({ targets }: AlertsConnection, id: string, problem: AlertProblem): View | null {
  const target = targets.find((one) => one.id === id);
  const event = target === undefined ? null : eventFor(target.on, problem.kind);
  if (target === undefined || event === null || problem.only?.includes(id) === false) return null;
  const { kind, mark, told, overAt } = problem;
  const lasts = isLasting(kind);
  const heard = told[id];
  const isTold = typeof heard === 'string';
  return {
    ...{ problem, event, isTold },
    isNews: heard !== mark && heard !== null && (overAt === undefined || !lasts),
    isOver: overAt !== undefined && isTold && target.on.includes('recovery') && closes(target, problem),
  };
}

/** Whether the end of a problem is sent: to people, only if the connection was not well and nothing else has replaced it. */
function closes({ incidents }: AlertTarget, { kind, isReplaced }: AlertProblem): boolean {
  return incidents || (isTrouble(kind) && isReplaced !== true);
}

/** The problems of one connection and event: an incident has one title, which names the resources that the target has heard of. */
interface Incident {
  readonly event: ProblemKind;
  /** Those of the resources in its title. */
  readonly named: readonly View[];
  readonly news: readonly View[];
  readonly isTold: boolean;
  /** Whether these resources are well again, and the target does not know that. Those that have failed since are another incident. */
  readonly isEnded: boolean;
}

/** The problems of a connection as a target sees them. */
interface Views {
  readonly news: readonly View[];
  readonly over: readonly View[];
  /** Lasting problems that have not ended and that the target knows about. */
  readonly known: readonly View[];
  /** Whether nothing is wrong but warnings. */
  readonly isWell: boolean;
  readonly incidents: readonly Incident[];
}

/**
 * By connection and target. What is known of a connection is never changed in place, so the same object has the same views. Most
 * reports change one connection of hundreds.
 */
const known = new WeakMap<AlertsConnection, Map<string, Views>>();

/** The problems of a connection as the target with this id sees them. */
export function viewsOf(entry: AlertsConnection, id: string): Views {
  const ofEntry = known.get(entry) ?? new Map<string, Views>();
  known.set(entry, ofEntry);
  const found = ofEntry.get(id) ?? makeViews(entry, id);
  ofEntry.set(id, found);
  return found;
}

function makeViews(entry: AlertsConnection, id: string): Views {
  const all = entry.problems.flatMap((problem) => viewOf(entry, id, problem) ?? []);
  const open = all.filter(({ problem }) => problem.overAt === undefined && isLasting(problem.kind));
  const events = [...new Set(all.map(({ event }) => event))];
  return {
    news: all.filter(({ isNews }) => isNews),
    over: all.filter(({ isOver }) => isOver),
    isWell: !open.some(({ problem }) => isTrouble(problem.kind)),
    known: open.filter(({ isNews }) => !isNews),
    incidents: events.map((event) => incidentOf(event, all)),
  };
}

function incidentOf(event: ProblemKind, views: readonly View[]): Incident {
  const all = views.filter((one) => one.event === event);
  const names = new Set(all.flatMap(({ isTold, problem }) => (isTold ? [problem.resource] : [])));
  const named = all.filter(({ problem }) => names.has(problem.resource));
  return {
    ...{ event, named },
    news: all.filter(({ isNews }) => isNews),
    isTold: named.length > 0,
    isEnded: named.every(({ problem }) => problem.overAt !== undefined) && named.some(({ isOver }) => isOver),
  };
}
