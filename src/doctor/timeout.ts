import { setTimeout as delay } from 'node:timers/promises';

/** A server did not respond within the time limit of a check. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError';
}

/**
 * Waits for a call for at most `ms`. After that, the call continues in the background and its result is ignored.
 *
 * @throws NoResponseError, and whatever the call throws
 */
export async function withTimeout<T>(ms: number, call: Promise<T>): Promise<T> {
  const done = new AbortController();
  const timeout = delay(ms, undefined, { signal: done.signal }).then(
    () => {
      throw new NoResponseError(`no response within ${Math.round(ms / 100) / 10} s`);
    },
    () => undefined as never,
  );
  call.catch(() => {});
  try {
    return await Promise.race([call, timeout]);
  } finally {
    done.abort();
  }
}
