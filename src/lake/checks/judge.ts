import type { EpochMs, Millis } from '../../core/brands.js';
import { formatDuration, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../core/duration.js';
import type { CheckSettings } from '../../core/settings.js';
import { count as grouped } from '../../core/short-text.js';
import { didYouMean } from '../../core/suggest.js';
import { cutText, shownName } from '../../core/text-budget.js';
import type {
  CheckFinding,
  CheckResult,
  CheckVerdict,
  Figures,
  MeasuredDay,
} from '../documents/check-record.js';
import {
  type CheckPlan,
  checkNames,
  LIVE,
  type MeasureRule,
  measureId,
  rulesOf,
  uniqueId,
} from './check-plan.js';
import { columnOf } from './row-meter.js';

/** What is known about a snapshot that may be published. */
export interface Candidate {
  /** Figures of the snapshot's rows, and of those that the run read. */
  readonly figures: { readonly snapshot: Figures; readonly run: Figures | null };
  /** Rows whose value another row has, too, by the id of the measure. */
  readonly shared: ReadonlyMap<string, number>;
  /** Names of the data columns. */
  readonly names: readonly string[];
  readonly inserted: number;
  readonly deleted: number;
  /** The start of the run. */
  readonly startedAt: EpochMs;
  readonly dt: string;
  /** The last days, newest first. */
  readonly days: readonly MeasuredDay[];
}

/** A judged check, before anybody accepts anything. */
type Verdict = Omit<CheckFinding, 'name' | 'allowed'> & {
  readonly state: 'passed' | 'failed' | 'skipped';
};

/** A difference of fewer rows than this is normal, whatever the share. */
const LEAST_CHANGE = 20;
/** Days before a change is judged. */
const LEAST_DAYS = 3;
const MAX_TEXT_BYTES = 300;

interface JudgeOptions {
  /** The user who accepts failed checks; `null`: no one. */
  readonly acceptedBy: string | null;
  /** Whether a failed check stops the run. A rollback is not stopped. */
  readonly mayStop: boolean;
}

/** Judges each check, in the order of the configuration. A result `failed` stops the run. */
export function judgeChecks(
  checks: readonly CheckSettings[],
  plan: CheckPlan,
  candidate: Candidate,
  options: JudgeOptions,
): CheckResult[] {
  const names = checkNames(checks);
  return checks.map((check, at): CheckResult => {
    const name = names[at]!;
    const { state, found, rows } = judgeCheck(check, name, plan, candidate);
    return {
      ...checkVerdict(check, state, options),
      name,
      allowed: cutText(`${allowedText(check)}${check.of === 'run' ? OF_RUN : ''}`, MAX_TEXT_BYTES),
      found: cutText(found, MAX_TEXT_BYTES),
      rows,
    };
  });
}

function checkVerdict(
  { onFail }: CheckSettings,
  state: Verdict['state'],
  { acceptedBy, mayStop }: JudgeOptions,
): CheckVerdict {
  if (state !== 'failed') return { outcome: state };
  if (onFail === 'warn' || !mayStop) return { outcome: 'warned' };
  return acceptedBy === null ? { outcome: 'failed' } : { outcome: 'accepted', acceptedBy };
}

function judgeCheck(check: CheckSettings, name: string, plan: CheckPlan, candidate: Candidate): Verdict {
  const figureOf = (rule: MeasureRule) => candidate.figures[check.of]?.[measureId(plan, rule)] ?? null;
  const figure = (kind: MeasureRule['kind']) => figureOf(rulesOf(check).find((rule) => rule.kind === kind)!);
  const live = figureOf(LIVE) ?? 0;
  const breaking = (rows: number, one: string, many: string): Verdict => ({
    state: rows > 0 ? 'failed' : 'passed',
    found:
      rows > 0
        ? `${number(rows)} of ${counted(live, 'row')} ${rows === 1 ? one : many}`
        : `none in ${counted(live, 'row')}`,
    rows,
  });
  if ('field' in check && check.kind !== 'notNull') {
    const missing = missingColumn(check.field, candidate.names);
    if (missing !== null && live > 0) return { state: 'failed', found: missing, rows: live };
  }
  switch (check.kind) {
    case 'rows': {
      const isWithin = live >= (check.min ?? 0) && live <= (check.max ?? live);
      return { state: isWithin ? 'passed' : 'failed', found: counted(live, 'row'), rows: live };
    }
    case 'change':
      return judgeChange(check, name, candidate, live);
    case 'notNull': {
      const missing = missingColumn(check.field, candidate.names);
      const verdict = breaking(figure('nulls') ?? 0, 'is null', 'are null');
      return missing === null || live === 0 ? verdict : { ...verdict, found: `${verdict.found}: ${missing}` };
    }
    case 'unique':
      return breaking(
        candidate.shared.get(uniqueId(plan, { field: check.field, scope: check.of })) ?? 0,
        'shares a value',
        'share a value with another row',
      );
    case 'oneOf':
      return breaking(figure('others') ?? 0, 'has another value', 'have another value');
    case 'range':
      return breaking(figure('outside') ?? 0, 'is outside', 'are outside');
    case 'newest': {
      const newest = figure('newest');
      const age = newest === null ? null : candidate.startedAt - newest;
      return judgeNewest(check.maxAgeMs, age, figure('undated') ?? 0, live);
    }
  }
}

function missingColumn(field: string, names: readonly string[]): string | null {
  if (columnOf(names, field) !== -1) return null;
  return `the data have no column ${JSON.stringify(shownName(field))}.${didYouMean(field, names)}`.replace(
    /\.$/,
    '',
  );
}

/** @param age of the newest value; `null`: there is none  @param undated values that are no date */
function judgeNewest(maxAgeMs: Millis, age: Millis | null, undated: number, live: number): Verdict {
  if (age === null && undated > 0) {
    const found = `none of ${counted(undated, 'value')} is a date or a time`;
    return { state: 'failed', found, rows: undated };
  }
  if (age === null) return { state: 'skipped', found: `no value in ${counted(live, 'row')}`, rows: live };
  const found = age <= 0 ? 'newer than the start of the run' : `${formatDuration(roughly(age))} old`;
  return { state: age > maxAgeMs ? 'failed' : 'passed', found, rows: live };
}

/** Whole minutes, or whole hours if it is long. */
function roughly(ms: Millis): Millis {
  const unit = ms >= 48 * HOUR_MS ? HOUR_MS : ms >= 2 * MINUTE_MS ? MINUTE_MS : SECOND_MS;
  return Math.floor(ms / unit) * unit;
}

function judgeChange(
  check: Extract<CheckSettings, { kind: 'change' }>,
  name: string,
  candidate: Candidate,
  live: number,
): Verdict {
  const { inserted, deleted } = candidate;
  const days = earlierDays(candidate, name, check.of).slice(0, check.over);
  if (days.length < LEAST_DAYS) {
    const found = `${counted(live, 'row')}; ${counted(days.length, 'earlier day')}, and ${LEAST_DAYS} are needed`;
    return { state: 'skipped', found, rows: live };
  }
  const middle = median(days);
  const exceeds = (rows: number, share: number | null, of: number): boolean =>
    share !== null && rows >= LEAST_CHANGE && rows * 100 > share * of;
  // A mirror grows from day to day. Growth is a jump only if it is one compared with the last day, too.
  const isJump = live < middle || exceeds(live - days[0]!, check.max, days[0]!);
  const problems = [
    ...(exceeds(Math.abs(live - middle), check.max, middle) && isJump
      ? [`${counted(live, 'row')}, ${difference(live, middle)}`]
      : []),
    ...(exceeds(inserted, check.new, middle) ? [`${counted(inserted, 'new row')}`] : []),
    ...(exceeds(deleted, check.gone, middle) ? [`${counted(deleted, 'deleted row')}`] : []),
  ];
  const found = problems.length > 0 ? problems.join('; ') : counted(live, 'row');
  return {
    state: problems.length > 0 ? 'failed' : 'passed',
    found: `${found}; the median of ${counted(days.length, 'day')} is ${number(middle)}`,
    rows: live,
  };
}

function difference(live: number, middle: number): string {
  if (middle === 0) return 'after none';
  const share = (Math.abs(live - middle) / middle) * 100;
  return `${share >= 10 ? Math.round(share) : share.toFixed(1)}% ${live < middle ? 'less' : 'more'}`;
}

/**
 * Rows of the last run of each earlier day, newest first. Where a person has accepted a change, what was before does not count
 * any more.
 */
function earlierDays({ dt, days: known }: Candidate, name: string, of: CheckSettings['of']): number[] {
  const days: number[] = [];
  for (const day of known) {
    const rows = of === 'run' ? day.fetched : day.rows;
    if (day.dt !== dt && rows !== undefined) days.push(rows);
    if (day.accepted?.includes(name)) break;
  }
  return days;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(half)]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

const OF_RUN = ', of the rows that the run read';

/** What a check allows, for people. */
function allowedText(check: CheckSettings): string {
  switch (check.kind) {
    case 'rows':
      return `${bounds(check.min, check.max)} rows`;
    case 'change': {
      const limits = [
        ...(check.max === null ? [] : [`a difference of ${check.max}%`]),
        ...(check.new === null ? [] : [`${check.new}% new rows`]),
        ...(check.gone === null ? [] : [`${check.gone}% deleted rows`]),
      ];
      return `up to ${limits.join(', ')} of the median of ${check.over} days`;
    }
    case 'notNull':
      return 'no null';
    case 'unique':
      return 'no value twice';
    case 'oneOf':
      return `${check.values.slice(0, 20).join(', ')}${check.values.length > 20 ? ', …' : ''}`;
    case 'range':
      return bounds(check.min, check.max);
    case 'newest':
      return `at most ${formatDuration(check.maxAgeMs)} old`;
  }
}

function bounds(min: number | string | null, max: number | string | null): string {
  const text = (limit: number | string): string => (typeof limit === 'number' ? number(limit) : limit);
  if (min === null) return `at most ${text(max ?? 0)}`;
  return max === null ? `at least ${text(min)}` : `${text(min)} to ${text(max)}`;
}

function counted(count: number, thing: string): string {
  return `${number(count)} ${thing}${count === 1 ? '' : 's'}`;
}

function number(value: number): string {
  return Number.isInteger(value) ? grouped(value) : String(value);
}
