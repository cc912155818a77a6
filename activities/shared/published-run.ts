import type { ObjectKey } from '../../src/core/brands.js';
import type { RunRef } from '../../src/core/contract/index.js';
import { RunChain } from '../../src/lake/published/chain.js';
import { dateOf, runFolder, type Tree } from '../../src/lake/published/layout.js';
import { type Pointer, readPointer } from '../../src/lake/published/pointer.js';
import type { RunFile } from '../../src/lake/run/run-file.js';
import type { ObjectStore } from '../../src/lake/store/index.js';

/** The last published run and the chain of runs before it. */
export interface LastRun {
  readonly pointer: Pointer;
  readonly chain: RunChain;
}

/** @returns `null` when `latest.json` names another run; the caller decides what that means */
export async function readLastRun(store: ObjectStore, { resource, runId }: RunRef): Promise<LastRun | null> {
  const pointer = await readPointer(store, resource);
  return pointer?.runId === runId ? { pointer, chain: new RunChain(store, pointer) } : null;
}

/** The fields of a run file that say where its folders are. A short run has no run file. */
export interface RunPlace extends Pick<RunFile, 'nominalStart' | 'runId'> {
  readonly resource: Pick<RunFile['resource'], 'name'>;
}

/** The folder of a run in `snapshots/` or `changes/`, without a trailing slash. */
export function folderIn({ resource, nominalStart, runId }: RunPlace, tree: Tree): ObjectKey {
  return runFolder(resource.name, tree, dateOf(nominalStart), runId);
}
