import type { RunId } from '../../src/core/brands.js';
import type { Activities, RollBackInput } from '../../src/core/contract.js';
import { inParallel } from '../../src/core/in-parallel.js';
import { type ChainedRun, RunChain } from '../../src/lake/chain.js';
import { type Manifest, readManifest } from '../../src/lake/manifest.js';
import type { LeftBehind, Pointer } from '../../src/lake/pointer.js';
import { checkObject, swapPointer } from '../../src/lake/publish.js';
import { listDates, listRuns, manifestOf } from '../../src/lake/runs.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { type FoundPointer, passFence } from '../begin/before.js';
import type { ActivityDeps } from '../deps.js';
import { finalFailure } from '../failures.js';
import { heartbeating } from '../heartbeat.js';

const CHECKS_AT_ONCE = 16;
/** Runs that an error names. */
const NAMED = 10;

/**
 * Lets `latest.json` name an earlier published run, once its snapshot is known to be whole. What was published since
 * stays where it is; the pointer remembers the newest of it, for its columns and change logs are still of use, and so
 * that one can go forward again until the next run is published.
 */
export function createRollBack(deps: ActivityDeps): Activities['worktrack.rollBack'] {
  return (input) =>
    heartbeating(async () => {
      const { store, settings } = deps.connection(input.connection);
      const { found } = await passFence(store, { ...input, baseUrl: settings.baseUrl, adopt: false });
      if (found === null) throw notThere(input, 'nothing is published yet', []);
      const { pointer, etag } = found;
      const newest: LeftBehind | null = pointer.rolledBackFrom ?? leftBehind(pointer);
      const { chain, snapshots } = await readRuns(store, input.resource, newest);
      const target = await readTarget(store, input, chain, snapshots);
      await checkParts(store, input, target);
      const { runId, checkpoint, publishedAt, counts } = target.manifest;
      const back = newest !== null && newest.runId !== runId ? { rolledBackFrom: newest } : {};
      const { resource, connection, baseUrl } = pointer;
      const wanted: Pointer = {
        ...{ resource, runId, snapshot: target.key, changes: target.changes, publishedAt, checkpoint },
        ...{ rows: counts.rows, connection, baseUrl },
        ...back,
      };
      if (pointer.runId !== runId) await swap(store, input, wanted, { pointer, etag });
      return {
        ...{ runId, snapshot: wanted.snapshot, rows: wanted.rows, checkpoint },
        publishedAt: Date.parse(publishedAt),
      };
    });
}

interface Target {
  readonly key: Pointer['snapshot'];
  readonly changes: Pointer['snapshot'];
  readonly manifest: Manifest;
}

function leftBehind({ runId, changes }: Pointer): LeftBehind | null {
  return changes === null ? null : { runId, changes };
}

async function readRuns(store: ObjectStore, resource: string, newest: LeftBehind | null) {
  const dates = await listDates(store, resource, 'snapshots');
  const snapshots = await listRuns(store, resource, 'snapshots', dates);
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
  if (run === undefined) throw notThere(input, `run ${input.to} was never published`, kept);
  const key = manifestOf(input.resource, 'snapshots', snapshots, run.runId);
  const manifest = key === null ? null : await readManifest(store, key);
  if (key === null || manifest === null)
    throw notThere(input, `the snapshot of run ${input.to} is not kept any more`, kept);
  return { key, changes: run.changes, manifest };
}

function notThere({ resource }: RollBackInput, why: string, kept: readonly RunId[]): Error {
  const which = kept.slice(0, NAMED).join(', ');
  const more = kept.length > NAMED ? ` and ${kept.length - NAMED} older ones` : '';
  const remedy = kept.length === 0 ? 'There is none to go back to.' : `Go to one of ${which}${more}.`;
  return finalFailure('Configuration', `${resource}: ${why}. ${remedy}`);
}

async function checkParts(
  store: ObjectStore,
  { resource }: RollBackInput,
  { manifest }: Target,
): Promise<void> {
  const problems = await inParallel(manifest.parts, CHECKS_AT_ONCE, (part) => checkObject(store, part));
  const problem = problems.find((one) => one !== null);
  if (problem === undefined || problem === null) return;
  throw finalFailure(
    'Lake',
    `${resource}: the snapshot of run ${manifest.runId} is damaged (${problem}); \`latest.json\` stays as it is. Go to another run.`,
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
    `${resource}: while it was to go back to run ${to}, ${swapped.to} was published by another mirror; nothing was changed.`,
  );
}
