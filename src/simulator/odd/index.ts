/** The ways the simulator can behave like a less polite service (`worktrack simulator --odd NAME`). */

import { ODD_ANSWERS, ODD_LIMITS, ODD_REDIRECTS, ODD_WAITS } from './answers.js';
import { ODD_CLAIMS } from './claims.js';
import { ODD_LISTS } from './lists.js';
import type { OddBehaviour, OddService } from './odd-service.js';
import { ODD_RECORDS } from './records.js';
import { ODD_DELETES } from './unclear-deletes.js';

export type { OddBehaviour, OddService } from './odd-service.js';

/** All odd services, by topic. */
export const ODD_SERVICES: readonly OddService[] = Object.entries({
  ...ODD_ANSWERS,
  ...ODD_LIMITS,
  ...ODD_WAITS,
  ...ODD_REDIRECTS,
  ...ODD_LISTS,
  ...ODD_CLAIMS,
  ...ODD_DELETES,
  ...ODD_RECORDS,
}).map(([name, [description, create]]) => ({ name, description, create }));

/** The behaviours for the given names, in their order. Throws an error that lists all names for an unknown one. */
export function oddBehaviours(names: readonly string[]): OddBehaviour[] {
  return names.map((name) => {
    const odd = ODD_SERVICES.find((one) => one.name === name);
    if (odd !== undefined) return odd.create();
    throw new Error(`there is no odd service ${JSON.stringify(name)}. The odd services are:\n${oddList()}`);
  });
}

/**
 * One line for each odd service, for `--odd list`.
 *
 * @example
 * console.log(oddList());
 */
export function oddList(): string {
  return ODD_SERVICES.map(({ name, description }) => `  ${name.padEnd(26)}${description}`).join('\n');
}
