import { listName } from '../../api/index.js';
import { countsChanges, hasExactTotal, isIncomplete as isIncompleteList } from '../../core/list-evidence.js';
import { toWarning } from '../../core/warnings.js';
import type { ListIdentity, Organization, RolledBack } from '../../lake/documents/document-schemas.js';
import { inFolder, MANIFEST } from '../../lake/documents/lake-layout.js';
import {
  addLineBreaks,
  type ManifestFields,
  type PublishedPart,
  previousRuns,
} from '../../lake/documents/manifest.js';
import {
  countsUnlisted,
  countsUnrestored,
  folderIn,
  keysOf,
  type RunFile,
} from '../../lake/documents/run-file.js';
import { schemaChanges } from '../../lake/rows/data-columns.js';
import { profileFingerprint } from '../../lake/rows/profile.js';
import { syncedAtOfRun } from '../../lake/rows/synced-at.js';
import { canDetectDeletes, detectionOf } from '../delete-rules.js';
import { nextFullRead, type Read } from '../full-read.js';
import type { MergeCounts } from '../merge-result.js';
import { nextCheckpoint, nextReadUpTo, startClocks, windowGap } from '../read/watermark.js';
import { type RunFindings, warningsOf } from './run-warnings.js';

/** Snapshots that rollbacks keep at most. */
const MAX_KEPT = 20;

/** What the manifests of the snapshot and of the change log have in common. */
export function manifestFields(
  run: RunFile,
  found: RunFindings,
  { changes, notListed }: { readonly changes: readonly PublishedPart[]; readonly notListed: number | null },
): Omit<ManifestFields, 'tree' | 'parts' | 'publishedAt'> {
  const { stage, list, deletes, plan, sum, checkedTypes, checked } = found;
  const { resource, rollback } = run;
  const { counts } = sum;
  const clocks = startClocks(run, stage.serviceStart);
  const began = { workflow: stage.began ?? run.readSince, service: stage.serviceStart };
  const gap = rollback === null ? windowGap(run.checkpoint, resource.windowMs, clocks) : null;
  const schema = run.before === null ? [] : schemaChanges(run.columns, plan.columns);
  const { readPages: pages, pageSize, updatedSince: asked } = list;
  const isIncomplete = isIncompleteRead(found);
  // The checkpoint of a first export must be set. What its list lacked comes with the next full read.
  const isHeld = stage.doubts.some(isIncompleteList) && run.before !== null;
  // An empty list shows no record that increments have missed, so the next run reads it again, and looks for deletes.
  const isEmptied = found.emptied > 0 && canDetectDeletes(resource);
  const read = {
    ...{ mode: run.mode, startedAt: run.readSince, pages, pageSize },
    ...{ shifted: isIncomplete || isEmptied, isHeld, ...totalsOf(found) },
    ...(plan.increments === undefined ? {} : { missed: counts.missed }),
  };
  const next = nextCheckpoint(clocks, run.sync, run.checkpoint, run.updatedSince);
  const updatedSince = rollback?.checkpoint ?? (isHeld ? run.checkpoint : null) ?? next;
  const before = run.before?.readUpTo ?? null;
  const upTo = isHeld ? before : nextReadUpTo(before, began, run.checkpoint, run.updatedSince);
  const readUpTo = rollback?.readUpTo ?? upTo ?? began;
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
    ...listAndShapes(run, counts, isIncomplete),
    gap,
    deletes: detectionOf(resource, run.before?.deletes ?? null, {
      problems: deletes?.problems ?? null,
      notListed: run.mode === 'full' ? sum.counts.retained : null,
    }),
    organization: organizationOf(run, stage),
    fullRead: nextFullRead(run.before?.fullRead ?? null, read),
    rolledBack: rolledBackAfter(run, isIncomplete),
    ...(checkedTypes === null ? {} : { checkedTypes }),
    ...(checked === null ? {} : { checks: checked.record.results }),
    changesLineBreaks: addLineBreaks(run.before?.changesLineBreaks ?? 0, changes),
    // A file of an earlier build has texts.
    warningFacts: [
      ...run.warnings.map(toWarning),
      ...warningsOf(run, found, gap, notListed),
      ...(checked?.warnings ?? []),
    ],
    ...(schema.length === 0 ? {} : { schemaChanges: schema }),
  };
}

/**
 * What the next run has to know about the list and the cells. A run that looked at all rows, and left none with cells of
 * earlier settings, leaves nothing to know about those.
 */
function listAndShapes(
  run: RunFile,
  { unlisted, unrestored }: MergeCounts,
  isIncomplete: boolean,
): Pick<ManifestFields, 'list' | 'shapes'> {
  const { resource, earlierList, shapes, reconcile, rollback, before } = run;
  // Also while deletes are not detected: settings may turn the detection on later.
  const isLeft = isIncomplete || (!reconcile && !(countsUnlisted(run) && unlisted === 0));
  const isOpen = earlierList !== null && isLeft;
  const isSettled = countsUnrestored(run) && unrestored === 0 && !isIncomplete;
  if (rollback !== null) return { list: listAfterRollback(before!.list, rollback.list), shapes };
  return {
    list: {
      path: listName(resource),
      ...(resource.deleted === null ? {} : { deleted: resource.deleted }),
      ...(isOpen ? { earlier: earlierList } : {}),
    },
    shapes: isSettled ? [{ ...shapes.at(-1)!, since: null }] : shapes,
  };
}

/** A rollback may bring back rows of an earlier list. */
function listAfterRollback(head: ListIdentity, target: ListIdentity): ListIdentity {
  const earlier = head.earlier ?? (target.path === head.path ? target.earlier : target.path);
  return earlier === undefined ? head : { ...head, earlier };
}

/** Keys that a manifest keeps. */
const MAX_KEYS = 8;

function organizationOf(run: RunFile, stage: RunFindings['stage']): Organization {
  const { keys, basis } = run.organization ?? { keys: [], basis: 'first' };
  const all = keysOf(run, stage) ?? [];
  return { keys: all.slice(-MAX_KEYS), basis: all.length > keys.length ? 'records' : basis };
}

/** What a full read shows about totals. The total of a list in parts is that of its last part. */
function totalsOf({ list, stage }: RunFindings): Pick<Read, 'hasExactTotal' | 'records' | 'countsChanges'> {
  const { records } = list.evidence;
  if (list.round !== undefined) return { hasExactTotal: null, records, countsChanges: null };
  const isCatchUp = stage.kind === 'catch-up' && stage.updatedSince !== null && stage.round === undefined;
  return {
    ...{ hasExactTotal: hasExactTotal(list.evidence), records },
    countsChanges: isCatchUp ? countsChanges(list.evidence, stage.evidence) : null,
  };
}

/**
 * Whether the run is no complete full read. A list with an empty body may hide rows like one that shifts or says that it is
 * incomplete, because a proxy may have dropped the body.
 */
export function isIncompleteRead({ shifted, stage, list }: RunFindings): boolean {
  return shifted || stage.doubts.some(isIncompleteList) || (stage.isBlank && list.updatedSince === null);
}

/** What the manifest says about a rollback: it ends with the next complete full read. */
function rolledBackAfter(run: RunFile, isIncomplete: boolean): RolledBack | null {
  const { runId, resource, nominalStart, mode, before, rollback } = run;
  const earlier = before?.rolledBack ?? null;
  if (rollback === null) return mode === 'full' && !isIncomplete ? null : earlier;
  const changes = inFolder(folderIn({ resource, nominalStart, runId }, 'changes'), MANIFEST);
  const [to, from] = [rollback.runId, before!.runId];
  const head = earlier?.head ?? from;
  const isUndone = earlier !== null && to === earlier.head && from === earlier.runId;
  const others = new Set([...(earlier?.keep ?? []), to, from]);
  others.delete(head);
  const keep = [head, ...[...others].slice(1 - MAX_KEPT)];
  const all = [...(earlier?.rollbacks ?? []), { syncedAt: syncedAtOfRun(run), changes }];
  return { runId, changes, to, from, keep, head, rollbacks: isUndone ? [] : all.slice(-MAX_KEPT) };
}
