import { createHash, hash } from 'node:crypto';
import type { ObjectKey } from '../core/brands.js';
import { damagedObject } from '../lake/damaged-error.js';
import type { ObjectStore } from '../lake/store/index.js';
import { expectedKey, expectedSha256 } from './batch-layout.js';

/** Bytes of the hash of a state. */
const STATE_BYTES = 16;

/** @param state of `PublishedRows.stateOf` */
export function expectedState(state: string): Buffer {
  return hash('sha256', state, 'buffer').subarray(0, STATE_BYTES);
}

/**
 * Puts the states that the records of an input must still have into the lake.
 *
 * @param states of `expectedState`, one for each row of the input @throws StoreError
 */
export async function writeExpected(
  store: ObjectStore,
  batchId: string,
  states: readonly Buffer[],
): Promise<ObjectKey> {
  const body = Buffer.concat(states);
  const key = expectedKey(batchId, createHash('sha256').update(body).digest('hex'));
  await store.write(key, body);
  return key;
}

/** The states that the records of an input must still have: 16 bytes for each row, in memory. */
export class ExpectedStates {
  private constructor(private readonly states: Buffer) {}

  /** @throws DamagedError, StoreError */
  static async read(store: ObjectStore, key: ObjectKey): Promise<ExpectedStates> {
    const body = await store.read(key);
    if (createHash('sha256').update(body).digest('hex') !== expectedSha256(key))
      throw damagedObject(key, 'its content does not match the checksum in its name');
    return new ExpectedStates(body);
  }

  /** @param row its number in the input, from 1 @param state of `PublishedRows.stateOf` */
  isSame(row: number, state: string): boolean {
    const expected = this.states.subarray((row - 1) * STATE_BYTES, row * STATE_BYTES);
    return expected.equals(expectedState(state));
  }
}
