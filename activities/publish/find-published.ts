import type { PublishedRun } from '../../src/core/contract/index.js';
import { RunChain, wasPublished } from '../../src/lake/published/chain.js';
import { inFolder, MANIFEST, pointerKey } from '../../src/lake/published/layout.js';
import { readManifest } from '../../src/lake/published/manifest.js';
import { decodePointer, type Pointer } from '../../src/lake/published/pointer.js';
import type { RunFile } from '../../src/lake/run/run-file.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { displacedFailure } from '../shared/displacement.js';
import { folderIn } from '../shared/published-run.js';
import { limitWarnings } from './warnings.js';

/**
 * Checks that a run can still be published, before anything is written: the pointer must be the version that the run
 * read when it began. If an earlier attempt published the run, the run is found on the chain, even if another mirror has
 * published later runs on top of it.
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
  const ref = { connection: run.connection, resource, runId: run.runId };
  throw displacedFailure(ref, pointer?.runId ?? null);
}

async function toPublishedRun(store: ObjectStore, run: RunFile, pointer: Pointer): Promise<PublishedRun> {
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
  };
}
