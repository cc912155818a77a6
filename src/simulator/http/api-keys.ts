import type { ApiKey } from '../simulator-options.js';
import { Refusal } from './reply.js';

/** The API keys and the plans of the organizations. */
export class KeyRing {
  #keys = new Map<string, ApiKey>();
  #withoutApi: Set<string>;

  constructor(keys: readonly ApiKey[], withoutApi: readonly string[]) {
    for (const key of keys) this.add(key);
    this.#withoutApi = new Set(withoutApi);
  }

  /** Adds a key; replaces a key with the same secret. */
  add(key: ApiKey): void {
    this.#keys.set(key.key, key);
  }

  /** Revokes all keys with this name. */
  revoke(name: string): void {
    for (const [secret, key] of this.#keys) if (key.name === name) this.#keys.delete(secret);
  }

  /** Sets whether the organization's plan includes API access. */
  setPlan(organization: string, plan: 'api' | 'none'): void {
    if (plan === 'none') this.#withoutApi.add(organization);
    else this.#withoutApi.delete(organization);
  }

  /**
   * The key of an Authorization header. Throws `Refusal` (docs/service-api.md#requests).
   * @param now service clock, ms
   */
  authenticate(
    header: string | undefined,
    now: number,
    statuses: { badKey: number; noApiPlan: number },
  ): ApiKey {
    const secret = /^Bearer +(\S+)$/i.exec(header ?? '')?.[1];
    if (secret === undefined)
      throw new Refusal(statuses.badKey, 'The API key is missing: send Authorization: Bearer <key>.');
    const key = this.#keys.get(secret);
    if (key === undefined) throw new Refusal(statuses.badKey, 'The API key is not known.');
    if (key.expiresAt !== undefined && key.expiresAt <= now) {
      throw new Refusal(statuses.badKey, `The API key "${key.name}" expired.`);
    }
    if (this.#withoutApi.has(key.organization)) {
      throw new Refusal(statuses.noApiPlan, 'The plan of this organization does not include API access.');
    }
    return key;
  }
}

/** Throws `Refusal` naming the grant that the key lacks. */
export function requireGrant(key: ApiKey, grant: string, status: number): void {
  if (key.grants.includes('*') || key.grants.includes(grant)) return;
  throw new Refusal(status, `The API key "${key.name}" lacks the grant ${grant}.`);
}
