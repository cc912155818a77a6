import { Context } from '@temporalio/activity';

const HEARTBEAT_MS = 1000;

/**
 * Runs an activity's work under a heartbeat, so that a dead worker is noticed and a cancellation arrives. For
 * activities without a position to save: a retry of these starts over, and writes objects of its own.
 */
export async function heartbeating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
