import { CancellationScope, log, proxyActivities } from '@temporalio/workflow';
import type { Activities, NotifyInput } from '../../src/core/contract/index.js';
import { toRunError } from './failures.js';

const ATTEMPTS = { startToCloseTimeout: '30 seconds' } as const;
const RETRY = { initialInterval: '2 seconds', maximumInterval: '1 minute', maximumAttempts: 6 } as const;

/** A mirror never ends, so its notification delays nothing. */
const patient = proxyActivities<Activities>({
  ...ATTEMPTS,
  scheduleToCloseTimeout: '10 minutes',
  retry: RETRY,
});
/** An export ends after its notification. */
const prompt = proxyActivities<Activities>({
  ...ATTEMPTS,
  scheduleToCloseTimeout: '1 minute',
  retry: { ...RETRY, maximumInterval: '10 seconds' },
});

/** Sends a notification. If that fails, the run is not affected. */
export async function sendNotification(
  input: NotifyInput,
  urgency: 'patient' | 'prompt' = 'patient',
): Promise<void> {
  const { 'worktrack.notify': notify } = urgency === 'patient' ? patient : prompt;
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
