import { describe, expect, it } from 'vitest';
import type { CheckSettings } from '../../../src/core/settings.js';
import { addFigures, checkNames, LIVE, measureId, planChecks } from '../../../src/lake/checks/check-plan.js';
import { type Candidate, judgeChecks } from '../../../src/lake/checks/judge.js';
import type { MeasuredDay } from '../../../src/lake/documents/check-record.js';
import { daysOf, summaryText, withDay } from '../../../src/lake/documents/check-record.js';
import { CSV } from '../lake/published.js';

const CHANGE: CheckSettings = {
  ...{ kind: 'change', max: 20, new: 40, gone: 10, over: 7 },
  ...{ of: 'snapshot', onFail: 'stop' },
};
const NOBODY = { acceptedBy: null, mayStop: true };

const resourceOf = (checks: readonly CheckSettings[]) => ({
  checks,
  key: ['id'],
  csv: CSV,
  columns: { include: null, exclude: [], mask: {} },
});

function judged(check: CheckSettings, candidate: Partial<Candidate> & { live: number }, options = NOBODY) {
  const plan = planChecks(resourceOf([check]))!;
  const { live, ...more } = candidate;
  const figures = { [measureId(plan, LIVE)]: live };
  const [result] = judgeChecks(
    [check],
    plan,
    {
      figures: {
        snapshot: addFigures(plan.measures.snapshot, [figures]),
        run: addFigures(plan.measures.run, [figures]),
      },
      ...{
        shared: new Map(),
        names: ['id'],
        inserted: 0,
        deleted: 0,
        startedAt: 0,
        dt: '2026-11-30',
        days: [],
      },
      ...more,
    },
    options,
  );
  return result!;
}

/** Days before 30 November, newest first. */
const days = (...rows: number[]): MeasuredDay[] =>
  rows.map((one, at) => ({
    dt: new Date(Date.UTC(2026, 10, 29 - at)).toISOString().slice(0, 10),
    rows: one,
  }));

describe('a change of the rows', () => {
  it.each([
    ['is not judged before there are three days', 10, [1000, 1000], 'skipped'],
    ['is judged from the third day on', 10, [1000, 1000, 1000], 'failed'],
    ['stops at more than the share', 799, days(1000, 1000, 1000), 'failed'],
    ['passes at the share', 800, days(1000, 1000, 1000), 'passed'],
    ['passes for fewer than 20 rows', 21, days(40, 40, 40), 'passed'],
    ['stops for 20 rows', 20, days(40, 40, 40), 'failed'],
    [
      'is compared with the median, so that one odd day has no effect',
      1000,
      days(10, 1000, 1000, 1000),
      'passed',
    ],
    [
      'looks at as many days as `over` says',
      1000,
      days(...Array(7).fill(1000), 9, 9, 9, 9, 9, 9, 9, 9),
      'passed',
    ],
    ['stops for a jump', 1400, days(1000, 1000, 1000), 'failed'],
    ['passes for growth from day to day', 1500, days(1400, 1300, 1200, 1100, 1000), 'passed'],
    [
      'stops for a slow fall, once it is far from the median',
      700,
      days(760, 880, 1000, 1000, 1000),
      'failed',
    ],
    ['stops for rows after none', 20, days(0, 0, 0), 'failed'],
  ] as const)('%s', (_, live, known, outcome) => {
    const list =
      typeof known[0] === 'number'
        ? days(...(known as readonly number[]))
        : (known as readonly MeasuredDay[]);
    expect(judged(CHANGE, { live, days: list }).outcome).toBe(outcome);
  });

  it('leaves out the day itself', () => {
    const today = { dt: '2026-11-30', rows: 1 };
    expect(judged(CHANGE, { live: 1000, days: [today, ...days(1000, 1000)] }).outcome).toBe('skipped');
    expect(judged(CHANGE, { live: 1000, days: [today, ...days(1000, 1000, 1000)] }).outcome).toBe('passed');
  });

  it('limits what a run adds and deletes', () => {
    const known = days(1000, 1000, 1000);
    expect(judged(CHANGE, { live: 1000, days: known, inserted: 400, deleted: 100 }).outcome).toBe('passed');
    expect(judged(CHANGE, { live: 1000, days: known, inserted: 401 }).found).toContain('401 new rows');
    expect(judged(CHANGE, { live: 1000, days: known, deleted: 101 }).found).toContain('101 deleted rows');
  });

  it('is judged again from the day on that a person has accepted', () => {
    const accepted = { dt: '2026-11-29', rows: 500, accepted: ['change'] };
    const known = [accepted, ...days(1000, 1000, 1000, 1000).slice(1)];
    expect(judged(CHANGE, { live: 500, days: known }).outcome).toBe('skipped');
    const later = [{ ...accepted, dt: '2026-11-27' }, ...days(1, 1, 1, 1).slice(3)];
    const two = [...days(500, 510), ...later];
    expect(judged(CHANGE, { live: 505, days: two }).outcome).toBe('passed');
    expect(judged(CHANGE, { live: 1000, days: two }).outcome).toBe('failed');
  });
});

describe('the days that runs compare with', () => {
  it('are one for each dt, its last run, and at most 30', () => {
    let known = withDay(undefined, { dt: '2026-01-01', rows: 1 });
    for (let day = 2; day <= 40; day++) {
      const dt = new Date(Date.UTC(2026, 0, day)).toISOString().slice(0, 10);
      known = withDay(known, { dt, rows: 1, accepted: day === 40 ? ['rows'] : [] });
      known = withDay(known, { dt, rows: day });
    }
    expect(daysOf(known)).toHaveLength(31);
    expect(daysOf(known)[0]).toEqual({ dt: '2026-02-09', rows: 40, accepted: ['rows'] });
    expect(daysOf(known)[1]).toEqual({ dt: '2026-02-08', rows: 39 });
  });
});

describe('a failed check', () => {
  const rows = (onFail: 'stop' | 'warn'): CheckSettings => ({
    ...{ kind: 'rows', min: 1000, max: null, of: 'snapshot' },
    onFail,
  });

  it.each([
    ['stop', NOBODY, 'failed'],
    ['warn', NOBODY, 'warned'],
    ['stop', { acceptedBy: 'alice@laptop', mayStop: true }, 'accepted'],
    ['warn', { acceptedBy: 'alice@laptop', mayStop: true }, 'warned'],
    ['stop', { acceptedBy: null, mayStop: false }, 'warned'],
  ] as const)('a failed check with onFail %s and %o is %s', (onFail, options, outcome) => {
    const result = judged(rows(onFail), { live: 999 }, options as typeof NOBODY);
    expect(result).toMatchObject({
      name: 'rows',
      outcome,
      allowed: 'at least 1,000 rows',
      found: '999 rows',
      rows: 999,
    });
    const acceptedBy = result.outcome === 'accepted' ? result.acceptedBy : undefined;
    expect(acceptedBy).toBe(outcome === 'accepted' ? 'alice@laptop' : undefined);
    expect('acceptedBy' in result).toBe(outcome === 'accepted');
  });

  it('a failed check of a column that the data do not have says so, unless there are no rows', () => {
    const unique: CheckSettings = { kind: 'unique', field: 'titel', of: 'snapshot', onFail: 'stop' };
    const names = ['id', 'title'];
    expect(judged(unique, { live: 3, names })).toMatchObject({
      outcome: 'failed',
      found: 'the data have no column "titel". Did you mean "title"?',
      rows: 3,
    });
    expect(judged(unique, { live: 0, names }).outcome).toBe('passed');
  });

  it('has a name of its own if it is there for both kinds of rows', () => {
    const check = (of: 'snapshot' | 'run', field: string): CheckSettings => ({
      kind: 'notNull',
      field,
      of,
      onFail: 'stop',
    });
    expect(checkNames([check('run', 'a')])).toEqual(['notNull(a)']);
    expect(checkNames([check('run', 'a'), check('snapshot', 'a'), check('snapshot', 'b')])).toEqual([
      'notNull(a) of run',
      'notNull(a)',
      'notNull(b)',
    ]);
  });
});

describe('the summary of checks', () => {
  it.each([
    [[0, 0, [], []], ''],
    [[1, 0, [], []], '1 passed'],
    [[0, 1, [], []], '1 skipped'],
    [[0, 0, ['rows'], []], 'warned: rows'],
    [[0, 0, [], ['rows']], 'accepted: rows'],
    [[2, 3, ['a', 'b'], ['c', 'd']], '2 passed, 3 skipped, warned: a, b, accepted: c, d'],
  ] as const)('leaves nothing out: %j', ([passed, skipped, warned, accepted], text) => {
    expect(summaryText({ passed, skipped, warned, accepted })).toBe(text);
  });
});
