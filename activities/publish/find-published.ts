import type { RunId } from '../../src/core/brands.js';
import type { PublishedRun } from '../../src/core/contract/index.js';
import { RunChain, wasPublished } from '../../src/lake/published/chain.js';
import { inFolder, MANIFEST, pointerKey } from '../../src/lake/published/layout.js';
import { readManifest } from '../../src/lake/published/manifest.js';
import { decodePointer, type Pointer, readPointer } from '../../src/lake/published/pointer.js';
import type { RunFile } from '../../src/lake/run/run-file.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { displacedFailure } from '../shared/displacement.js';
import { folderIn, type RunPlace } from '../shared/published-run.js';
import { limitWarnings } from './warnings.js';

type Place = RunPlace & Pick<RunFile, 'connection'>;

/**
 * Checks that a run can still be published, before anything is written: the pointer must be the version that the run
 * read when it began. If an earlier attempt published the run, the run is found on the chain, even if another mirror has
 * published later runs on top of it. A replaced attempt of a short run has its own id; its delayed request may have
 * published it.
 *
 * @returns the result of the earlier attempt; `null` if the run is not published yet
 * @throws a final failure `Displaced` when another run was published instead
 */
export async function findPublished(store: ObjectStore, run: RunFile): Promise<PublishedRun | null> {
  const resource = run.resource.name;
  const found = await store.readIfExists(pointerKey(resource));
  if (found === null ? run.before === null : found.etag === run.before?.etag) return null;
  const pointer: Pointer | null = found === null ? null : { ...decodePointer(found.body), resource };
  if (pointer !== null && (await wasPublished(pointer, new RunChain(store, pointer), run.runId)))
    return toPublishedRun(store, run, pointer);
  // An amended pointer names a run of the past.
  const isNew = pointer !== null && pointer.runId !== run.before?.runId && pointer.amendedBy === undefined;
  if (isNew && run.ownRunIds?.includes(pointer.runId)) {
    const attempt = await toPublishedRun(store, { ...run, runId: pointer.runId }, pointer);
    return { ...attempt, runId: pointer.runId };
  }
  const ref = { connection: run.connection, resource, runId: run.runId };
  throw displacedFailure(ref, pointer?.runId ?? null);
}

/**
 * Finds the run of an earlier attempt, each of which has its own id.
 *
 * @returns `null` if none of them was published
 */
export async function findPublishedAttempt(
  store: ObjectStore,
  place: Omit<Place, 'runId'>,
  attempts: readonly RunId[],
): Promise<(PublishedRun & { readonly runId: RunId }) | null> {
  const pointer = await readPointer(store, place.resource.name);
  if (pointer === null) return null;
  const chain = new RunChain(store, pointer);
  for (const runId of attempts)
    if (await wasPublished(pointer, chain, runId))
      return { ...(await toPublishedRun(store, { ...place, runId }, pointer)), runId };
  return null;
}

async function toPublishedRun(store: ObjectStore, run: Place, pointer: Pointer): Promise<PublishedRun> {
  const snapshot = inFolder(folderIn(run, 'snapshots'), MANIFEST);
  const changes = inFolder(folderIn(run, 'changes'), MANIFEST);
  const manifest = await readManifest(store, pointer.runId === run.runId ? pointer.snapshot : changes);
  if (manifest === null) throw displacedFailure({ ...run, resource: run.resource.name }, pointer.runId);
  const { checkpoint, counts, publishedAt, warnings } = manifest;
  return {
    snapshot,
    checkpoint,
    counts,
    publishedAt: Date.parse(publishedAt),
    warnings: limitWarnings(warnings),
    replaced: true,
  };
}
