import { createHash } from 'node:crypto';
import type { ByteString } from '../core/brands.js';
import type { AuditCounts } from '../core/contract/index.js';
import type { SortKey } from '../lake/rows/row.js';

/** What the rows of an audit are, apart from how many there are. */
export type AuditClass = Exclude<keyof AuditCounts, 'rows' | 'cells'>;

/** Counts of an audit. */
export class AuditTally {
  equal = 0;
  different = 0;
  missing = 0;
  extra = 0;
  pending = 0;
  notYetLookedFor = 0;
  notComparable = 0;
  /** Cells that were compared. */
  cells = 0;
  /** Rows of the base snapshot that are a part of the audit. */
  rows = 0;
  /** Rows of the base snapshot, and those that are no part of the audit. */
  before = 0;
  unseen = 0;
  /** Rows read from staged chunks. */
  fetched = 0;
  /** Records that are counted without a row in the base snapshot, except `missing`. */
  without = 0;
  /** Records that say that they are deleted and that the snapshot does not have. */
  deleted = 0;
  /** Differences that only one reading has shown. They are in `pending`. */
  open = 0;
  /** Different rows whose "updated at" is later than that of the service. */
  keptNewer = 0;

  /** Counts a row. @param before the row in the base snapshot; `null`: it has none */
  add(before: ByteString | null, as: AuditClass): void {
    if (before !== null) this.rows++;
    else if (as !== 'missing') this.without++;
    this[as]++;
  }
}

/** The counts of a task, as it stages them. */
export type TaskTally = Omit<AuditTally, 'add'>;

/** The counts of all tasks together. */
export function sumOfTallies(all: readonly TaskTally[]): TaskTally {
  const sum = new AuditTally();
  for (const tally of all)
    for (const name of Object.keys(sum) as (keyof TaskTally)[]) sum[name] += tally[name];
  return sum;
}

/** Whether a key is in a sample, by its hash: the same in each audit. @param share of all keys, up to 1 */
export function isSampled(key: SortKey, share: number): boolean {
  if (share >= 1) return true;
  const hash = createHash('sha256').update(key, 'latin1').digest().readUInt32BE(0);
  return hash < share * 2 ** 32;
}
