import type { RunId } from '../../core/brands.js';
import type { PublishedRun } from '../../core/contract/index.js';
import { haveSameRequest } from '../../core/run-id.js';
import { summaryOf } from '../../lake/documents/check-record.js';
import { inFolder, MANIFEST } from '../../lake/documents/lake-layout.js';
import { type Manifest, readManifest, warningFields } from '../../lake/documents/manifest.js';
import { decodePointer, type Pointer } from '../../lake/documents/pointer.js';
import { folderIn, type RunFile, type RunPlace, shownId } from '../../lake/documents/run-file.js';
import { descendsFrom, wasPublished } from '../../lake/published/chain.js';
import { isSameWriter } from '../../lake/published/ownership.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { finalFailure } from '../failures.js';
import { displacedFailure } from '../run-failures.js';

type Place = RunPlace & Pick<RunFile, 'connection'>;

/**
 * Checks that a run can still be published, before anything is written: the pointer must be the version that the run
 * read when it began. If an earlier attempt published the run, the run is found on the chain, even if another mirror has
 * published later runs on top of it. An attempt that did the whole run in memory has its own id; its delayed request may
 * have published it.
 *
 * @param found `latest.json`, read in this attempt; `null` if it does not exist
 * @returns the result of the earlier attempt; `null` if the run is not published yet
 * @throws a final failure when another run was published instead: `Transient` for a run of an earlier request to this
 *   mirror, otherwise `Displaced`
 */
export async function findPublished(
  store: ObjectStore,
  run: RunFile,
  found: Awaited<ReturnType<ObjectStore['readIfExists']>>,
): Promise<PublishedRun | null> {
  const resource = run.resource.name;
  if (found === null ? run.before === null : found.etag === run.before?.etag) return null;
  const pointer: Pointer | null = found === null ? null : { ...decodePointer(found.body), resource };
  if (pointer !== null && (await wasPublished(store, pointer, run.runId)))
    return toPublishedRun(store, run, pointer);
  if (pointer !== null && (await isOwnRun(store, run, pointer))) {
    if (!haveSameRequest(pointer.runId, run.runId)) throw overtakenFailure(run, pointer.runId);
    const attempt = await toPublishedRun(store, { ...run, runId: pointer.runId }, pointer);
    return { ...attempt, runId: pointer.runId };
  }
  const ref = { connection: run.connection, resource, runId: shownId(run) };
  throw displacedFailure(ref, pointer?.runId ?? null);
}

/** Whether the pointer names a run of this mirror that was published since the run began, by a delayed request. */
async function isOwnRun(store: ObjectStore, { writer, before }: RunFile, pointer: Pointer): Promise<boolean> {
  // An amended pointer names a run of the past.
  if (pointer.amendedBy !== undefined || !isSameWriter(pointer.writer, writer)) return false;
  if (before === null) return true;
  return pointer.runId !== before.runId && descendsFrom(store, pointer, before.runId);
}

/** The next run begins with what was published, so nothing is lost. But this run may have been asked to read more. */
function overtakenFailure(run: RunFile, by: RunId): Error {
  return finalFailure(
    'Transient',
    `${run.resource.name}: run ${by} of an earlier request was published while run ${shownId(run)} was in progress, because a ` +
      'request to the store was delayed. This run was not published. Export again.',
  );
}

/**
 * Finds what an earlier attempt of a request has published under its own id: `latest.json` names it.
 *
 * @param request the request's run id, and who requests it
 * @returns `null` if none did
 */
export async function findPublishedAttempt(
  store: ObjectStore,
  request: Place & Pick<RunFile, 'writer' | 'startedAt'>,
  pointer: Pointer,
): Promise<(PublishedRun & { readonly runId: RunId }) | null> {
  const { runId, writer, amendedBy, publishedAt } = pointer;
  // A mirror that has lost its state may begin a request in the second of a run that it does not know.
  const isLater = Date.parse(publishedAt) >= request.startedAt;
  const isOwn = amendedBy === undefined && isSameWriter(writer, request.writer) && isLater;
  if (!isOwn || !haveSameRequest(runId, request.runId)) return null;
  return { ...(await toPublishedRun(store, { ...request, runId }, pointer)), runId };
}

async function toPublishedRun(store: ObjectStore, run: Place, pointer: Pointer): Promise<PublishedRun> {
  const changes = inFolder(folderIn(run, 'changes'), MANIFEST);
  const manifest = await readManifest(store, pointer.runId === run.runId ? pointer.snapshot : changes);
  if (manifest === null) throw displacedFailure({ ...run, resource: run.resource.name }, pointer.runId);
  return publishedRun(run, manifest);
}

/** What a published run reports. @param manifest of its snapshot or of its change log */
export function publishedRun(run: RunPlace, manifest: Manifest): PublishedRun {
  const { checkpoint, counts, publishedAt, deletes, checks, mode, previousRunId } = manifest;
  const missed = manifest.fullRead?.missed;
  return {
    snapshot: inFolder(folderIn(run, 'snapshots'), MANIFEST),
    ...{ checkpoint, counts, deletes },
    publishedAt: Date.parse(publishedAt),
    ...warningFields(manifest),
    ...(checks === undefined ? {} : { checks: summaryOf(checks) }),
    ...(missed === undefined ? {} : { missed }),
    ...(mode !== 'rollback' || previousRunId === null ? {} : { rolledBackFrom: previousRunId }),
  };
}
