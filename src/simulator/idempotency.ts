import type { RememberedResult } from './journal.js';

/** What creates with an Idempotency-Key were answered (spec, "Idempotency rule"), per organization. */
export class IdempotencyMemory {
  #results = new Map<string, RememberedResult>();

  remember(organization: string, result: RememberedResult): void {
    this.#results.set(JSON.stringify([organization, result.key]), result);
  }

  /** The original result, unless it is older than `retentionMs` at `now` (service clock, ms). */
  recall(organization: string, key: string, now: number, retentionMs: number): RememberedResult | undefined {
    const result = this.#results.get(JSON.stringify([organization, key]));
    return result !== undefined && now - result.at <= retentionMs ? result : undefined;
  }
}
