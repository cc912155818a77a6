import { Context } from '@temporalio/activity';
import type { StepHeartbeat, StoreLimitNote } from '../../src/core/contract/index.js';
import { MINUTE_MS } from '../../src/core/duration.js';
import { type StoreLimit, storeLimits } from '../../src/lake/store/index.js';

/** A limit has ended if no request has met one for this long. */
const OVER_AFTER_MS = MINUTE_MS;

interface Seen extends StoreLimitNote {
  /** When a request last met it, milliseconds since 1970. */
  readonly last: number;
}

/** The limits that running activities have met. */
const seen = new WeakMap<Context, Seen>();

// A store publishes a limit in the asynchronous context of the activity that sent the request.
storeLimits.subscribe((message) => {
  const context = currentActivity();
  if (context === null) return;
  const now = Date.now();
  const before = seen.get(context);
  const since = before === undefined || now - before.last > OVER_AFTER_MS ? now : before.since;
  seen.set(context, { since, last: now, said: (message as StoreLimit).said });
});

function currentActivity(): Context | null {
  try {
    return Context.current();
  } catch {
    return null;
  }
}

/** Whether the store limits the requests of the current activity, as a part of its heartbeat. */
export function storeLimitOf(context: Context): StepHeartbeat {
  const found = seen.get(context);
  if (found === undefined || Date.now() - found.last > OVER_AFTER_MS) return {};
  return { storeLimit: { since: found.since, said: found.said } };
}
