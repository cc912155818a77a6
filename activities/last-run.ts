import type { RunRef } from '../src/core/contract.js';
import { RunChain } from '../src/lake/chain.js';
import { pointerKey } from '../src/lake/layout.js';
import { decodePointer, type Pointer } from '../src/lake/pointer.js';
import type { ObjectStore } from '../src/lake/store/index.js';

/** The run that was published last, and those before it. */
export interface LastRun {
  readonly pointer: Pointer;
  readonly chain: RunChain;
}

/** @returns `null` when `latest.json` names another run than ours: what is to be done then, somebody else decides */
export async function readLastRun(store: ObjectStore, { resource, runId }: RunRef): Promise<LastRun | null> {
  const found = await store.readIfExists(pointerKey(resource));
  const pointer = found === null ? null : { ...decodePointer(found.body), resource };
  return pointer?.runId === runId ? { pointer, chain: new RunChain(store, pointer) } : null;
}
