import { Context } from '@temporalio/activity';
import type { ObjectKey } from '../../src/core/brands.js';
import type { Activities, PublishedRun, RunCounts } from '../../src/core/contract.js';
import { allDone, inParallel } from '../../src/core/in-parallel.js';
import {
  dateOf,
  indexedObjects,
  inFolder,
  MANIFEST,
  pointerKey,
  runFolder,
  type Tree,
} from '../../src/lake/layout.js';
import { encodeManifest, type ManifestInput, type PublishedPart } from '../../src/lake/manifest.js';
import type { BatchResult, MergePlan } from '../../src/lake/merge/plan.js';
import { decodePointer } from '../../src/lake/pointer.js';
import { profileFingerprint } from '../../src/lake/profile.js';
import { checkObject, swapPointer } from '../../src/lake/publish.js';
import type { RunFile } from '../../src/lake/run-file.js';
import { schemaChanges } from '../../src/lake/schema.js';
import type { Stage } from '../../src/lake/stage.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { type AddedUp, addUp } from '../../src/lake/verify-run.js';
import { nextCheckpoint, windowGap } from '../../src/lake/watermark.js';
import type { ActivityDeps } from '../deps.js';
import { displaced } from '../displaced.js';
import { readDocument, readRunWith, readStages } from '../documents.js';
import { finalFailure } from '../failures.js';
import { heartbeating } from '../heartbeat.js';
import { headerOnlyPart } from './empty.js';

const CHECKS_AT_ONCE = 16;

/** Verifies that everything adds up and lies in the store as it was sent, writes the manifests, swaps the pointer. */
export function createPublish(deps: ActivityDeps): Activities['worktrack.publish'] {
  return (input) =>
    heartbeating(async () => {
      const { store } = deps.connection(input.connection);
      const documents = allDone([
        readStages(store, input.stage),
        readDocument<MergePlan>(store, input.plan),
        inParallel(input.results, CHECKS_AT_ONCE, (key) => readDocument<BatchResult>(store, key)),
      ]);
      const [run, [stages, plan, results]] = await readRunWith(store, input, documents);
      const stage = stages.at(-1)!;
      const sum = addUp(
        results.flatMap((result) => result.tasks),
        {
          fetched: stage.fetched,
          duplicates: stage.duplicates,
          quarantined: stage.quarantined,
          before: run.before?.rows ?? 0,
          tasks: plan.tasks.length,
        },
      );
      if ('problem' in sum) throw doesNotAddUp(run, sum.problem);
      return publish(store, run, stage, plan, sum, deps.now(), Context.current().cancellationSignal);
    });
}

async function publish(
  store: ObjectStore,
  run: RunFile,
  stage: Stage,
  plan: MergePlan,
  sum: AddedUp,
  publishedAt: number,
  signal: AbortSignal,
): Promise<PublishedRun> {
  const { resource } = run;
  const snapshotParts =
    sum.parts.length > 0 ? sum.parts : [await headerOnlyPart(store, run, plan, 'snapshots')];
  const changeParts =
    sum.changes.length > 0 ? sum.changes : [await headerOnlyPart(store, run, plan, 'changes')];
  const [snapshotStrays, changeStrays, problems] = await allDone([
    listStrays(store, run, 'snapshots', snapshotParts),
    listStrays(store, run, 'changes', changeParts),
    inParallel([...snapshotParts, ...changeParts], CHECKS_AT_ONCE, (part) => checkObject(store, part)),
  ]);
  const problem = problems.find((found) => found !== null);
  if (problem) throw doesNotAddUp(run, problem);

  const clocks = { startedAt: run.readSince, serviceStart: stage.serviceStart };
  const checkpoint = nextCheckpoint(clocks, run.sync, run.checkpoint, run.updatedSince);
  const gap = windowGap(run.checkpoint, resource.windowMs, clocks);
  const schema = run.before === null ? [] : schemaChanges(run.columns, plan.columns);
  const counts: RunCounts = sum.counts;
  const warnings = [...run.warnings, ...warningsOf(run, stage, gap, sum.counts.reapplied), ...schema];
  // An attempt that was given up for dead comes no further.
  signal.throwIfAborted();
  // An attempt before this one may have done it and died before it could say so: what is published is not written again.
  const there = await store.readIfExists(pointerKey(resource.name));
  const pointer = there === null ? null : decodePointer(there.body);
  if (pointer?.runId === run.runId) {
    return {
      snapshot: pointer.snapshot,
      checkpoint: pointer.checkpoint,
      counts,
      publishedAt: Date.parse(pointer.publishedAt),
      warnings: firstOf(warnings),
    };
  }
  const manifest: Omit<ManifestInput, 'tree' | 'parts'> = {
    connection: run.connection,
    baseUrl: run.baseUrl,
    resource: resource.name,
    runId: run.runId,
    previousRunId: run.before?.runId ?? null,
    mode: run.mode,
    updatedSince: askedFor(run, stage),
    checkpoint,
    startedAt: run.startedAt,
    publishedAt,
    pages: stage.pages,
    counts,
    columns: plan.columns,
    profile: { key: resource.key, csv: resource.csv, columns: resource.columns },
    fingerprint: profileFingerprint(resource),
    gap,
    warnings,
  };
  // What other attempts left behind goes before a manifest says that a folder is complete.
  await store.remove([...snapshotStrays, ...changeStrays]);
  const changes = await writeManifest(store, run, { ...manifest, tree: 'changes', parts: changeParts });
  const snapshot = await writeManifest(store, run, { ...manifest, tree: 'snapshot', parts: snapshotParts });
  const swapped = await swapPointer(
    store,
    {
      resource: resource.name,
      runId: run.runId,
      snapshot,
      changes,
      publishedAt: new Date(publishedAt).toISOString(),
      checkpoint: { updatedSince: checkpoint },
      rows: counts.rows,
      connection: run.connection,
      baseUrl: run.baseUrl,
    },
    run.before === null ? 'absent' : { etag: run.before.etag },
  );
  if (swapped.outcome === 'lost') {
    throw displaced({ connection: run.connection, resource: resource.name, runId: run.runId }, swapped.to);
  }
  return {
    snapshot,
    checkpoint: { updatedSince: checkpoint },
    counts,
    publishedAt,
    warnings: firstOf(warnings),
  };
}

function folderIn(run: RunFile, tree: Tree): ObjectKey {
  return runFolder(run.resource.name, tree, dateOf(run.nominalStart), run.runId);
}

/** What other attempts left in a run's folder. */
async function listStrays(
  store: ObjectStore,
  run: RunFile,
  tree: Tree,
  parts: readonly PublishedPart[],
): Promise<ObjectKey[]> {
  const folder = folderIn(run, tree);
  // The manifest of an attempt before is written over, never removed: the pointer may name it by now.
  const accepted = new Set<string>([
    inFolder(folder, MANIFEST),
    ...parts.flatMap((part) => indexedObjects(part.key)),
  ]);
  const strays: ObjectKey[] = [];
  for await (const { key } of store.list(`${folder}/`)) if (!accepted.has(key)) strays.push(key);
  return strays;
}

async function writeManifest(store: ObjectStore, run: RunFile, manifest: ManifestInput): Promise<ObjectKey> {
  const key = inFolder(folderIn(run, manifest.tree === 'snapshot' ? 'snapshots' : 'changes'), MANIFEST);
  await store.write(key, encodeManifest(manifest), { contentType: 'application/json' });
  return key;
}

/** What an increment asked for; a full pass asks for all, whatever its catch-up reads asked for. */
function askedFor(run: RunFile, stage: Stage): RunFile['updatedSince'] {
  return run.mode === 'increment' ? stage.updatedSince : run.updatedSince;
}

function warningsOf(
  run: RunFile,
  stage: Stage,
  gap: ReturnType<typeof windowGap>,
  reapplied: number,
): string[] {
  const { resource } = run;
  const warnings: string[] = [];
  if (gap !== null) {
    warnings.push(
      `gap: the last run was so long ago that the service no longer lists what changed from ${gap.from} to ${gap.to} ` +
        `(window of ${resource.name})`,
    );
  }
  if (reapplied > 0) {
    warnings.push(
      `${count(reapplied, 'row')} that run ${run.before?.runId} lacks and the service no longer lists came back from the ` +
        'change logs of the runs that were rolled back',
    );
  }
  if (askedFor(run, stage) !== run.updatedSince) {
    warnings.push(
      `clock: the service's clock seems to have gone back since the run before; changes were read from ${stage.updatedSince} on ` +
        `and not from ${run.updatedSince}`,
    );
  }
  if (stage.quarantined > 0)
    warnings.push(`${count(stage.quarantined, 'record')} without a key set aside under _quarantine/`);
  if (stage.replaced > 0)
    warnings.push(`${count(stage.replaced, 'lone surrogate')}, which UTF-8 cannot carry, became U+FFFD`);
  return warnings;
}

/** The manifest keeps all warnings; a history and a mirror's state must stay small. */
const WARNINGS_TOLD = 20;

function firstOf(warnings: readonly string[]): readonly string[] {
  const more = warnings.length - WARNINGS_TOLD;
  if (more <= 0) return warnings;
  return [...warnings.slice(0, WARNINGS_TOLD), `and ${more} more, in the manifest`];
}

function count(n: number, thing: string): string {
  return `${n} ${thing}${n === 1 ? '' : 's'}`;
}

function doesNotAddUp(run: RunFile, problem: string): Error {
  return finalFailure(
    'NotAddingUp',
    `${run.resource.name}: run ${run.runId} does not add up and was not published: ${problem}. The next run reads anew; ` +
      'if it happens again, report it with this message.',
  );
}
