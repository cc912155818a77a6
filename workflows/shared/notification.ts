import { CancellationScope, log, proxyActivities } from '@temporalio/workflow';
import type { Activities, NotifyInput } from '../../src/core/contract/index.js';
import { toRunError } from './failures.js';
import { priorityOf } from './priority.js';

/** Attempts are limited, and not the time: with many connections, it can take long until a worker is free. */
const NOTIFY = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '1 day',
  retry: { initialInterval: '2 seconds', maximumInterval: '1 minute', maximumAttempts: 6 },
} as const;
/** An export ends after its notification. A mirror never ends, so its notification delays nothing. */
const PROMPT = {
  ...NOTIFY,
  retry: { ...NOTIFY.retry, maximumInterval: '10 seconds' },
} as const;

/** Sends a notification. If that fails, the run is not affected. */
export async function sendNotification(
  input: NotifyInput,
  urgency: 'patient' | 'prompt' = 'patient',
): Promise<void> {
  const { 'worktrack.notify': notify } = proxyActivities<Activities>({
    ...(urgency === 'patient' ? NOTIFY : PROMPT),
    priority: priorityOf(input.connection, 'background'),
  });
  try {
    await CancellationScope.nonCancellable(() => notify(input));
  } catch (error) {
    const { connection, resource, event } = input;
    log.warn('the notification of a run could not be sent; the run is not affected', {
      connection,
      resource,
      event,
      error: toRunError(error).message,
    });
  }
}
