import { Context } from '@temporalio/activity';
import type { ObjectKey } from '../../core/brands.js';
import type { PublishedRun, RunPublished, RunRef } from '../../core/contract/index.js';
import { allDone, inParallel } from '../../core/in-parallel.js';
import { withRead } from '../../core/list-evidence.js';
import { sha256Of } from '../../lake/documents/checksums.js';
import {
  indexedObjects,
  inFolder,
  MANIFEST,
  nameOf,
  partName,
  pointerKey,
  type Tree,
} from '../../lake/documents/lake-layout.js';
import {
  decodeManifest,
  encodeManifest,
  type Manifest,
  type ManifestFields,
  type PublishedPart,
} from '../../lake/documents/manifest.js';
import {
  folderIn,
  mayHaveTombstones,
  type RunFile,
  returningFrom,
  shownId,
} from '../../lake/documents/run-file.js';
import { endOfList } from '../../lake/documents/stage-file.js';
import { framingOf } from '../../lake/part/framing.js';
import { PartWriter } from '../../lake/part/part-writer.js';
import { AMONG_OTHERS } from '../../lake/published/foreign-files.js';
import { isOfLaterPurge } from '../../lake/published/purge-rules.js';
import { swapPointer, writeIfUnchanged } from '../../lake/published/swap.js';
import { headerRow } from '../../lake/rows/data-columns.js';
import { checkObject } from '../../lake/store/digest.js';
import { ALL_REMOVED, collected, type ObjectStore } from '../../lake/store/index.js';
import { checkDeleteLimit } from '../delete-rules.js';
import type { ActivityDeps } from '../deps.js';
import { finalFailure } from '../failures.js';
import { addUp, type BatchResult } from '../merge-result.js';
import { displacedFailure } from '../run-failures.js';
import type { MergePlan } from '../run-journal.js';
import type { Merged, RunAt, Staging } from '../staging.js';
import { checkCandidate } from './check-candidate.js';
import { checkTableTypes } from './delta-table.js';
import { findPublished, publishedRun } from './find-published.js';
import { isIncompleteRead, manifestFields } from './manifest-fields.js';
import type { RunFindings } from './run-warnings.js';
import { countStillDropped } from './still-dropped.js';

const CHECKS_AT_ONCE = 16;

/** Verifies the row counts and the stored objects of a run, writes its manifests, and swaps the pointer. */
export async function publishRun(at: RunAt, merged: Merged, shifted: boolean): Promise<RunPublished> {
  const { run, stages } = { ...merged, ...merged.journal };
  const verified = await verifyRun(at, merged, shifted);
  const published = 'done' in verified ? verified.done : await publish(at, verified);
  recordPublished(at.deps, { connection: run.connection, resource: run.resource.name }, published);
  // Resumed pages were read with an earlier page size, so they do not show whether the service accepts the new one.
  const wasTried = run.resumed === null && run.rollback === null;
  return {
    ...{ kind: 'published', runId: published.runId ?? run.runId, run: published, swept: 'to do' },
    ...{ table: run.tables !== null, onPublished: run.onPublished },
    pageSize: wasTried ? { configured: run.sync.pageSize, used: stages.at(-1)!.pageSize } : null,
  };
}

/** A run that may be published. */
interface Candidate {
  readonly run: RunFile;
  readonly found: RunFindings;
  readonly results: readonly BatchResult[];
}

/** A run that may be published, or what another attempt has published. */
export type Verified = Candidate | { readonly done: PublishedRun };

/**
 * Verifies the row counts of a merged run, and judges its checks. A run that fails must not be published.
 *
 * @throws a final failure with the reason
 */
export async function verifyRun(
  { staging, deps, connection }: RunAt,
  { journal: { run, deletes, emptied }, stages, plan, results }: Merged,
  shifted: boolean,
): Promise<Verified> {
  const { store } = staging;
  const { meter } = deps;
  // A run in memory has read the pointer a moment ago.
  if (!staging.isPrivate) {
    const done = await findPublished(store, run, await store.readIfExists(pointerKey(run.resource.name)));
    if (done !== null) return { done };
  }
  const last = stages.at(-1)!;
  // Catch-up readings have their own `updatedSince`; the manifest records that of the last reading of the list.
  const list = endOfList(stages);
  const tasks = results.flatMap((result) => result.tasks);
  const { fetched, duplicates, quarantined, thin, ignored } = last;
  const before = run.before?.rows ?? 0;
  const unwritten = quarantined + thin.records + ignored;
  const sum = addUp(tasks, { fetched, duplicates, unwritten, before, tasks: plan.tasks.length });
  if ('problem' in sum) throw inconsistentFailure(run, sum.problem);
  // Only the merge shows which rows tombstones delete.
  if (mayHaveTombstones(run)) checkDeleteLimit(run, sum.counts.deleted, deletes);
  const { counts } = sum;
  const distinct = counts.fetched - counts.duplicates + counts.setAside + unwritten;
  const stage = { ...last, doubts: withRead(last.doubts, distinct) };
  const signal = Context.current().cancellationSignal;
  const tempFolder = connection.settings.tables?.tempFolder ?? null;
  const types = await checkTableTypes(store, run, { plan, tasks }, { tempFolder, signal });
  const checked = await checkCandidate(staging, run, { plan, tasks, sum, meter, signal });
  return { run, found: { stage, list, shifted, deletes, emptied, ...types, plan, sum, checked }, results };
}

async function publish(
  { staging, clock, progress }: RunAt,
  { run, found, results }: Candidate,
): Promise<PublishedRun> {
  const { store } = staging;
  const { rereads } = await staging.journal();
  const { resource, runId, connection, baseUrl } = run;
  const parts = await checkedParts(staging, run, found, rereads);
  const notListed = await notListedSince(store, run, found, parts.snapshot);
  const common = manifestFields(run, found, { changes: parts.changes, notListed });
  // A replaced attempt stops here.
  Context.current().cancellationSignal.throwIfAborted();
  // Stray parts are removed before the manifest marks the folder as complete.
  const { refused, said } = parts.strays.length === 0 ? ALL_REMOVED : await store.remove(parts.strays);
  if (refused > 0) throw strayFailure(run, refused, said);
  // From here on, a cancellation changes nothing.
  const changes = await writeManifest(store, run, {
    ...{ ...common, tree: 'changes', parts: parts.changes },
    publishedAt: new Date(clock()).toISOString(),
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
  // The swap may arrive from now on, whatever becomes of the run.
  const { isSwapSent, ahead } = await staging.journal();
  if (!isSwapSent) await staging.decide({ isSwapSent: true, results, ahead: ahead.slice(-1) });
  progress.isSwapSent = true;
  const swapped = await swapPointer(
    store,
    {
      ...{ resource: resource.name, runId, snapshot: snapshot.key, changes: changes.key, publishedAt },
      checkpoint: common.checkpoint,
      ...{ rows: common.counts.rows, connection, baseUrl, writer: run.writer },
      ...(run.formerBaseUrls === undefined ? {} : { formerBaseUrls: [...run.formerBaseUrls] }),
      rolledBack: common.rolledBack,
      manifests: { snapshot: snapshot.sha256, changes: changes.sha256 },
    },
    run.before === null ? 'absent' : { etag: run.before.etag },
  );
  if (swapped.outcome === 'lost') {
    const done = await findPublished(store, run, await store.readIfExists(pointerKey(resource.name)));
    if (done !== null) return done;
    throw displacedFailure({ connection, resource: resource.name, runId: shownId(run) }, swapped.to);
  }
  progress.published = snapshot.manifest;
  return publishedRun(run, snapshot.manifest);
}

/**
 * The parts of both manifests, after a check of their objects, and the objects that other attempts or earlier merges left.
 *
 * @param rereads as in the journal
 */
async function checkedParts(staging: Staging, run: RunFile, { plan, sum }: RunFindings, rereads: number) {
  const { store } = staging;
  const snapshot = sum.parts.length > 0 ? sum.parts : [await headerOnlyPart(store, run, plan, 'snapshots')];
  const changes = sum.changes.length > 0 ? sum.changes : [await headerOnlyPart(store, run, plan, 'changes')];
  const objectsOf = (parts: readonly PublishedPart[]): ObjectKey[] =>
    parts.flatMap((part) => indexedObjects(part.key));
  // No other attempt writes to the folders of a run in memory, but each merge of the run gives its parts other names.
  const mayHaveStrays = !staging.isPrivate || rereads > 0;
  const [snapshotStrays, changeStrays, problems] = await allDone([
    mayHaveStrays ? listStrays(staging.store, run, 'snapshots', objectsOf(snapshot)) : [],
    mayHaveStrays ? listStrays(staging.store, run, 'changes', objectsOf(changes)) : [],
    inParallel([...snapshot, ...changes], CHECKS_AT_ONCE, (part) => checkObject(store, part)),
  ]);
  const problem = problems.find((one) => one !== null);
  if (problem) throw damagedFailure(run, problem);
  return { snapshot, changes, strays: [...snapshotStrays, ...changeStrays] };
}

/** Counts what the full read after a rollback did not list; `null`: there was no rollback, or it is not over yet. */
export async function notListedSince(
  store: ObjectStore,
  run: RunFile,
  found: RunFindings,
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
    `${name}: ${problem}, so run ${shownId(run)} was not published. Run \`worktrack verify --resource ${name}\`. If it finds a ` +
      'damaged part in the published snapshot, it shows how to recover; otherwise, export again.',
  );
}

function inconsistentFailure(run: RunFile, problem: string): Error {
  return finalFailure(
    'VerificationFailed',
    `${run.resource.name}: the row counts of run ${shownId(run)} do not match, so it was not published: ${problem}. The next run ` +
      'reads everything again. If this error repeats, report it with this message.',
  );
}

/** Records what was published as metrics and a log line. */
function recordPublished(
  { meter, now }: Pick<ActivityDeps, 'meter' | 'now'>,
  { connection, resource }: Pick<RunRef, 'connection' | 'resource'>,
  { counts, checkpoint, warnings, snapshot }: PublishedRun,
): void {
  const labels = { connection, resource };
  for (const outcome of ['inserted', 'updated', 'deleted'] as const)
    meter.record('changedRows', counts[outcome], { ...labels, outcome });
  meter.record('missedRows', counts.missed ?? 0, labels);
  meter.record('snapshotRows', counts.rows, labels);
  meter.record('neverPublished', 0, labels);
  meter.record('freshness', (now() - Date.parse(checkpoint.updatedSince)) / 1000, labels);
  Context.current().log.info('published', { ...counts, warnings: warnings.length, snapshot });
}

/** Lists objects that other attempts, or earlier merges, left in a run's folder. @param kept those of the last merge */
async function listStrays(
  store: ObjectStore,
  run: RunFile,
  tree: Tree,
  kept: readonly ObjectKey[],
): Promise<ObjectKey[]> {
  const folder = folderIn(run, tree);
  // The manifest is kept: an earlier attempt may have written it, and the pointer may name it.
  const accepted = new Set<string>([inFolder(folder, MANIFEST), ...kept]);
  const found = (await collected(store.list(`${folder}/`, AMONG_OTHERS))).map(({ key }) => key);
  return found.filter((key) => !accepted.has(key) && !isOfLaterPurge(nameOf(key), run.runId));
}

/**
 * Writes the manifest, which completes a run's folder. It is written once: if two attempts write it, the first one
 * counts. Both name the same parts, and a late request is rejected (docs/internals/recovery.md#writes).
 *
 * @throws a final failure `VerificationFailed` when a manifest with other parts is there
 */
export async function writeManifest(
  store: ObjectStore,
  run: RunFile,
  input: ManifestFields,
): Promise<{ readonly key: ObjectKey; readonly manifest: Manifest; readonly sha256: string }> {
  const folder = folderIn(run, input.tree === 'snapshot' ? 'snapshots' : 'changes');
  const key = inFolder(folder, MANIFEST);
  const body = encodeManifest(input);
  const outcome = await writeIfUnchanged(store, key, body, 'absent');
  const written = outcome === 'written' ? body : await store.read(key);
  const manifest = decodeManifest(written, folder);
  if (namesOf(manifest.parts) === namesOf(input.parts)) return { key, manifest, sha256: sha256Of(written) };
  throw finalFailure(
    'VerificationFailed',
    `${run.resource.name}: ${key} exists and names different parts than run ${shownId(run)} has written. Nothing was ` +
      'published. The next run reads everything again.',
  );
}

function namesOf(parts: readonly Pick<PublishedPart, 'key'>[]): string {
  return parts.map(({ key }) => key).join('\n');
}

/** Writes the only part of a snapshot or change log without rows: a header, so that readers see the columns (docs/explanation/guarantees.md#header). */
async function headerOnlyPart(
  store: ObjectStore,
  run: RunFile,
  plan: Pick<MergePlan, 'columns'>,
  tree: Tree,
): Promise<PublishedPart> {
  const framing = framingOf(run.resource.csv);
  const folder = folderIn(run, tree);
  // All attempts of a run write the same bytes, so they can share the name.
  const writer = new PartWriter(store, inFolder(folder, partName(0, '00000000', framing.extension)), {
    framing,
    header: headerRow(plan.columns, run.resource.csv),
    columns: plan.columns.length,
    index: tree === 'snapshots' ? 'beside' : 'none',
  });
  return writer.finish();
}
