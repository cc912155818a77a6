import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { toRunError } from '../../../workflows/shared/run-errors.js';

/** An activity's timeout as the SDK decodes it from the server's failure. */
function timeout(cause: object | undefined): unknown {
  const failure = {
    message: 'Activity task failed',
    activityFailureInfo: { activityType: { name: 'worktrack.read' }, activityId: '1' },
    cause: {
      message: 'activity ScheduleToClose timeout',
      source: 'Server',
      timeoutFailureInfo: { timeoutType: 2 },
      ...(cause === undefined ? {} : { cause }),
    },
  };
  return defaultFailureConverter.failureToError(failure, defaultPayloadConverter);
}

describe('a run that timed out', () => {
  it('reports the error of its last failed attempt', () => {
    const cause = {
      message: 'tasks: GET http://service/tasks answered 503.',
      applicationFailureInfo: { type: 'Transient', nonRetryable: false },
    };
    expect(toRunError(timeout(cause))).toEqual({
      type: 'Transient',
      message: 'gave up: tasks: GET http://service/tasks answered 503.',
    });
  });

  it.each([
    ['no attempt was made', undefined],
    [
      'a codec hides the error',
      { message: 'Encoded failure', encodedAttributes: { data: new Uint8Array(1) } },
    ],
  ])('suggests checking the worker if %s', (_, cause) => {
    expect(toRunError(timeout(cause))).toMatchObject({
      type: 'Transient',
      message: expect.stringContaining('Check that a worker is running'),
    });
  });
});
