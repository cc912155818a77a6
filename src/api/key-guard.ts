import { TransientError } from './errors.js';
import type { KeyGuard, ServiceClient, Waitable } from './service-client.js';

/** The same client, whose requests use only keys that the guard admits. It must not be closed. */
export function withKeyGuard(client: ServiceClient, keys: KeyGuard): ServiceClient {
  return withOptions(client, { keys });
}

/** The same client, whose requests come after all others of the connection. It must not be closed. */
export function inBackground(client: ServiceClient): ServiceClient {
  return withOptions(client, { isBackground: true });
}

function withOptions(client: ServiceClient, options: Pick<Waitable, 'keys' | 'isBackground'>): ServiceClient {
  return {
    listPage: (request, parse) => client.listPage({ ...request, ...options }, parse),
    fetchById: (request, parse) => client.fetchById({ ...request, ...options }, parse),
    send: (request, parse) => client.send({ ...request, ...options }, parse),
    keyFingerprint: () => client.keyFingerprint(),
    close: () => Promise.reject(new Error('a client with options is not closed')),
  };
}

/** Admits one key, for requests that have to show whose it is. */
function onlyKey(fingerprint: string): KeyGuard {
  return {
    admits: (other) => other === fingerprint,
    show: () =>
      Promise.reject(
        new TransientError('The API key was replaced again while its organization was checked.', {
          reason: 'status',
        }),
      ),
  };
}

/** `nothing-read`: no other key has been used yet, so the organization may be another one. */
type Proof = 'same' | 'nothing-read';

/**
 * The keys that a run or a batch may use: those that have shown the same organization. A key that is replaced, or another key
 * on another worker, is shown once, before the first request uses it.
 */
export class ShownKeys implements KeyGuard {
  readonly #keys: Set<string>;
  /** Whether the first key counts as shown, whichever it is. */
  #takesFirst: boolean;
  /** Whether a request has used a key. Its answer may still be on its way. */
  isUsed = false;
  readonly #pending = new Map<string, Promise<void>>();
  readonly #client: ServiceClient;
  readonly #prove: (client: ServiceClient, fingerprint: string) => Promise<Proof>;

  /**
   * @param keys fingerprints of keys that are shown; `null`: the first key is
   * @param prove throws what ends the request if the organization of the key is not shown; its client uses no other key
   */
  constructor(
    client: ServiceClient,
    keys: readonly string[] | null,
    prove: (client: ServiceClient, fingerprint: string) => Promise<Proof>,
  ) {
    this.#client = client;
    this.#keys = new Set(keys);
    this.#takesFirst = keys === null;
    this.#prove = prove;
  }

  /** The newest last. */
  get keys(): readonly string[] {
    return [...this.#keys];
  }

  /** The client with this guard. */
  get client(): ServiceClient {
    return withKeyGuard(this.#client, this);
  }

  admits(fingerprint: string): boolean {
    if (this.#takesFirst) this.#keys.add(fingerprint);
    this.#takesFirst = false;
    const isAdmitted = this.#keys.has(fingerprint);
    this.isUsed ||= isAdmitted;
    return isAdmitted;
  }

  show(fingerprint: string): Promise<void> {
    const pending =
      this.#pending.get(fingerprint) ??
      this.#prove(withKeyGuard(this.#client, onlyKey(fingerprint)), fingerprint)
        .then((proof) => {
          if (proof === 'nothing-read') this.#keys.clear();
          this.#keys.add(fingerprint);
        })
        .finally(() => this.#pending.delete(fingerprint));
    this.#pending.set(fingerprint, pending);
    return pending;
  }
}
