import type { CheckOutcome, CheckSummary } from '../../core/contract/index.js';
import { cutText } from '../../core/text-budget.js';

/** Figures of some rows by the id of their measure: a count, or the newest time in ms, `null` if there is none. */
export type Figures = Readonly<Record<string, number | null>>;

/** What a check has found. It contains no record content. */
export interface CheckFinding {
  /** Such as `rows` or `notNull(title)`. */
  readonly name: string;
  /** What the check allows, for people. */
  readonly allowed: string;
  /** What was found, for people. */
  readonly found: string;
  /** Rows that break the check; of `rows` and `change`, the rows that were counted. */
  readonly rows: number;
}

/** Whether a run may be published, as far as one check is concerned. `acceptedBy`: who accepted that it fails. */
export type CheckVerdict =
  | { readonly outcome: Exclude<CheckOutcome, 'accepted'> }
  | { readonly outcome: 'accepted'; readonly acceptedBy: string };

/** The result of a check, in the manifest of a snapshot. */
export type CheckResult = CheckFinding & CheckVerdict;

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

/** What a run has found out about the values of a field. A run whose snapshot has the same parts relies on it. */
export interface UniqueState {
  /** Rows whose value another row has, too. */
  readonly shared: number;
  /** Digest of the parts. */
  readonly of: string;
}

/** What a snapshot's manifest says about checks. */
export interface CheckRecord {
  readonly results: readonly CheckResult[];
  readonly measured: MeasuredRows;
  /** By the id of the measure. */
  readonly uniques: Readonly<Record<string, UniqueState>>;
}

/** Names in a summary and in an error, and the bytes of each: both enter histories and states. */
const MOST_NAMES = 10;
const MAX_NAME_BYTES = 100;

/** The names of checks, limited for a history. */
export function limitedNames(results: readonly Pick<CheckResult, 'name'>[]): string[] {
  return results.slice(0, MOST_NAMES).map(({ name }) => cutText(name, MAX_NAME_BYTES));
}

/** The results of a published run in short. */
export function summaryOf(results: readonly CheckResult[]): CheckSummary {
  const of = (outcome: CheckOutcome) => results.filter((one) => one.outcome === outcome);
  return {
    passed: of('passed').length,
    skipped: of('skipped').length,
    warned: limitedNames(of('warned')),
    accepted: limitedNames(of('accepted')),
  };
}

/** A summary as a text, such as `7 passed, 1 warned: newest(updatedAt)`. */
export function summaryText({ passed, skipped, warned, accepted }: CheckSummary): string {
  const counts = [
    ...(passed > 0 ? [`${passed} passed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(warned.length > 0 ? [`warned: ${warned.join(', ')}`] : []),
    ...(accepted.length > 0 ? [`accepted: ${accepted.join(', ')}`] : []),
  ];
  return counts.join(', ');
}
