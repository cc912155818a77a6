import { Context } from '@temporalio/activity';
import type { RunId } from '../../src/core/brands.js';
import type { ReadResult, RunRef } from '../../src/core/contract/index.js';
import { inParallel } from '../../src/core/in-parallel.js';
import { nameOf } from '../../src/lake/documents/lake-layout.js';
import { type Manifest, readManifest } from '../../src/lake/documents/manifest.js';
import type { Pointer } from '../../src/lake/documents/pointer.js';
import type { RollbackTarget, RunFile } from '../../src/lake/documents/run-file.js';
import type { StagedChunk } from '../../src/lake/documents/stage-file.js';
import { copyIntactPart } from '../../src/lake/part/copy-part.js';
import { readPartIndex } from '../../src/lake/part/read-index.js';
import { readPublishedIds } from '../../src/lake/published/chain.js';
import { listRuns, manifestOf } from '../../src/lake/published/run-folders.js';
import { firstStage, toReadResult } from '../../src/lake/run/read-stage.js';
import { checkObject } from '../../src/lake/store/digest.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { readUpToOf } from '../shared/base-snapshot.js';
import { finalFailure } from '../shared/failures.js';
import { Spill, type Staging } from '../shared/staging.js';

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
  const key = manifestOf(resource, 'snapshots', snapshots, to);
  const manifest = key === null ? null : await readManifest(store, key);
  if (manifest === null)
    throw noSuchRun(resource, `the snapshot of run ${to} is no longer in the lake`, kept);
  await checkParts(store, resource, manifest);
  const { runId, checkpoint, columns, key: keys, csv, selection, fingerprint, list, shapes } = manifest;
  return {
    to: runId,
    checkpoint: checkpoint.updatedSince,
    readUpTo: readUpToOf(manifest),
    parts: manifest.parts.filter(({ rows }) => rows > 0),
    columns,
    profile: { key: keys, csv, columns: selection },
    ...{ fingerprint, list, shapes },
  };
}

/**
 * Stages the rows of the target as a complete reading of the list, without copying them. Only a part whose block index is
 * missing or damaged is copied, with a new one.
 */
export async function stageTarget(staging: Staging, run: RunFile): Promise<ReadResult> {
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
  const fetched = parts.reduce((sum, { rows }) => sum + rows, 0);
  const stage = { ...firstStage(run, null), chunks, fetched, done: true };
  // Each attempt writes the same text.
  const key = await staging.write('target.json', stage);
  return toReadResult(key, stage);
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
