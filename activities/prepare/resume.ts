import type { ObjectKey, RunId } from '../../src/core/brands.js';
import { DAY_MS } from '../../src/core/duration.js';
import type { RunFile } from '../../src/lake/documents/run-file.js';
import type { Stage } from '../../src/lake/documents/stage-file.js';
import { type StoredStage, toReadResult } from '../../src/lake/run/read-stage.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { LakeStaging, readRunIfThere } from '../shared/lake-staging.js';

/** Older staged pages are not reused, because the list may have changed too much. */
const MAX_AGE_MS = DAY_MS;

/** The inputs that must be equal for a run to reuse the pages of another run. */
type ReadRequest = Pick<
  RunFile,
  'connection' | 'baseUrl' | 'resource' | 'mode' | 'updatedSince' | 'checkpoint' | 'before'
>;

/** The staged pages of a failed run, and the time that they were read from. */
interface Resumable {
  readonly resumed: NonNullable<RunFile['resumed']>;
  readonly readSince: number;
}

/**
 * Finds the pages that a failed run staged, if that run read the same list with the same parameters and base snapshot,
 * less than a day ago. The new run takes its checkpoint from the start of the failed run, so later changes are not missed.
 *
 * @param now milliseconds since 1970
 */
export async function findResumable(
  store: ObjectStore,
  request: ReadRequest,
  { failed, now }: { readonly failed: RunId; readonly now: number },
): Promise<Resumable | null> {
  const { resource } = request;
  const ref = { resource: resource.name, runId: failed };
  const run = await readRunIfThere(store, ref);
  if (run === null || now - run.readSince > MAX_AGE_MS) return null;
  if (fingerprintOf(run) !== fingerprintOf(request)) return null;
  const staging = new LakeStaging(store, ref, 1);
  // Names sort by call and attempt, and each stage continues the one before, so the last name is the newest stage.
  const key = (await staging.last('stage-')) ?? run.resumed?.extracted.stage ?? null;
  const found = key === null ? null : await firstReading(staging, key);
  if (found === null) return null;
  return { resumed: { runId: failed, extracted: toReadResult(found) }, readSince: run.readSince };
}

function fingerprintOf(run: ReadRequest): string {
  const { connection, baseUrl, resource, mode, updatedSince, checkpoint, before } = run;
  const snapshot = before === null ? null : [before.runId, before.etag];
  const service = [connection, baseUrl, resource];
  return JSON.stringify([...service, mode, updatedSince, checkpoint, snapshot]);
}

/** The last stage of the first reading. Later readings detect deletes, and a resumed run repeats them from the beginning. */
async function firstReading(staging: LakeStaging, last: ObjectKey): Promise<StoredStage | null> {
  for (let key: ObjectKey | null = last; key !== null; ) {
    const stage: Stage = await staging.read<Stage>(key);
    if (stage.read === 0) return { key, stage };
    key = stage.previous;
  }
  return null;
}
