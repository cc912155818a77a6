import type { ObjectKey } from '../../src/core/brands.js';
import type { RunRef } from '../../src/core/contract/index.js';
import { parseStored } from '../../src/core/stored-json.js';
import { inFolder, stagingFolder } from '../../src/lake/published/layout.js';
import { RUN_FILE, type RunFile } from '../../src/lake/run/run-file.js';
import type { Stage } from '../../src/lake/run/stage.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { finalFailure } from './failures.js';

/** Writes a JSON document to a run's staging folder, where a later activity of the run reads it. */
export async function writeDocument(store: ObjectStore, key: ObjectKey, value: object): Promise<void> {
  await store.write(key, Buffer.from(JSON.stringify(value)), { contentType: 'application/json' });
}

export async function readDocument<T>(store: ObjectStore, key: ObjectKey): Promise<T> {
  return parseStored(await store.read(key)) as T;
}

export function stagedKey(ref: RunRef, name: string): ObjectKey {
  return inFolder(stagingFolder(ref.resource, ref.runId), name);
}

/** Writes a run's settings once. If two attempts write at the same time, the first one counts. Returns what is in the lake. */
export async function writeRun(store: ObjectStore, ref: RunRef, run: RunFile): Promise<RunFile> {
  const key = stagedKey(ref, RUN_FILE);
  const { outcome } = await store.swap(key, Buffer.from(JSON.stringify(run)), 'absent');
  return outcome === 'written' ? run : readRun(store, ref);
}

export async function readRunIfThere(store: ObjectStore, ref: RunRef): Promise<RunFile | null> {
  const found = await store.readIfExists(stagedKey(ref, RUN_FILE));
  return found === null ? null : (parseStored(found.body) as RunFile);
}

/** @throws a final failure when the run's staging folder is missing */
export async function readRun(store: ObjectStore, ref: RunRef): Promise<RunFile> {
  const run = await readRunIfThere(store, ref);
  if (run !== null) return run;
  throw finalFailure(
    'Lake',
    `${ref.resource}: the staging folder of run ${ref.runId} is missing from the lake. The next run starts from the beginning. ` +
      'Check whether a lifecycle rule of the bucket removes objects below _staging/ too early.',
  );
}

/**
 * Reads the run file while other documents of its staging folder are being read, because each request takes a round trip.
 *
 * @throws as `readRun`, also when the other documents cannot be read because the folder is missing
 */
export async function readRunWith<T>(
  store: ObjectStore,
  ref: RunRef,
  rest: Promise<T>,
): Promise<[run: RunFile, rest: T]> {
  rest.catch(() => {});
  return [await readRun(store, ref), await rest];
}

/** Reads a stage and the stages of all earlier calls, oldest first. */
export async function readStages(store: ObjectStore, last: ObjectKey): Promise<Stage[]> {
  const stages: Stage[] = [];
  for (let key: ObjectKey | null = last; key !== null; ) {
    const stage: Stage = await readDocument<Stage>(store, key);
    stages.unshift(stage);
    key = stage.previous;
  }
  return stages;
}
