import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { toRunError } from '../../../workflows/failures.js';

/** An activity's time-out as the server tells it and the SDK reads it. */
function timeout(cause: object | undefined): unknown {
  const failure = {
    message: 'Activity task failed',
    activityFailureInfo: { activityType: { name: 'worktrack.extractPages' }, activityId: '1' },
    cause: {
      message: 'activity ScheduleToClose timeout',
      source: 'Server',
      timeoutFailureInfo: { timeoutType: 2 },
      ...(cause === undefined ? {} : { cause }),
    },
  };
  return defaultFailureConverter.failureToError(failure, defaultPayloadConverter);
}

describe('a run that gave up', () => {
  it('says what its last attempt met with, though time ran out in the middle of another', () => {
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
    ['nothing was tried', undefined],
    [
      'a codec hides what was said',
      { message: 'Encoded failure', encodedAttributes: { data: new Uint8Array(1) } },
    ],
  ])('asks for a worker where %s', (_, cause) => {
    expect(toRunError(timeout(cause))).toMatchObject({
      type: 'Transient',
      message: expect.stringContaining('is a worker running?'),
    });
  });
});
