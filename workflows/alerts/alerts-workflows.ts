import { condition, continueAsNew, log } from '@temporalio/workflow';
import {
  alertBegun,
  alertSent,
  checkBegun,
  connectionGone,
  type DueAlert,
  isIdle,
  nextAlerts,
  reported,
} from '../../src/core/alerts/message-rules.js';
import { restoredAlerts, type StoredAlerts, storedAlerts } from '../../src/core/alerts/stored-state.js';
import type { AlertsState, AnnounceInput, WatchInput } from '../../src/core/contract/index.js';
import { DAY_MS } from '../../src/core/duration.js';
import { alertReportProblem } from '../../src/core/signal-checks.js';
import { activity } from '../shared/activity-options.js';
import { shouldContinueAsNew } from '../shared/long-lived.js';
import { alertReport, handleChecked } from '../shared/messages.js';
import { toRunError } from '../shared/run-errors.js';

/** The next message of a target comes after the one that is being sent, so connections need only be named once. */
const MAX_CONNECTIONS = 100;
/** A history that is long enough to continue as new may grow to this while something is being sent. */
const MOST_EVENTS = 1_800;
/** Messages and checks at the same time, so that a history that continues as new when they have ended stays below 2,000 events. */
const MOST_RUNNING = 20;

/**
 * Sends the alerts of all connections of a task queue (docs/how-to/alerts.md#when-messages-are-sent). Workflows report to it by
 * signal; what a message says and when it is due is in `src/core/alerts`. Ends when no connection has targets any more.
 */
export async function alertsWorkflow(initial: AlertsState | StoredAlerts): Promise<void> {
  let state = restoredAlerts(initial);
  /** Counts what happened, so that the loop looks again. */
  let changes = 0;
  /** Messages that are being sent, and checks. */
  let running = 0;
  handleChecked(alertReport, alertReportProblem, (report) => {
    state = reported(state, report, Date.now());
    changes++;
  });
  for (;;) {
    const seen = changes;
    const isLong = shouldContinueAsNew();
    const { due, checks, at } = nextAlerts(state, Date.now());
    if (isLong && running === 0) break;
    // A receiver that does not answer keeps the history, but not the messages to others.
    const mustWait = shouldContinueAsNew(MOST_EVENTS);
    const room = Math.max(0, MOST_RUNNING - running);
    const messages = mustWait ? [] : due.slice(0, room);
    const begun = isLong ? [] : checks.slice(0, room - messages.length);
    for (const one of messages) void send(one);
    for (const connection of begun) void watch(connection);
    if (isIdle(state) && running === 0) return;
    const hasChanged = (): boolean => changes !== seen;
    if (messages.length + begun.length > 0) continue;
    if (mustWait || at === null) await condition(hasChanged);
    else await condition(hasChanged, Math.max(1, at - Date.now()));
  }
  await continueAsNew<typeof alertsWorkflow>(stateForNext());

  /** Logs once a day that something was left out. */
  function stateForNext(): StoredAlerts {
    const now = Date.now();
    const { stored, left } = storedAlerts(state, now);
    const cutAt = 'stored' in initial ? initial.cutAt : undefined;
    const isLogged = cutAt !== undefined && now - cutAt < DAY_MS;
    if (left.length === 0 || isLogged) return { ...stored, ...(cutAt !== undefined && { cutAt }) };
    log.warn('the state of the alerts is too large; until the next reports, parts of it are missing', {
      left,
    });
    return { ...stored, cutAt: now };
  }

  async function send(alert: DueAlert): Promise<void> {
    const { message, connections } = alert;
    state = alertBegun(state, alert);
    running++;
    let outcome: 'sent' | 'failed' | 'gone' = 'sent';
    try {
      const input = { connections: connections.slice(0, MAX_CONNECTIONS), message };
      if ((await activity('worktrack.notify', connections[0] ?? '', 'manual')(input)).isGone)
        outcome = 'gone';
    } catch (error) {
      outcome = 'failed';
      const { event } = message;
      log.warn('an alert could not be sent; it is tried again', { event, error: toRunError(error).message });
    }
    state = alertSent(state, alert, outcome, Date.now());
    running--;
    changes++;
  }

  async function watch(connection: string): Promise<void> {
    state = checkBegun(state, connection, Date.now());
    running++;
    try {
      await activity('worktrack.watch', connection, 'background')({ connection, always: true });
    } catch (error) {
      const { type, message } = toRunError(error);
      log.warn('the age of the data could not be checked', { connection, error: message });
      if (type === 'Configuration') state = connectionGone(state, connection);
    }
    running--;
    changes++;
  }
}

/** Announces a published run to targets of `notify` (docs/how-to/alerts.md#published-runs). One that fails does not stop the others. */
export async function announceWorkflow({ targets, ...run }: AnnounceInput): Promise<void> {
  const announce = activity('worktrack.announce', run.connection, 'background');
  const ended = await Promise.allSettled(targets.map((target) => announce({ ...run, targets: [target] })));
  for (const one of ended)
    if (one.status === 'rejected')
      log.warn('a published run could not be announced', { error: toRunError(one.reason).message });
}

/**
 * Looks once whether the data of a connection have become stale, and whether its Schedule is behind
 * (docs/how-to/alerts.md#the-watcher). A Schedule starts this workflow.
 */
export async function watchWorkflow({ connection }: WatchInput): Promise<void> {
  await activity('worktrack.watch', connection, 'background')({ connection });
}
