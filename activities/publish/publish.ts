import { Context } from '@temporalio/activity';
import type { DeletesProblem, PublishedRun, PublishInput } from '../../src/core/contract/index.js';
import { allDone, inParallel } from '../../src/core/in-parallel.js';
import { limitWarnings } from '../../src/core/text-budget.js';
import { summaryOf } from '../../src/lake/documents/check-record.js';
import type { ListIdentity, RolledBack } from '../../src/lake/documents/document-schemas.js';
import { indexedObjects, inFolder, MANIFEST } from '../../src/lake/documents/lake-layout.js';
import {
  addLineBreaks,
  type Manifest,
  type ManifestFields,
  type PublishedPart,
  previousRuns,
} from '../../src/lake/documents/manifest.js';
import {
  countsUnlisted,
  countsUnrestored,
  type RunFile,
  returningFrom,
  syncedAtOfRun,
} from '../../src/lake/documents/run-file.js';
import type { Stage } from '../../src/lake/documents/stage-file.js';
import type { MergeCounts } from '../../src/lake/merge/merge.js';
import type { BatchResult, MergePlan } from '../../src/lake/merge/plan.js';
import { swapPointer } from '../../src/lake/published/conditional-write.js';
import { schemaChanges } from '../../src/lake/rows/data-columns.js';
import { profileFingerprint } from '../../src/lake/rows/profile.js';
import { type AddedUp, addUp } from '../../src/lake/run/add-up.js';
import { detectionOf } from '../../src/lake/run/deletes.js';
import { nextFullRead } from '../../src/lake/run/full-read.js';
import { nextCheckpoint, nextReadUpTo, windowGap } from '../../src/lake/run/watermark.js';
import { checkObject } from '../../src/lake/store/digest.js';
import { ALL_REMOVED, type ObjectStore } from '../../src/lake/store/index.js';
import type { FixedTypes } from '../../src/table/index.js';
import { displacedFailure } from '../shared/displacement.js';
import { finalFailure } from '../shared/failures.js';
import { folderIn } from '../shared/published-run.js';
import { type RunAt, readRunWith, readStages, type Staging } from '../shared/staging.js';
import { type CheckedCandidate, checkCandidate } from './check-candidate.js';
import { findPublished, readFound } from './find-published.js';
import { listStrays, writeManifest } from './folder.js';
import { headerOnlyPart } from './header-only-part.js';
import { countStillDropped } from './still-dropped.js';
import { checkTableTypes } from './table-types.js';
import { warningsOf } from './warnings.js';

const CHECKS_AT_ONCE = 16;
/** Snapshots that rollbacks keep at most. */
const MAX_KEPT = 20;

/** Verifies the row counts and the stored objects of a run, writes its manifests, and swaps the pointer. */
export async function publishRun(
  { deps, staging, clock: now }: RunAt,
  input: PublishInput,
  onSwap: () => void = () => {},
): Promise<Publication> {
  const { store } = staging;
  const { meter } = deps;
  // Each request takes a round trip, so they are sent together. A run in memory has read the pointer a moment ago.
  const documents = allDone([
    staging.isPrivate ? ('unchanged' as const) : readFound(store, input.resource),
    readStages(staging, input.stage),
    staging.read<MergePlan>(input.plan),
    inParallel(input.results, CHECKS_AT_ONCE, (key) => staging.read<BatchResult>(key)),
  ]);
  const [run, [found, stages, plan, results]] = await readRunWith(staging, documents);
  const done = found === 'unchanged' ? null : await findPublished(store, run, found);
  if (done !== null) return { run: done, manifest: null };
  const stage = stages.at(-1)!;
  const { shifted, unproven, deletesProblems = null } = input;
  // Catch-up readings have their own `updatedSince`; the manifest records that of the last reading of the list.
  const list = stages.findLast(({ kind }) => kind !== 'catch-up')!;
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
  if ('problem' in sum) throw inconsistentFailure(run, sum.problem);
  const signal = Context.current().cancellationSignal;
  const checkedTypes = await checkTableTypes(store, run, { plan, results, signal });
  const checked = await checkCandidate(staging, run, { plan, results, sum, meter, signal });
  return publish(staging, run, {
    ...{ stage, list, shifted, unproven, deletesProblems },
    ...{ plan, sum, now, checkedTypes, checked, onSwap },
  });
}

/** What was published. */
export interface Publication {
  readonly run: PublishedRun;
  /** The manifest of its snapshot; `null`: another attempt has published the run. */
  readonly manifest: Manifest | null;
}

interface ToPublish extends Pick<PublishInput, 'shifted' | 'unproven'> {
  /** `null`: the run did not look for deletes. */
  readonly deletesProblems: readonly DeletesProblem[] | null;
  /** The last stage. */
  readonly stage: Stage;
  /** The end of the last reading of the list. Its `updatedSince` is earlier than planned if the service's clock was set back. */
  readonly list: Stage;
  readonly plan: MergePlan;
  readonly sum: AddedUp;
  readonly now: () => number;
  /** Called before the swap is sent. */
  readonly onSwap: () => void;
  /** Types of the table that the values were checked against. */
  readonly checkedTypes: FixedTypes | null;
  /** `null`: the resource has no checks. */
  readonly checked: CheckedCandidate | null;
}

async function publish(staging: Staging, run: RunFile, found: ToPublish): Promise<Publication> {
  const { store } = staging;
  const { resource, runId, connection, baseUrl } = run;
  const parts = await checkedParts(staging, run, found);
  const notListed = await notListedSince(store, run, found, parts.snapshot);
  const common = manifestFields(run, found, { changes: parts.changes, notListed });
  const { checkpoint, counts, warnings, deletes } = common;
  // A replaced attempt stops here.
  Context.current().cancellationSignal.throwIfAborted();
  // Stray parts are removed before the manifest marks the folder as complete.
  const { refused, said } = parts.strays.length === 0 ? ALL_REMOVED : await store.remove(parts.strays);
  if (refused > 0) throw strayFailure(run, refused, said);
  // From here on, a cancellation changes nothing.
  const changes = await writeManifest(store, run, {
    ...{ ...common, tree: 'changes', parts: parts.changes },
    publishedAt: new Date(found.now()).toISOString(),
  });
  // An earlier attempt may have written the manifest, with its own time.
  const { publishedAt } = changes.manifest;
  const snapshot = await writeManifest(store, run, {
    ...{ ...common, tree: 'snapshot', parts: parts.snapshot, publishedAt },
    // No run continues with the parts of a change log.
    ...(found.checked === null
      ? {}
      : { measured: found.checked.record.measured, uniques: found.checked.record.uniques }),
  });
  found.onSwap();
  const swapped = await swapPointer(
    store,
    {
      ...{ resource: resource.name, runId, snapshot: snapshot.key, changes: changes.key, publishedAt },
      checkpoint,
      ...{ rows: counts.rows, connection, baseUrl, writer: run.writer },
      rolledBack: common.rolledBack,
      manifests: { snapshot: snapshot.sha256, changes: changes.sha256 },
    },
    run.before === null ? 'absent' : { etag: run.before.etag },
  );
  if (swapped.outcome === 'lost') {
    const done = await findPublished(store, run, await readFound(store, resource.name));
    if (done !== null) return { run: done, manifest: null };
    throw displacedFailure({ connection, resource: resource.name, runId }, swapped.to);
  }
  const published: PublishedRun = {
    snapshot: snapshot.key,
    checkpoint,
    counts,
    publishedAt: Date.parse(publishedAt),
    warnings: limitWarnings(warnings),
    deletes,
    ...(found.checked === null ? {} : { checks: summaryOf(found.checked.record.results) }),
    ...(run.rollback === null ? {} : { rolledBackFrom: run.before!.runId }),
  };
  return { run: published, manifest: snapshot.manifest };
}

/** The parts of both manifests, after a check of their objects, and the objects that other attempts left. */
async function checkedParts(staging: Staging, run: RunFile, { plan, sum, checked }: ToPublish) {
  const { store } = staging;
  const snapshot = sum.parts.length > 0 ? sum.parts : [await headerOnlyPart(store, run, plan, 'snapshots')];
  const changes = sum.changes.length > 0 ? sum.changes : [await headerOnlyPart(store, run, plan, 'changes')];
  const [snapshotStrays, changeStrays, problems] = await allDone([
    listStrays(staging, run, 'snapshots', [
      ...snapshot.flatMap((part) => indexedObjects(part.key)),
      ...(checked?.objects ?? []),
    ]),
    listStrays(
      staging,
      run,
      'changes',
      changes.flatMap((part) => indexedObjects(part.key)),
    ),
    inParallel([...snapshot, ...changes], CHECKS_AT_ONCE, (part) => checkObject(store, part)),
  ]);
  const problem = problems.find((one) => one !== null);
  if (problem) throw damagedFailure(run, problem);
  return { snapshot, changes, strays: [...snapshotStrays, ...changeStrays] };
}

/** What the manifests of the snapshot and of the change log have in common. */
function manifestFields(
  run: RunFile,
  found: ToPublish,
  { changes, notListed }: { readonly changes: readonly PublishedPart[]; readonly notListed: number | null },
): Omit<ManifestFields, 'tree' | 'parts' | 'publishedAt'> {
  const { stage, list, shifted, unproven, deletesProblems, plan, sum, checkedTypes, checked } = found;
  const { resource, rollback } = run;
  const { counts } = sum;
  const clocks = { startedAt: run.readSince, serviceStart: stage.serviceStart };
  const began = { workflow: stage.began ?? run.readSince, service: stage.serviceStart };
  const gap = rollback === null ? windowGap(run.checkpoint, resource.windowMs, clocks) : null;
  const schema = run.before === null ? [] : schemaChanges(run.columns, plan.columns);
  const { readPages: pages, pageSize, updatedSince: asked } = list;
  const isIncomplete = isIncompleteRead(found);
  const read = { mode: run.mode, startedAt: run.readSince, shifted: isIncomplete, pages, pageSize };
  const updatedSince =
    rollback?.checkpoint ?? nextCheckpoint(clocks, run.sync, run.checkpoint, run.updatedSince);
  const readUpTo =
    rollback?.readUpTo ?? nextReadUpTo(run.before?.readUpTo ?? null, began, run.checkpoint, run.updatedSince);
  return {
    ...{ connection: run.connection, baseUrl: run.baseUrl, resource: resource.name, runId: run.runId },
    ...{ writer: run.writer, previousRuns: previousRuns(run.before), leftBehind: run.leftBehind },
    mode: run.mode,
    updatedSince: asked,
    checkpoint: { updatedSince },
    startedAt: new Date(run.startedAt).toISOString(),
    readUpTo: {
      workflow: new Date(readUpTo.workflow).toISOString(),
      service: readUpTo.service === null ? null : new Date(readUpTo.service).toISOString(),
    },
    pages: stage.pages,
    counts,
    columns: plan.columns,
    ...{ key: resource.key, csv: resource.csv, selection: resource.columns },
    fingerprint: profileFingerprint(resource),
    ...listAndShapes(run, counts),
    gap,
    deletes: detectionOf(resource, run.before?.deletes ?? null, {
      problems: deletesProblems,
      notListed: run.mode === 'full' ? sum.counts.retained : null,
    }),
    fullRead: nextFullRead(run.before?.fullRead ?? null, read),
    rolledBack: rolledBackAfter(run, isIncomplete),
    ...(checkedTypes === null ? {} : { checkedTypes }),
    ...(checked === null ? {} : { checks: checked.record.results }),
    changesLineBreaks: addLineBreaks(run.before?.changesLineBreaks ?? 0, changes),
    warnings: [
      ...run.warnings,
      ...warningsOf(run, { stage, asked, gap, shifted, unproven, deletesProblems, counts, notListed }),
      ...(checked?.warnings ?? []),
      ...schema,
    ],
  };
}

/**
 * What the next run has to know about the list and the cells. A run that looked at all rows, and left none with cells of
 * earlier settings, leaves nothing to know about those.
 */
function listAndShapes(
  run: RunFile,
  { unlisted, unrestored }: MergeCounts,
): Pick<ManifestFields, 'list' | 'shapes'> {
  const { resource, earlierList, shapes, reconcile, rollback, before } = run;
  // Also while deletes are not detected: settings may turn the detection on later.
  const isOpen = earlierList !== null && !reconcile && !(countsUnlisted(run) && unlisted === 0);
  const isSettled = countsUnrestored(run) && unrestored === 0;
  if (rollback !== null) return { list: listAfterRollback(before!.list, rollback.list), shapes };
  return {
    list: { path: resource.path, ...(isOpen ? { earlier: earlierList } : {}) },
    shapes: isSettled ? [{ ...shapes.at(-1)!, since: null }] : shapes,
  };
}

/** A rollback may bring back rows of an earlier list. */
function listAfterRollback(head: ListIdentity, target: ListIdentity): ListIdentity {
  const earlier = head.earlier ?? (target.path === head.path ? target.earlier : target.path);
  return earlier === undefined ? head : { ...head, earlier };
}

/** A list with an empty body may hide rows like one that shifts, because a proxy may have dropped the body. */
function isIncompleteRead({ shifted, stage, list }: ToPublish): boolean {
  return shifted || (stage.isBlank && list.updatedSince === null);
}

/** What the manifest says about a rollback: it ends with the next complete full read. */
function rolledBackAfter(run: RunFile, isIncomplete: boolean): RolledBack | null {
  const { runId, resource, nominalStart, mode, before, rollback } = run;
  const earlier = before?.rolledBack ?? null;
  if (rollback === null) return mode === 'full' && !isIncomplete ? null : earlier;
  const changes = inFolder(folderIn({ resource, nominalStart, runId }, 'changes'), MANIFEST);
  const [to, from] = [rollback.to, before!.runId];
  const head = earlier?.head ?? from;
  const isUndone = earlier !== null && to === earlier.head && from === earlier.runId;
  const others = new Set([...(earlier?.keep ?? []), to, from]);
  others.delete(head);
  const keep = [head, ...[...others].slice(1 - MAX_KEPT)];
  const all = [...(earlier?.rollbacks ?? []), { syncedAt: syncedAtOfRun(run), changes }];
  return { runId, changes, to, from, keep, head, rollbacks: isUndone ? [] : all.slice(-MAX_KEPT) };
}

/** Counts what the full read after a rollback did not list; `null`: there was no rollback, or it is not over yet. */
async function notListedSince(
  store: ObjectStore,
  run: RunFile,
  found: ToPublish,
  parts: readonly PublishedPart[],
): Promise<number | null> {
  const rolledBack = returningFrom(run);
  if (rolledBack === null || isIncompleteRead(found)) return null;
  const { key, csv } = run.resource;
  const { cancellationSignal: signal } = Context.current();
  const dropped = await countStillDropped(store, rolledBack, { parts, key, csv }, signal);
  return found.sum.counts.notReturned + dropped;
}

/** Readers of the folder would read the rows of these parts as well. The next run has a separate folder. */
function strayFailure({ resource: { name }, runId }: RunFile, parts: number, said: string | null): Error {
  return finalFailure(
    'Lake',
    `${name}: the store refused to remove ${parts} unfinished parts of a worker that was lost (${said}), so run ${runId} was not ` +
      'published. Export again: the next run writes to another folder. To avoid this error, allow s3:DeleteObject.',
  );
}

/** An object in the store differs from what was sent, or was copied from a damaged one. */
function damagedFailure(run: RunFile, problem: string): Error {
  const { name } = run.resource;
  return finalFailure(
    'Lake',
    `${name}: ${problem}, so run ${run.runId} was not published. Run \`worktrack verify --resource ${name}\`. If it finds a ` +
      'damaged part in the published snapshot, it shows how to recover; otherwise, export again.',
  );
}

function inconsistentFailure(run: RunFile, problem: string): Error {
  return finalFailure(
    'VerificationFailed',
    `${run.resource.name}: the row counts of run ${run.runId} do not match, so it was not published: ${problem}. The next run ` +
      'reads everything again. If this error repeats, report it with this message.',
  );
}
