import type { ObjectKey } from '../../src/core/brands.js';
import {
  type Expected,
  type ObjectStore,
  StoreError,
  StoreUnclearError,
} from '../../src/lake/store/index.js';
import { type ChunkLog, encodeSealed } from '../../src/write-back/index.js';

/** Tries of one write, and the wait after the first one; it doubles. */
const TRIES = 8;
const FIRST_WAIT_MS = 50;

/**
 * The log of one attempt, which only this attempt writes. Each write is conditional: the first one expects no object, and
 * each later one the version before it. So neither another attempt nor a delayed request can replace a receipt.
 * Calls must not overlap.
 */
export class LogFile {
  readonly #store: ObjectStore;
  readonly #key: ObjectKey;
  #version: Expected = 'absent';

  constructor(store: ObjectStore, key: ObjectKey) {
    this.#store = store;
    this.#key = key;
  }

  /** @throws StoreError, even if another writer has used the name */
  async write(log: ChunkLog): Promise<void> {
    const body = encodeSealed(log);
    for (let tries = 1; ; tries++) {
      const failure = await this.#tryWrite(body);
      if (failure === null) return;
      if (tries === TRIES || !failure.retryable) throw failure;
      await new Promise((resolve) => setTimeout(resolve, FIRST_WAIT_MS * 2 ** (tries - 1)));
    }
  }

  async #tryWrite(body: Buffer): Promise<StoreError | null> {
    let failure: StoreError;
    try {
      const result = await this.#store.swap(this.#key, body, this.#version);
      if (result.outcome === 'written') {
        this.#version = { etag: result.etag };
        return null;
      }
      failure = this.#taken();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (!(error instanceof StoreUnclearError)) return error;
      failure = error;
    }
    // A request without a clear answer may have taken effect, even late: then a repeated one is a conflict.
    const found = await this.#store.readIfExists(this.#key);
    if (!found?.body.equals(body)) return failure;
    this.#version = { etag: found.etag };
    return null;
  }

  #taken(): StoreError {
    return new StoreError({
      kind: 'throttled',
      operation: 'swap',
      key: this.#key,
      bucket: this.#store.url,
      problem: 'another writer has changed the log of this attempt',
      remedy: 'Run the same command again: each attempt has its own log.',
    });
  }
}
