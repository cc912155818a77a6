import type { Call } from './call.js';
import type { FaultMatch } from './fault-types.js';
import { matches } from './faults.js';

/** Which request a hook waits for; what is left out matches anything. */
export type HookMatch = Omit<FaultMatch, 'nth' | 'every'>;

/** What happens before the answer; while it goes on, the request waits. */
export type HookAction = () => void | Promise<void>;

/** Actions between the arrival of a request and its answer, each for the first request that matches. */
export class HookBook {
  #waiting: { readonly match: HookMatch; readonly action: HookAction }[] = [];

  add(match: HookMatch, action: HookAction): void {
    this.#waiting.push({ match, action });
  }

  /** Runs what was waiting for this request, in the order of adding. */
  async run(call: Call): Promise<void> {
    const due = this.#waiting.filter(({ match }) => matches(match, call));
    if (due.length === 0) return;
    this.#waiting = this.#waiting.filter((hook) => !due.includes(hook));
    for (const { action } of due) await action();
  }
}
