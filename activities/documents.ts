import type { ObjectKey } from '../src/core/brands.js';
import type { RunRef } from '../src/core/contract.js';
import { inFolder, stagingFolder } from '../src/lake/layout.js';
import { RUN_FILE, type RunFile } from '../src/lake/run-file.js';
import type { Stage } from '../src/lake/stage.js';
import type { ObjectStore } from '../src/lake/store/index.js';
import { finalFailure } from './failures.js';

/** The JSON documents that a run's activities leave one another in the run's staging folder. */
export async function writeDocument(store: ObjectStore, key: ObjectKey, value: object): Promise<void> {
  await store.write(key, Buffer.from(JSON.stringify(value)), { contentType: 'application/json' });
}

export async function readDocument<T>(store: ObjectStore, key: ObjectKey): Promise<T> {
  return JSON.parse((await store.read(key)).toString('utf8')) as T;
}

export function stagedKey(ref: RunRef, name: string): ObjectKey {
  return inFolder(stagingFolder(ref.resource, ref.runId), name);
}

/** Fixes what a run keeps to; of two attempts at once the first one's stays. Returns what is fixed. */
export async function writeRun(store: ObjectStore, ref: RunRef, run: RunFile): Promise<RunFile> {
  const key = stagedKey(ref, RUN_FILE);
  const { outcome } = await store.swap(key, Buffer.from(JSON.stringify(run)), 'absent');
  return outcome === 'written' ? run : readRun(store, ref);
}

export async function readRunIfThere(store: ObjectStore, ref: RunRef): Promise<RunFile | null> {
  const found = await store.readIfExists(stagedKey(ref, RUN_FILE));
  return found === null ? null : (JSON.parse(found.body.toString('utf8')) as RunFile);
}

/** @throws a final failure when somebody has removed the run's staging folder */
export async function readRun(store: ObjectStore, ref: RunRef): Promise<RunFile> {
  const run = await readRunIfThere(store, ref);
  if (run !== null) return run;
  throw finalFailure(
    'Lake',
    `${ref.resource}: the staging folder of run ${ref.runId} is gone from the lake; the next run starts anew. ` +
      'Does a lifecycle rule of the bucket remove objects below _staging/ too early?',
  );
}

/**
 * The run, and what else is read of its staging folder at the same time: a store takes its time over each request.
 *
 * @throws as `readRun`, also when the rest cannot be read because the folder is gone
 */
export async function readRunWith<T>(
  store: ObjectStore,
  ref: RunRef,
  rest: Promise<T>,
): Promise<[run: RunFile, rest: T]> {
  rest.catch(() => {});
  return [await readRun(store, ref), await rest];
}

/** A stage and those of the calls before it, oldest first. */
export async function readStages(store: ObjectStore, last: ObjectKey): Promise<Stage[]> {
  const stages: Stage[] = [];
  for (let key: ObjectKey | null = last; key !== null; ) {
    const stage: Stage = await readDocument<Stage>(store, key);
    stages.unshift(stage);
    key = stage.previous;
  }
  return stages;
}
