import type { ObjectKey } from '../../core/brands.js';
import { NOTHING_READ, type TotalTrust } from '../../core/list-evidence.js';
import type { ClockTimes } from '../../lake/documents/manifest.js';
import type { RunFile } from '../../lake/documents/run-file.js';
import type { Stage } from '../../lake/documents/stage-file.js';
import { isPartial } from './watermark.js';

/** The initial stage of a run. */
export function firstStage(run: RunFile): Stage {
  return {
    previous: null,
    chunks: [],
    cursor: null,
    done: false,
    seen: [],
    read: 0,
    kind: 'list',
    updatedSince: run.updatedSince,
    readPages: 0,
    readStart: null,
    readBegan: null,
    upTo: changesUpTo(run),
    restarts: 0,
    shrinks: 0,
    progress: null,
    fullRead: run.before?.fullRead ?? null,
    shifted: false,
    marks: [],
    isChecked: false,
    chain: 0,
    pages: 0,
    fetched: 0,
    duplicates: 0,
    quarantined: 0,
    thin: { records: 0, rule: null },
    ignored: 0,
    replaced: 0,
    announced: null,
    repaired: 0,
    isBlank: false,
    evidence: NOTHING_READ,
    doubts: [],
    serviceStart: null,
    began: null,
    pageSize: run.pageSize,
    columns: run.columns,
    ...(run.organization === undefined ? {} : { keys: run.organization.keys }),
  };
}

/**
 * The moment that an increment reads the changes from. A run that begins later than the checkpoint reads exactly the period
 * that was requested. Any other moves the checkpoint, so it must have every change since then, whatever the clocks did.
 */
export function changesUpTo({ mode, updatedSince, checkpoint, before }: RunFile): ClockTimes | null {
  if (mode !== 'increment' || isPartial(checkpoint, updatedSince)) return null;
  return before?.readUpTo ?? null;
}

/** How far the totals of a run's list are believed. */
export function totalTrust({
  sync,
  before,
  resource,
}: Pick<RunFile, 'sync' | 'before' | 'resource'>): TotalTrust {
  if (sync.total === 'ignore') return 'ignored';
  const { hasExactTotal, countsChanges } = before?.fullRead ?? {};
  if (resource.windowMs !== null) return 'window';
  if (hasExactTotal !== true) return 'unproven';
  if (countsChanges === undefined) return 'proven';
  return countsChanges ? 'proven-of-changes' : 'proven-of-list';
}

/** A stage and where it is stored. */
export interface StoredStage {
  readonly key: ObjectKey;
  readonly stage: Stage;
}
