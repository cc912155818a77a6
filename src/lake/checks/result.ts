import type { CheckOutcome } from '../../core/contract/index.js';

/** The result of a check, in the manifest of a snapshot. It contains no record content. */
export interface CheckResult {
  /** Such as `rows` or `notNull(title)`. */
  readonly name: string;
  readonly outcome: CheckOutcome;
  /** What the check allows, for people. */
  readonly allowed: string;
  /** What was found, for people. */
  readonly found: string;
  /** Rows that break the check; of `rows` and `change`, the rows that were counted. */
  readonly rows: number;
  /** Who accepted that the check fails. */
  readonly acceptedBy?: string;
}

/** What later runs compare with. */
export interface MeasuredRows {
  /** The `dt` of the run. */
  readonly dt: string;
  /** Live rows of the snapshot. */
  readonly rows: number;
  /** Rows that the run read, if a check looks at them. */
  readonly fetched?: number;
}

/** The sorted hashes of a field's values in a snapshot, for a later run that continues with them. */
export interface UniqueState {
  /** Name of the object in the snapshot's folder; `null`: there are no values, and no object. */
  readonly path: string | null;
  readonly bytes: number;
  /** 8 lower-case hex digits. */
  readonly crc32: string;
  readonly values: number;
  readonly shared: number;
  /** Digest of the parts that the hashes belong to: a purge replaces parts, and the hashes do not count any more. */
  readonly of: string;
}

/** What a snapshot's manifest says about checks. */
export interface CheckRecord {
  readonly results: readonly CheckResult[];
  readonly measured: MeasuredRows;
  /** By the id of the measure. */
  readonly uniques: Readonly<Record<string, UniqueState>>;
}
