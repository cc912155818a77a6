import type { ObjectKey } from '../core/brands.js';
import type { ObjectStore } from '../lake/store/index.js';
import type { HeldRefusal } from './chunk-log.js';
import { decodeSealed } from './sealed.js';

/** The service's text for refused rows that have no outcome. */
export interface RefusalText {
  readonly status: number | null;
  readonly message: string | null;
  /** Number of rows. */
  readonly rows: number;
  /** The number of the first of these rows in the input. */
  readonly first: number;
}

/** Different texts that are kept. */
const MAX_TEXTS = 20;

/** Collects what the service said about refused rows. */
export class RefusalTexts {
  readonly #texts = new Map<string, RefusalText>();

  /** @param row the number of the row in the input */
  add(row: number, { status, message }: HeldRefusal): void {
    const key = JSON.stringify([status, message]);
    const known = this.#texts.get(key);
    if (known !== undefined) this.#texts.set(key, { ...known, rows: known.rows + 1 });
    else if (this.#texts.size < MAX_TEXTS) this.#texts.set(key, { status, message, rows: 1, first: row });
  }

  /** In the order of their first rows. */
  get texts(): readonly RefusalText[] {
    return [...this.#texts.values()];
  }
}

/** Reads what the service said. @throws DamagedError, StoreError */
export async function readRefusals(store: ObjectStore, key: ObjectKey): Promise<readonly RefusalText[]> {
  return decodeSealed<readonly RefusalText[]>(key, await store.read(key));
}
