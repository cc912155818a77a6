import { z } from 'zod';
import type { TaskChecks } from '../lake/checks/task-meter.js';
import { type PublishedPart, rowsOf } from '../lake/documents/manifest.js';
import type { TaskTally } from './audit-tally.js';
import { documentKind, type FieldsOf } from './staged-documents.js';

/** Row counts of a merge (docs/explanation/guarantees.md#verification). */
export class MergeCounts {
  /** Rows read from staged chunks. */
  fetched = 0;
  /** Fetched rows that were dropped in favor of another row of the same key. */
  duplicates = 0;
  unchanged = 0;
  inserted = 0;
  updated = 0;
  deleted = 0;
  /** Deleted rows that were removed from the snapshot (`deletes: drop`). */
  dropped = 0;
  /** Fetched records that say that they are deleted, and whose row was live or is not in the base snapshot. */
  tombstones = 0;
  /** Rows of the base snapshot that were not fetched and are kept. */
  retained = 0;
  /** Fetched rows of keys that are not unique. They are in no other count. */
  setAside = 0;
  /** Rows in the new snapshot. */
  rows = 0;
  /** Rows of the base snapshot that were not fetched, or fetched unchanged, and have a new value because of new settings. */
  restated = 0;
  /** Rows of the new snapshot that were not fetched and keep cells of earlier settings, if the settings have changed. */
  unrestored = 0;
  /** Live rows of the base snapshot that were not fetched, if the run counts them. */
  unlisted = 0;
  /**
   * Rows of the new snapshot that differ from the base snapshot although no increment has shown them, if the run compares the two
   * (docs/explanation/guarantees.md#changes-that-increments-miss).
   */
  missed = 0;
  /** Rows of the base snapshot that stay, because the fetched row has an earlier "updated at". */
  wentBack = 0;
  /** Rows that rollbacks had changed and that were not fetched, if the run is the full read after them. */
  notReturned = 0;
}

/** Counts and parts that one task produced. */
export interface TaskResult {
  readonly task: number;
  readonly counts: MergeCounts;
  readonly parts: readonly PublishedPart[];
  readonly changes: readonly PublishedPart[];
  /** Absent: the resource has no checks. */
  readonly checks?: TaskChecks;
  /** Of an audit, whose other counts are empty. */
  readonly audit?: TaskTally;
}

/** Signs in a merge that the list shifted during its last reading (docs/explanation/guarantees.md#full-reads). */
export interface ShiftSigns {
  /** Rows whose key is repeated in the chain of pages of that reading. */
  readonly repeated: number;
  /** Rows that no other reading of the run fetched. */
  readonly found: number;
}

/** What the merge of one batch has made. */
export interface BatchResult extends ShiftSigns {
  readonly tasks: readonly TaskResult[];
}

/** How the names of results of batches begin. */
export const MERGED = 'merged';

/**
 * The name of the result of a batch. All attempts have it, and the first one counts.
 *
 * @param step the version of the journal with the plan
 */
export function mergedName(step: number, batch: number): string {
  return `${MERGED}-${step}-${batch}.json`;
}

const parts = z.array(z.looseObject({ key: z.string(), rows: z.int(), bytes: z.int(), sha256: z.string() }));

/** The result of a batch. An audit counts nothing else, so its counts may be empty. */
export const BATCH = documentKind<BatchResult>('merged', {
  ...{ repeated: z.int(), found: z.int() },
  tasks: z.array(
    z.looseObject({
      ...{ task: z.int(), counts: z.record(z.string(), z.number()), parts, changes: parts },
    } satisfies FieldsOf<TaskResult>),
  ),
});

export interface Totals {
  /** Rows in all pages of the service. */
  readonly fetched: number;
  /** Rows that a newer row of the same staged chunk replaced. */
  readonly duplicates: number;
  /** Records that are in no staged row: they were set aside, or say that they are deleted and nothing follows from it. */
  readonly unwritten: number;
  /** Rows in the base snapshot. */
  readonly before: number;
  readonly tasks: number;
}

/** Counts and parts of all tasks of a run. */
export type AddedUp = Pick<TaskResult, 'counts' | 'parts' | 'changes'>;

/**
 * Adds up the results of the merge tasks and checks them against the staged rows and the base snapshot
 * (docs/explanation/guarantees.md#verification).
 *
 * @returns the totals, or a description of the counts that disagree
 */
export function addUp(
  results: readonly TaskResult[],
  totals: Totals,
): AddedUp | { readonly problem: string } {
  const merged = new MergeCounts();
  const inOrder = [...results].sort((a, b) => a.task - b.task);
  for (const { counts } of inOrder)
    for (const name of Object.keys(merged) as (keyof MergeCounts)[]) merged[name] += counts[name];
  const parts = inOrder.flatMap((result) => result.parts);
  const changes = inOrder.flatMap((result) => result.changes);
  const counts = {
    ...merged,
    fetched: merged.fetched + totals.duplicates,
    duplicates: merged.duplicates + totals.duplicates,
  };
  const known = counts.unchanged + counts.inserted + counts.updated + counts.duplicates + counts.tombstones;
  const changed = counts.inserted + counts.updated + counts.deleted + counts.restated;
  const checks: readonly [string, number, number][] = [
    ['parts of the plan done', inOrder.length, totals.tasks],
    ['rows fetched and rows merged', totals.fetched - totals.unwritten, counts.fetched + counts.setAside],
    ['rows fetched and unchanged + inserted + updated + duplicates + tombstones', counts.fetched, known],
    [
      'rows before + inserted - dropped and rows after',
      totals.before + counts.inserted - counts.dropped,
      counts.rows,
    ],
    [
      'rows before and unchanged + updated + deleted + retained',
      totals.before,
      counts.unchanged + counts.updated + counts.deleted + counts.retained,
    ],
    ['rows of the parts and rows after', rowsOf(parts), counts.rows],
    ['rows of the change log and inserted + updated + deleted + restated', rowsOf(changes), changed],
  ];
  const wrong = checks.filter(([, left, right]) => left !== right);
  if (wrong.length > 0)
    return { problem: wrong.map(([what, left, right]) => `${what}: ${left} and ${right}`).join('; ') };
  const overlap = parts.findIndex((part, at) => at > 0 && part.first! <= parts[at - 1]!.last!);
  if (overlap !== -1) return { problem: `the keys of part ${overlap} overlap those of the part before` };
  return { counts, parts, changes };
}
