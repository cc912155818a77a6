import { withTimeout } from '../core/reach.js';

/** A server did not respond within the time limit of a check. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError';
}

/** Waits for a call for at most `ms`. @throws NoResponseError, and whatever the call throws */
export function answerWithin<T>(ms: number, call: Promise<T>): Promise<T> {
  return withTimeout(
    call,
    ms,
    () => new NoResponseError(`no response within ${Math.round(ms / 100) / 10} s`),
  );
}
