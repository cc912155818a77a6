import { setTimeout as delay } from 'node:timers/promises';

/** A server did not answer within the time that an examination has for it. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/**
 * Waits for an answer no longer than `ms`. The call itself goes on, and what it brings is dropped.
 *
 * @throws NoAnswerError, and what the call throws
 */
export async function bounded<T>(ms: number, call: Promise<T>): Promise<T> {
  const done = new AbortController();
  const silence = delay(ms, undefined, { signal: done.signal }).then(
    () => {
      throw new NoAnswerError(`no answer within ${Math.round(ms / 100) / 10} s`);
    },
    () => undefined as never,
  );
  call.catch(() => {});
  try {
    return await Promise.race([call, silence]);
  } finally {
    done.abort();
  }
}
