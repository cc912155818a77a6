import { Context } from '@temporalio/activity';
import type { RunId } from '../../src/core/brands.js';
import type { Activities, RollBackInput, RolledBack } from '../../src/core/contract/index.js';
import { inParallel } from '../../src/core/in-parallel.js';
import { parseRunDate } from '../../src/core/run-id.js';
import type { ConnectionSettings } from '../../src/core/settings.js';
import { DamagedError } from '../../src/lake/damaged-error.js';
import { indexKey } from '../../src/lake/part/index-file.js';
import { repairedIndex } from '../../src/lake/part/read-index.js';
import { type ChainedRun, RunChain } from '../../src/lake/published/chain.js';
import { manifestChecksums } from '../../src/lake/published/checksums.js';
import { dateOf, dateOfRun, rolledBackRoot } from '../../src/lake/published/layout.js';
import { type Manifest, readManifest } from '../../src/lake/published/manifest.js';
import type { FoundPointer, Pointer, RolledBackRun } from '../../src/lake/published/pointer.js';
import { checkObject, swapPointer } from '../../src/lake/published/publish.js';
import { listRuns, manifestOf } from '../../src/lake/published/run-folders.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { withHeartbeat } from '../shared/activity-context.js';
import { passFence } from '../shared/base-snapshot.js';
import type { ActivityDeps } from '../shared/deps.js';
import { finalFailure } from '../shared/failures.js';

const CHECKS_AT_ONCE = 16;
/** Number of runs that an error lists. */
const MAX_RUNS_LISTED = 10;

/**
 * Points `latest.json` at an earlier published run, after it has verified that run's snapshot. Later runs stay in the
 * lake. The pointer records the newest of them (`rolledBackFrom`): the next run needs its columns and change logs, and
 * a second rollback can return to it until another run is published.
 */
export function createRollBack(deps: ActivityDeps): Activities['worktrack.rollBack'] {
  return (input) =>
    withHeartbeat(async () => {
      const { store, settings } = deps.connection(input.connection);
      const { found } = await passFence(store, { ...input, baseUrl: settings.baseUrl, adopt: false });
      if (found === null) throw noSuchRun(input, 'nothing is published yet', []);
      const { pointer, etag } = found;
      if (pointer.runId === input.to && pointer.rolledBackFrom === undefined)
        return reached(pointer, settings, undefined);
      const newest: RolledBackRun | null = pointer.rolledBackFrom ?? rolledBackRun(pointer);
      const { chain, snapshots } = await readRuns(store, input.resource, newest);
      const left = runsAfter(input, chain);
      // An earlier attempt swapped the pointer, and its result was lost.
      if (pointer.runId === input.to)
        return { ...reached(pointer, settings, pointer.rolledBackFrom?.runId), ...left };
      const target = await readTarget(store, input, chain, snapshots);
      await checkParts(store, input, target, Context.current().cancellationSignal);
      const { runId, checkpoint, publishedAt, counts } = target.manifest;
      const back = newest !== null && newest.runId !== runId ? { rolledBackFrom: newest } : {};
      const { resource, connection, baseUrl } = pointer;
      const { writer } = input;
      const wanted: Pointer = {
        ...{ resource, runId, snapshot: target.key, changes: target.changes, publishedAt, checkpoint },
        ...{ rows: counts.rows, connection, baseUrl, writer },
        ...{
          ...back,
          manifests: await manifestChecksums(store, { snapshot: target.key, changes: target.changes }),
          amendedBy: input.runId,
        },
      };
      await swap(store, input, wanted, { pointer, etag });
      return { ...reached(wanted, settings, pointer.runId), ...left };
    });
}

function reached(
  { runId, snapshot, rows, checkpoint, publishedAt }: Pointer,
  { tables }: Pick<ConnectionSettings, 'tables'>,
  from: RunId | undefined,
): RolledBack {
  const published = {
    ...{ runId, snapshot, rows, checkpoint, publishedAt: Date.parse(publishedAt) },
    ...(from === undefined ? {} : { from }),
  };
  return { ...published, table: tables !== null };
}

/** What the clean-up of a later run must know about the runs after the target. @param chain newest first */
function runsAfter(
  { to, unpublished }: RollBackInput,
  chain: readonly Pick<ChainedRun, 'runId' | 'changes'>[],
): Pick<RolledBack, 'days' | 'undone'> {
  const at = chain.findIndex(({ runId }) => runId === to);
  const after = chain.slice(0, Math.max(0, at));
  if (after.length === 0) return {};
  const published = new Set(after.map(({ runId }) => runId));
  // The clean-up checks the days since the target began.
  const since = dateOf(parseRunDate(to));
  const days = new Set(after.map(({ changes }) => dateOfRun(changes)).filter((day) => day < since));
  return {
    undone: unpublished.filter((runId) => published.has(runId)),
    ...(days.size > 0 ? { days: [...days] } : {}),
  };
}

interface Target {
  readonly key: Pointer['snapshot'];
  readonly changes: Pointer['snapshot'];
  readonly manifest: Manifest;
}

function rolledBackRun({ runId, changes }: Pointer): RolledBackRun | null {
  return changes === null ? null : { runId, changes };
}

async function readRuns(store: ObjectStore, resource: string, newest: RolledBackRun | null) {
  const snapshots = await listRuns(store, resource, 'snapshots');
  const chain: Pick<ChainedRun, 'runId' | 'changes'>[] = [];
  const changes = newest?.changes ?? null;
  for await (const run of new RunChain(store, { resource, changes })) chain.push(run);
  return { chain, snapshots };
}

async function readTarget(
  store: ObjectStore,
  input: RollBackInput,
  chain: readonly Pick<ChainedRun, 'runId' | 'changes'>[],
  snapshots: ReadonlyMap<RunId, string>,
): Promise<Target> {
  const kept = chain.filter(({ runId }) => snapshots.has(runId)).map(({ runId }) => runId);
  const run = chain.find(({ runId }) => runId === input.to);
  if (run === undefined) throw noSuchRun(input, await whyUnknown(store, input), kept);
  const key = manifestOf(input.resource, 'snapshots', snapshots, run.runId);
  const manifest = key === null ? null : await readManifest(store, key);
  if (key === null || manifest === null)
    throw noSuchRun(input, `the snapshot of run ${input.to} is no longer in the lake`, kept);
  return { key, changes: run.changes, manifest };
}

/** A run that a rollback left is no longer on the chain once a later run is published. */
async function whyUnknown(store: ObjectStore, { resource, to }: RollBackInput): Promise<string> {
  const left = await listRuns(store, rolledBackRoot(resource), 'changes');
  if (!left.has(to)) return `run ${to} was never published`;
  return `run ${to} was rolled back, and a later run has been published since, so it cannot be chosen any more`;
}

function noSuchRun({ resource }: RollBackInput, why: string, kept: readonly RunId[]): Error {
  const which = kept.slice(0, MAX_RUNS_LISTED).join(', ');
  const more = kept.length > MAX_RUNS_LISTED ? ` and ${kept.length - MAX_RUNS_LISTED} older ones` : '';
  const remedy =
    kept.length === 0 ? 'There is no run to roll back to.' : `Roll back to one of ${which}${more}.`;
  return finalFailure('Configuration', `${resource}: ${why}. ${remedy}`);
}

/** Verifies all parts and block indexes of a snapshot. Rebuilds a missing or damaged index from its part. */
async function checkParts(
  store: ObjectStore,
  { resource }: RollBackInput,
  { manifest }: Target,
  signal: AbortSignal,
): Promise<void> {
  const { csv, key } = manifest;
  const problems = await inParallel(manifest.parts, CHECKS_AT_ONCE, async (part) => {
    const problem = await checkObject(store, part);
    if (problem !== null) return problem;
    try {
      const body = await repairedIndex(store, part, { csv, keyColumns: key.length }, signal);
      // Equal parts give equal indexes, so a write that arrives late does no harm.
      if (body !== null)
        await store.write(indexKey(part.key), body, { contentType: 'application/json', signal });
      return null;
    } catch (error) {
      if (error instanceof DamagedError) return error.message;
      throw error;
    }
  });
  const problem = problems.find((one) => one !== null);
  if (problem === undefined || problem === null) return;
  throw finalFailure(
    'Lake',
    `${resource}: the snapshot of run ${manifest.runId} is damaged (${problem}). latest.json was not changed. Roll back to another run.`,
  );
}

async function swap(
  store: ObjectStore,
  { resource, to }: RollBackInput,
  wanted: Pointer,
  { etag }: FoundPointer,
): Promise<void> {
  const swapped = await swapPointer(store, wanted, { etag });
  if (swapped.outcome === 'published') return;
  throw finalFailure(
    'Displaced',
    `${resource}: another mirror published run ${swapped.to} during the rollback to run ${to}. Nothing was changed.`,
  );
}
