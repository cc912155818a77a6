/**
 * The events of alerts (docs/how-to/alerts.md#events). Pure: the workflow sandbox imports this file.
 */

/** All events, the most important first. `recovery` is the end of problems; each other event is a kind of problem. */
export const ALERT_EVENTS = [
  'failure',
  'check',
  'deletes-held',
  'behind',
  'stale',
  'audit',
  'rows-not-written',
  'rows-not-confirmed',
  'schema-change',
  'recovery',
  'warning',
] as const;

export type AlertEvent = (typeof ALERT_EVENTS)[number];
export type ProblemKind = Exclude<AlertEvent, 'recovery'>;

/** The events of a target without `on`. */
export const DEFAULT_ALERT_EVENTS: readonly AlertEvent[] = [
  'failure',
  'recovery',
  'stale',
  'check',
  'rows-not-written',
];

/** Kinds of problems that happen once. The others last until a later observation no longer finds them. */
const MOMENTARY: readonly ProblemKind[] = ['rows-not-written', 'rows-not-confirmed', 'schema-change'];

/** Whether a problem of this kind lasts, so that it has reminders and a recovery. */
export function isLasting(kind: ProblemKind): boolean {
  return !MOMENTARY.includes(kind);
}

/** Whether a connection with such a problem is not well. A run with warnings is published. */
export function isTrouble(kind: ProblemKind): boolean {
  return isLasting(kind) && kind !== 'warning';
}

/** Kinds of failed runs. A failed run has exactly one of them. */
export const FAILED_RUN: readonly ProblemKind[] = ['failure', 'check', 'deletes-held'];

/**
 * The event that informs a target about a problem; `null`: none does. A run that a check or the delete limit has stopped
 * is also a failed run, so a target that does not have these events hears of it as `failure`.
 */
export function eventFor(on: readonly AlertEvent[], kind: ProblemKind): ProblemKind | null {
  if (on.includes(kind)) return kind;
  return FAILED_RUN.includes(kind) && on.includes('failure') ? 'failure' : null;
}
