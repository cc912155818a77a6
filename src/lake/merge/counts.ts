/** Row counts of a merge (docs/explanation/guarantees.md#verification). */
export interface MergeCounts {
  /** Rows read from staged chunks. */
  fetched: number;
  /** Fetched rows that were dropped in favor of another row of the same key. */
  duplicates: number;
  unchanged: number;
  inserted: number;
  updated: number;
  deleted: number;
  /** Deleted rows that were removed from the snapshot (`deletes: drop`). */
  dropped: number;
  /** Rows of the base snapshot that were not fetched and are kept. */
  retained: number;
  /** Rows in the new snapshot. */
  rows: number;
  /** Rows of the base snapshot that were not fetched, or fetched unchanged, and have a new value because of new settings. */
  restated: number;
  /** Rows of the new snapshot that were not fetched and keep cells of earlier settings, if the settings have changed. */
  unrestored: number;
  /** Live rows of the base snapshot that were not fetched, if the run counts them. */
  unlisted: number;
  /** Rows that rollbacks had changed and that were not fetched, if the run is the full read after them. */
  notReturned: number;
}

export function zeroCounts(): MergeCounts {
  return {
    fetched: 0,
    duplicates: 0,
    unchanged: 0,
    inserted: 0,
    updated: 0,
    deleted: 0,
    dropped: 0,
    retained: 0,
    rows: 0,
    restated: 0,
    unrestored: 0,
    unlisted: 0,
    notReturned: 0,
  };
}

export function addCounts(into: MergeCounts, more: MergeCounts): void {
  for (const name of Object.keys(into) as (keyof MergeCounts)[]) into[name] += more[name];
}
