import { ALERT_EVENTS, type AlertEvent, type ProblemKind } from '../alert-events.js';
import type { AlertGroup, AlertGroups, AlertProblem } from '../contract/alerts.js';
import { groupBy } from '../group-by.js';

/** Connections that a message lists, resources of each, and different texts of each. */
const MAX_GROUPS = 20;
const MAX_RESOURCES = 10;
const MAX_CAUSES = 3;

/** No problems. */
export const NO_GROUPS: AlertGroups = { groups: [], more: 0, connections: 0 };

interface Listed {
  readonly problem: AlertProblem;
  readonly event: ProblemKind;
}

/** The problems of a message, by connection and event: the most important first, then by name of the connection. */
export function groupsOf(listed: readonly Listed[]): AlertGroups {
  const groups = groupBy(listed, ({ problem, event }) => `${problem.connection}\n${event}`);
  const sorted = [...groups.values()].sort((a, b) => compare(a[0]!, b[0]!));
  return {
    groups: sorted.slice(0, MAX_GROUPS).map(toGroup),
    more: Math.max(0, sorted.length - MAX_GROUPS),
    connections: new Set(listed.map(({ problem }) => problem.connection)).size,
  };
}

/** The most important event. */
export function mostImportant(events: readonly AlertEvent[]): AlertEvent {
  return ALERT_EVENTS.find((event) => events.includes(event)) ?? 'recovery';
}

function compare(a: Listed, b: Listed): number {
  const rank = ALERT_EVENTS.indexOf(a.event) - ALERT_EVENTS.indexOf(b.event);
  if (rank !== 0) return rank;
  return a.problem.connection < b.problem.connection ? -1 : 1;
}

function toGroup(listed: readonly Listed[]): AlertGroup {
  const [{ problem, event }] = listed as [Listed, ...Listed[]];
  const resources = [...new Set(listed.map((one) => one.problem.resource))];
  const causes = groupBy(listed, (one) => one.problem.text || null);
  return {
    connection: problem.connection,
    event,
    since: Math.min(...listed.map((one) => one.problem.since)),
    resources: resources.slice(0, MAX_RESOURCES),
    count: resources.length,
    causes: [...causes].slice(0, MAX_CAUSES).map(([text, same]) => {
      const named = new Set(same.map((one) => one.problem.resource));
      const more = named.size > MAX_RESOURCES ? { count: named.size } : {};
      return { resources: [...named].slice(0, MAX_RESOURCES), ...more, text };
    }),
  };
}
