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

/** The last published run of a day, which later runs compare with. */
export interface MeasuredDay {
  /** The `dt` of the run. */
  readonly dt: string;
  /** Live rows of the snapshot. */
  readonly rows: number;
  /** Rows that the run read, if a check looks at them. */
  readonly fetched?: number;
  /** Names of checks that failed on that day and were accepted; absent: none. */
  readonly accepted?: readonly string[];
}

/** The day of a run, and the days before it, newest first. */
export interface MeasuredRows extends MeasuredDay {
  readonly earlier: readonly MeasuredDay[];
}

/** The most days that a manifest lists: more than `change` can ask for. */
const MAX_DAYS = 30;

/** The days before a run and its own, newest first, as the base snapshot knows them. */
export function daysOf(base: MeasuredRows | undefined): readonly MeasuredDay[] {
  if (base === undefined) return [];
  const { earlier, ...day } = base;
  return [day, ...earlier];
}

/** Adds the day of a run to those that the base snapshot knows. */
export function withDay(
  base: MeasuredRows | undefined,
  { accepted = [], ...day }: MeasuredDay,
): MeasuredRows {
  const known = daysOf(base);
  const same = known.find(({ dt }) => dt === day.dt);
  const all = [...new Set([...(same?.accepted ?? []), ...accepted])];
  return {
    ...day,
    ...(all.length === 0 ? {} : { accepted: all }),
    earlier: known.filter(({ dt }) => dt !== day.dt).slice(0, MAX_DAYS),
  };
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
