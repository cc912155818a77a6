import type { SystemPolicy } from '../core/contract/write-back.js';
import type { ConnectionSettings } from '../core/settings.js';
import { readPointer } from '../lake/documents/pointer.js';
import type { ObjectStore } from '../lake/store/index.js';

/**
 * What is known about an address that is not the configured one. `here`: the same system answers there, so its rows are the
 * rows of this one. `elsewhere`: another system. `open`: a person has to say.
 */
type Place = 'here' | 'elsewhere' | 'open';

/**
 * The system that rows are written to (docs/explanation/guarantees.md#write-back). Batches, plans and the ledger record the
 * base URL of each row: a row that was written to a trial system is not in the real one.
 */
export class TargetSystem {
  readonly baseUrl: string;
  readonly policy: SystemPolicy | undefined;
  readonly #aliases: ReadonlySet<string>;

  /** @param aliases addresses of the same system */
  constructor(baseUrl: string, aliases: Iterable<string> = [], policy?: SystemPolicy) {
    this.baseUrl = baseUrl;
    this.policy = policy;
    this.#aliases = new Set([baseUrl, ...aliases]);
  }

  placeOf(baseUrl: string): Place {
    if (this.#aliases.has(baseUrl)) return 'here';
    if (this.policy === undefined) return 'open';
    return this.policy === 'same' ? 'here' : 'elsewhere';
  }

  /** The same system, with the other addresses that its batch knows. */
  alsoAt(addresses: Iterable<string>): TargetSystem {
    return new TargetSystem(this.baseUrl, [...this.#aliases, ...addresses], this.policy);
  }

  /** The other addresses of the system, with one that the policy has just confirmed. */
  aliasesWith(baseUrl: string): readonly string[] {
    const isNew = this.policy === 'same' && !this.#aliases.has(baseUrl);
    const all = new Set([...this.#aliases, ...(isNew ? [baseUrl] : [])]);
    all.delete(this.baseUrl);
    return [...all].sort();
  }
}

/**
 * Finds the other addresses of a connection's system: those that `export --adopt` has followed, which the pointers of its lists
 * name.
 *
 * @param policy what the user says about addresses that are not known
 * @throws StoreError
 */
export async function readTargetSystem(
  store: ObjectStore,
  { baseUrl, resources }: Pick<ConnectionSettings, 'baseUrl' | 'resources'>,
  policy: SystemPolicy | undefined,
): Promise<TargetSystem> {
  const former = await Promise.all(resources.map(({ name }) => formerAddresses(store, name, baseUrl)));
  return new TargetSystem(baseUrl, former.flat(), policy);
}

async function formerAddresses(
  store: ObjectStore,
  resource: string,
  baseUrl: string,
): Promise<readonly string[]> {
  try {
    const pointer = await readPointer(store, resource);
    return pointer?.baseUrl === baseUrl ? (pointer.formerBaseUrls ?? []) : [];
  } catch (error) {
    // A damaged pointer proves nothing. Exports report it.
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

/** The options that answer the question of `open`. */
export const SYSTEM_REMEDY =
  'Use --same-system if both are the same system (its rows count as written), or --other-system if they are different ' +
  'ones (all rows are new).';
