import type { WorkflowExecutionDescription } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import type { TemporalClient } from '../../../src/temporal/client/connect.js';
import { currentStep } from '../../../src/temporal/status/pending-activity.js';

const STARTED = 2;
const SCHEDULED = 1;

/** The current step of a workflow with one pending activity, as the server describes it. */
function step(activity: object) {
  const described = {
    workflowId: 'worktrack/acme/mirror/tasks',
    raw: { pendingActivities: [{ activityId: '7', activityType: { name: 'worktrack.run' }, ...activity }] },
  } as unknown as WorkflowExecutionDescription;
  return currentStep({ client: {} } as TemporalClient, described);
}

const LOST = { message: 'activity Heartbeat timeout', timeoutFailureInfo: { timeoutType: 4 } };

describe('the current step of a workflow', () => {
  it.each([
    [{ attempt: 2, state: STARTED }, 'activity Heartbeat timeout'],
    [{ attempt: 3, state: STARTED }, 'activity Heartbeat timeout'],
    [
      { attempt: 4, state: STARTED },
      /^3 attempts of this step have ended, .*\(the last worker: 7@host\).* lack memory/,
    ],
    [{ attempt: 3, state: SCHEDULED }, /^3 attempts of this step have ended/],
  ])('says of attempts whose workers were lost: %j', async (activity, message) => {
    const { failure, isDeadly } = await step({
      ...activity,
      lastFailure: LOST,
      lastWorkerIdentity: '7@host',
    });
    expect(failure?.message).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
    expect(isDeadly).toBe(typeof message !== 'string');
  });

  it('shows another failure as it is, however often it came', async () => {
    const lastFailure = { message: 'the service answered 503', applicationFailureInfo: {} };
    const { failure, isDeadly } = await step({ attempt: 40, state: STARTED, lastFailure });
    expect([failure?.message, isDeadly]).toEqual(['the service answered 503', false]);
  });

  it('names the command that continues an activity that somebody paused', async () => {
    const { unpause, failure } = await step({ attempt: 1, state: SCHEDULED, paused: true });
    expect([unpause, failure]).toEqual([
      'temporal activity unpause --workflow-id worktrack/acme/mirror/tasks --activity-id 7',
      null,
    ]);
  });
});
