import { condition, continueAsNew, log, proxyActivities } from '@temporalio/workflow';
import {
  alertSent,
  checkBegun,
  type DueAlert,
  isIdle,
  nextAlerts,
  reported,
} from '../../src/core/alerts/message-rules.js';
import type { Activities, AlertsState } from '../../src/core/contract/index.js';
import { alertReportProblem } from '../../src/core/signal-checks.js';
import { toRunError } from '../shared/failures.js';
import { shouldContinueAsNew } from '../shared/long-lived.js';
import { alertReport } from '../shared/messages.js';
import { handleChecked } from '../shared/signals.js';

/**
 * A message that cannot be sent is made again later, with what has happened until then. Attempts are limited, and not the
 * time: with many connections, it can take long until a worker is free.
 */
const SEND = {
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '2 hours',
  retry: { initialInterval: '5 seconds', maximumInterval: '2 minutes', maximumAttempts: 8 },
} as const;
const WATCH = {
  startToCloseTimeout: '5 minutes',
  scheduleToCloseTimeout: '2 hours',
  retry: { initialInterval: '5 seconds', maximumInterval: '2 minutes', maximumAttempts: 6 },
} as const;

/** The next message of a target comes after the one that is being sent, so connections need only be named once. */
const MAX_CONNECTIONS = 100;

/**
 * Sends the alerts of all connections of a task queue (docs/how-to/alerts.md#when-messages-are-sent). Workflows report to it by
 * signal; what a message says and when it is due is in `src/core/alerts`. Ends when no connection has targets any more.
 */
export async function alertsWorkflow(initial: AlertsState): Promise<void> {
  let state = initial;
  /** Counts what happened, so that the loop looks again. */
  let changes = 0;
  const busy = new Set<string>();
  const sends = proxyActivities<Activities>(SEND);
  const watches = proxyActivities<Activities>(WATCH);
  let watching = 0;
  handleChecked(alertReport, alertReportProblem, (report) => {
    state = reported(state, report, Date.now());
    changes++;
  });
  for (;;) {
    const seen = changes;
    const isLong = shouldContinueAsNew();
    const { due, checks, at } = nextAlerts(state, Date.now(), busy);
    if (isLong && busy.size === 0 && watching === 0) break;
    if (!isLong) {
      for (const one of due) void send(one);
      for (const connection of checks) void watch(connection);
    }
    if (isIdle(state) && busy.size === 0 && watching === 0) return;
    const hasChanged = (): boolean => changes !== seen;
    const isWaiting = at !== null && !isLong && due.length + checks.length === 0;
    if (isWaiting) await condition(hasChanged, Math.max(1, at - Date.now()));
    else if (due.length + checks.length === 0 || isLong) await condition(hasChanged);
  }
  await continueAsNew<typeof alertsWorkflow>(state);

  async function send(alert: DueAlert): Promise<void> {
    const { message, connections } = alert;
    busy.add(message.target);
    let outcome: 'sent' | 'failed' | 'gone' = 'sent';
    try {
      const input = { connections: connections.slice(0, MAX_CONNECTIONS), message };
      if ((await sends['worktrack.notify'](input)).isGone) outcome = 'gone';
    } catch (error) {
      outcome = 'failed';
      const { event } = message;
      log.warn('an alert could not be sent; it is tried again', { event, error: toRunError(error).message });
    }
    state = alertSent(state, alert, outcome, Date.now());
    busy.delete(message.target);
    changes++;
  }

  async function watch(connection: string): Promise<void> {
    state = checkBegun(state, connection, Date.now());
    watching++;
    try {
      await watches['worktrack.watch']({ connection, always: true });
    } catch (error) {
      log.warn('the age of the data could not be checked', { connection, error: toRunError(error).message });
    }
    watching--;
    changes++;
  }
}
