import type { EpochMs, Millis } from '../../src/core/brands.js';
import { MINUTE_MS, SECOND_MS } from '../../src/core/duration.js';
import { isAbort } from '../../src/core/errors.js';
import { transientFailure } from '../../src/run/failures.js';

/** A post that takes longer shows that its receiver is slow, or does not answer. */
const SLOW_MS = 2 * SECOND_MS;
/** After a slow post without an answer, no other one is tried for this long. It doubles with each. */
const FIRST_PAUSE_MS = MINUTE_MS;
const MAX_PAUSE_MS = 5 * MINUTE_MS;
/** A post that may not be sent next to another one comes again after about this time. */
const TURN_MS = 10 * SECOND_MS;

interface Receiver {
  /** When the posts began that have not ended. */
  readonly running: Set<{ readonly at: EpochMs }>;
  /** Whether the last post that ended was slow. */
  isSlow: boolean;
  /** The current pause, and its end; 0: the last post was answered, or was not slow. */
  pauseMs: Millis;
  pausedUntil: EpochMs;
}

/**
 * Limits the posts to receivers that are slow or do not answer, so that each takes at most about one slot of this worker: each
 * published run has a workflow that posts for a day. A slow receiver gets one post at a time. One that does not answer gets one
 * in one to five minutes. A quick answer or failure ends this. Shared by the activities of a process, by the target's id.
 */
export class SlowReceivers {
  readonly #receivers = new Map<string, Receiver>();

  /** @param now the time, which does not go back */
  constructor(private readonly now: () => EpochMs) {}

  /**
   * Posts, unless the receiver is busy or paused.
   *
   * @param name of the target, for messages
   * @throws ApplicationFailure that is retried after the wait; the error of the post
   */
  async post<Answer>(id: string, name: string, send: () => Promise<Answer>): Promise<Answer> {
    const receiver = this.#receivers.get(id) ?? newReceiver();
    const waitMs = this.#waitMs(receiver);
    if (waitMs !== null)
      throw transientFailure(`${name} did not answer or was slow, so the next post waits`, waitMs);
    this.#receivers.set(id, receiver);
    const post = { at: this.now() };
    receiver.running.add(post);
    try {
      const answer = await send();
      this.#ended(receiver, post.at, true);
      return answer;
    } catch (error) {
      // A worker that stops says nothing of the receiver.
      if (!isAbort(error)) this.#ended(receiver, post.at, false);
      throw error;
    } finally {
      receiver.running.delete(post);
      if (receiver.running.size === 0 && !receiver.isSlow) this.#receivers.delete(id);
    }
  }

  /** @returns `null`: the post may be sent */
  #waitMs({ running, isSlow, pausedUntil }: Receiver): Millis | null {
    const now = this.now();
    if (now < pausedUntil) return pausedUntil - now;
    const mustBeAlone = isSlow || [...running].some(({ at }) => now - at > SLOW_MS);
    // Those that wait do not come again at the same time.
    return mustBeAlone && running.size > 0 ? Math.ceil(TURN_MS * (0.5 + Math.random())) : null;
  }

  #ended(receiver: Receiver, began: EpochMs, isAnswered: boolean): void {
    const now = this.now();
    receiver.isSlow = now - began > SLOW_MS;
    if (isAnswered || !receiver.isSlow) receiver.pauseMs = receiver.pausedUntil = 0;
    else if (began >= receiver.pausedUntil) {
      // One that began earlier says nothing new.
      receiver.pauseMs = Math.min(Math.max(FIRST_PAUSE_MS, 2 * receiver.pauseMs), MAX_PAUSE_MS);
      receiver.pausedUntil = now + receiver.pauseMs;
    }
  }
}

function newReceiver(): Receiver {
  return { running: new Set(), isSlow: false, pauseMs: 0, pausedUntil: 0 };
}
