import { Context } from '@temporalio/activity';
import type { RunId } from '../../core/brands.js';
import type { PhaseEnded, RunRef } from '../../core/contract/index.js';
import { inParallel } from '../../core/in-parallel.js';
import type { Warning, WarningOf } from '../../core/warnings.js';
import { DamagedError } from '../../lake/damaged-error.js';
import { nameOf } from '../../lake/documents/lake-layout.js';
import { type Manifest, type PublishedPart, readManifest, rowsOf } from '../../lake/documents/manifest.js';
import type { FoundPointer, Pointer } from '../../lake/documents/pointer.js';
import type { BaseSnapshot, RollbackTarget } from '../../lake/documents/run-file.js';
import type { StagedChunk } from '../../lake/documents/stage-file.js';
import { copyIntactPart } from '../../lake/part/copy-part.js';
import { readPartIndex } from '../../lake/part/read-index.js';
import { readPublishedIds } from '../../lake/published/chain.js';
import { listRuns } from '../../lake/published/run-folders.js';
import { checkObject, sha256InStore } from '../../lake/store/digest.js';
import { type ObjectStore, StoreError } from '../../lake/store/index.js';
import type { AttemptProgress } from '../activity-context.js';
import { finalFailure } from '../failures.js';
import { baseSnapshot, readBaseSnapshot, snapshotFacts } from '../pass-fence.js';
import { firstStage } from '../read/read-stage.js';
import { endedBy, toNextPhase } from '../run-journal.js';
import { STAGE } from '../staged-documents.js';
import { Spill, type Staging } from '../staging.js';

const CHECKS_AT_ONCE = 16;
/** Number of runs that an error lists. */
const MAX_RUNS_LISTED = 10;

/**
 * Reads the target of a rollback: a run on the chain whose snapshot is still in the lake and undamaged.
 *
 * @param pointer `null`: nothing is published
 * @throws a final failure `Configuration` when there is no such run, `Lake` when its snapshot is damaged
 */
export async function readTarget(
  store: ObjectStore,
  { resource }: Pick<RunRef, 'resource'>,
  to: RunId,
  pointer: Pointer | null,
): Promise<RollbackTarget> {
  if (pointer === null) throw noSuchRun(resource, 'nothing is published yet', []);
  const snapshots = await listRuns(store, resource, 'snapshots');
  const { runs, lost } = await readPublishedIds(store, pointer);
  const kept = [...runs].filter((runId) => snapshots.has(runId));
  if (!runs.has(to)) {
    const why =
      lost === null
        ? `run ${to} was never published`
        : `whether run ${to} was published is not known, because the change log of run ${lost} is missing`;
    throw noSuchRun(resource, why, kept);
  }
  const key = snapshots.get(to);
  const manifest = key === undefined ? null : await readManifest(store, key);
  if (manifest === null)
    throw noSuchRun(resource, `the snapshot of run ${to} is no longer in the lake`, kept);
  await checkParts(store, resource, manifest);
  return { ...snapshotFacts(manifest), parts: manifest.parts.filter(({ rows }) => rows > 0) };
}

/**
 * Stages the rows of the target as a complete reading of the list, without copying them. Only a part whose block index is
 * missing or damaged is copied, with a new one.
 */
export async function stageTarget(staging: Staging): Promise<PhaseEnded> {
  const journal = await staging.journal();
  const { run, reading } = journal;
  const { parts, profile, columns } = run.rollback!;
  const { cancellationSignal: signal } = Context.current();
  const { store } = staging;
  const chunks = await inParallel(parts, CHECKS_AT_ONCE, async (part): Promise<StagedChunk> => {
    const { rows, rawBytes, first, last, sha256 } = part;
    const isIndexed = (await readPartIndex(store, part, signal)) !== null;
    // In memory, the copies of all such parts would be held.
    if (!isIndexed && staging.isPrivate) throw new Spill('a part of the target has no intact block index');
    const to = staging.key(`indexed-${nameOf(part.key)}`);
    const { key, bytes, indexCrc32 } = isIndexed
      ? part
      : await copyIntactPart(store, part, { ...profile, columns }, { to, signal });
    return {
      ...{ key, rows, bytes, rawBytes, first: first!, last: last!, columns: columns.length, sha256 },
      // A part of a snapshot has an index.
      indexCrc32: indexCrc32!,
    };
  });
  const fetched = rowsOf(parts);
  const stage = { ...firstStage(run), chunks, fetched, done: true };
  const key = await staging.write(STAGE, staging.own('stage', 0), stage);
  const read = { stage: key, rows: fetched, reading: reading + 1 };
  return toNextPhase(await staging.decide(endedBy(journal, read)));
}

async function checkParts(store: ObjectStore, resource: string, { runId, parts }: Manifest): Promise<void> {
  const problems = await inParallel(parts, CHECKS_AT_ONCE, (part) => checkObject(store, part));
  const problem = problems.find((one) => one !== null);
  if (problem === undefined || problem === null) return;
  throw finalFailure(
    'Lake',
    `${resource}: the snapshot of run ${runId} is damaged (${problem}). Nothing was published. Roll back to another run.`,
  );
}

function noSuchRun(resource: string, why: string, kept: readonly RunId[]): Error {
  const which = kept.slice(0, MAX_RUNS_LISTED).join(', ');
  const more = kept.length > MAX_RUNS_LISTED ? ` and ${kept.length - MAX_RUNS_LISTED} older ones` : '';
  const remedy =
    kept.length === 0 ? 'There is no run to roll back to.' : `Roll back to one of ${which}${more}.`;
  return finalFailure('Configuration', `${resource}: ${why}. ${remedy}`);
}

const READ_AT_ONCE = 4;

/**
 * Reads the head, and leaves out what is missing or damaged: a rollback is the way out of damaged data, so it cannot depend on
 * it. All parts are read, because a merge finds damage only on its way. With a slow store, that takes several attempts.
 *
 * @param progress what an earlier attempt has read; updated after each part
 */
export async function readIntactHead(
  store: ObjectStore,
  found: FoundPointer,
  progress: Pick<AttemptProgress, 'checkedHead'>,
): Promise<{ readonly before: BaseSnapshot; readonly warnings: readonly Warning[] }> {
  const { snapshot, changes, manifests } = found.pointer;
  const manifest = await orNull(() => readManifest(store, snapshot, manifests?.snapshot));
  if (manifest === null) {
    const log = changes === null ? null : await readManifest(store, changes);
    // Without its fields, it is not known which columns and settings the next snapshot continues.
    if (log === null) return { before: await readBaseSnapshot(store, found), warnings: [] };
    const before = baseSnapshot(found, log);
    return { before: withParts(before, []), warnings: [leftOut(found.pointer, null)] };
  }
  const before = baseSnapshot(found, manifest);
  const isIntact = await checkHead(store, before, progress);
  const parts = before.parts.filter((_, at) => isIntact[at]);
  const damaged = before.parts.length - parts.length;
  if (damaged === 0) return { before, warnings: [] };
  return {
    before: withParts(before, parts),
    warnings: [leftOut(found.pointer, { damaged, of: before.parts.length })],
  };
}

/** Which parts of the head are intact. */
async function checkHead(
  store: ObjectStore,
  { etag, parts }: BaseSnapshot,
  progress: Pick<AttemptProgress, 'checkedHead'>,
): Promise<readonly boolean[]> {
  const { cancellationSignal: signal } = Context.current();
  const known = progress.checkedHead?.etag === etag ? progress.checkedHead : null;
  const first = known?.parts ?? 0;
  const isIntact = parts.slice(0, first).map((_, at) => known?.damaged.includes(at) === false);
  let read = first;
  const damaged = [...(known?.damaged ?? [])];
  const rest = [...parts.keys()].slice(first);
  await inParallel(rest, READ_AT_ONCE, async (at) => {
    const { key, sha256 } = parts[at]!;
    isIntact[at] = (await orNull(() => sha256InStore(store, key, signal))) === sha256;
    // Parts are read at the same time, so a later one may end first.
    for (; isIntact[read] !== undefined; read++) if (!isIntact[read]) damaged.push(read);
    progress.checkedHead = { etag, parts: read, damaged: [...damaged] };
  });
  return isIntact;
}

function withParts(before: BaseSnapshot, parts: readonly PublishedPart[]): BaseSnapshot {
  return { ...before, parts, rows: rowsOf(parts) };
}

/** `null` for what is missing or damaged. */
async function orNull<T>(reading: () => Promise<T>): Promise<T | null> {
  try {
    return await reading();
  } catch (error) {
    const isDamage =
      error instanceof DamagedError ||
      (error instanceof StoreError && (error.kind === 'not-found' || error.kind === 'damaged'));
    if (!isDamage) throw error;
    return null;
  }
}

function leftOut({ resource, runId }: Pointer, parts: WarningOf<'left-out'>['parts']): Warning {
  return { kind: 'left-out', resource, runId, parts };
}
