import { Context } from '@temporalio/activity';
import type { Activities, PublishedRun, RunCounts } from '../../src/core/contract.js';
import { allDone, inParallel } from '../../src/core/in-parallel.js';
import { pointerKey } from '../../src/lake/layout.js';
import type { ManifestInput } from '../../src/lake/manifest.js';
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
import { listStrays, writeManifest } from './folder.js';
import { askedFor, firstOf, warningsOf } from './warnings.js';

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
      return publish(store, run, stage, plan, sum, deps.now());
    });
}

async function publish(
  store: ObjectStore,
  run: RunFile,
  stage: Stage,
  plan: MergePlan,
  sum: AddedUp,
  publishedAt: number,
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
  Context.current().cancellationSignal.throwIfAborted();
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

function doesNotAddUp(run: RunFile, problem: string): Error {
  return finalFailure(
    'NotAddingUp',
    `${run.resource.name}: run ${run.runId} does not add up and was not published: ${problem}. The next run reads anew; ` +
      'if it happens again, report it with this message.',
  );
}
