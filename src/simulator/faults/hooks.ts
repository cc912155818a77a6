import type { Call } from '../http/call.js';
import type { FaultMatch } from './fault-types.js';
import { matches } from './faults.js';

/** The request that a hook waits for; an absent property matches any request. */
export type HookMatch = Omit<FaultMatch, 'nth' | 'every'>;

/** Runs before the response. The response waits for the promise. */
export type HookAction = () => void | Promise<void>;

/** Actions that run between a request and its response, each for the first matching request. */
export class Hooks {
  #waiting: { readonly match: HookMatch; readonly action: HookAction }[] = [];

  add(match: HookMatch, action: HookAction): void {
    this.#waiting.push({ match, action });
  }

  /** Runs the actions that match this request, in the order they were added. */
  async run(call: Call): Promise<void> {
    const due = this.#waiting.filter(({ match }) => matches(match, call));
    if (due.length === 0) return;
    this.#waiting = this.#waiting.filter((hook) => !due.includes(hook));
    for (const { action } of due) await action();
  }
}
