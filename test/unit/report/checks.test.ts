import { describe, expect, it } from 'vitest';
import type { CheckOutcome } from '../../../src/core/contract/index.js';
import { DEFAULT_MAX_AGE_MS } from '../../../src/core/data-age.js';
import type { CheckResult } from '../../../src/lake/documents/check-record.js';
import { renderReport, resourceReport } from '../../../src/report/index.js';
import { connectionReport, failedRun, HOSTILE, MADE_AT, pastRun } from './fixtures.js';

const results = (outcomes: Readonly<Record<string, CheckOutcome>>): CheckResult[] =>
  Object.entries(outcomes).map(([name, outcome]) => ({
    ...(outcome === 'accepted' ? { outcome, acceptedBy: 'alice@laptop' } : { outcome }),
    ...{ name, allowed: '', found: '', rows: 0 },
  }));

/** Runs with these outcomes, newest first. */
function pageOf(
  nights: readonly Readonly<Record<string, CheckOutcome>>[],
  stopped: readonly string[] = [],
): string {
  const runs = nights.map((outcomes, ago) =>
    pastRun(ago, Object.keys(outcomes).length === 0 ? {} : { checks: results(outcomes) }),
  );
  const error = { message: 'tasks: a check failed', checks: stopped };
  const unpublished =
    stopped.length === 0
      ? []
      : [failedRun('tasks', 0, { runId: null, outcome: 'failed', error, startedAt: MADE_AT - 60_000 })];
  const resources = [resourceReport('tasks', runs, { at: MADE_AT, unpublished })];
  return renderReport({
    madeAt: MADE_AT,
    maxAgeMs: DEFAULT_MAX_AGE_MS,
    connections: [connectionReport({ resources })],
  });
}

/** Each check with its last outcome and the counts of all. */
const rowsOf = (page: string) =>
  [...page.matchAll(/<tr><th scope="row"><bdi>(.*?)<\/bdi>.*?tag (\w+)">(\w+)<.*?aria-label="(.*?)"/g)].map(
    ([, name, tone, last, told]) => [name, tone, last, told],
  );

describe('the checks in a report', () => {
  it('have a row each, with the outcomes of the last runs', () => {
    const page = pageOf([
      { rows: 'passed', 'unique(ref)': 'accepted' },
      { rows: 'passed', 'unique(ref)': 'warned' },
      { rows: 'skipped' },
      {},
    ]);
    expect(rowsOf(page)).toEqual([
      ['rows', 'ok', 'passed', '1 skipped, 2 passed'],
      ['unique(ref)', 'warn', 'accepted', '1 warned, 1 accepted'],
    ]);
  });

  it('show the runs that they have stopped', () => {
    const page = pageOf([{ rows: 'passed', 'notNull(a)': 'passed' }], ['notNull(a)']);
    expect(rowsOf(page)).toEqual([
      ['rows', 'ok', 'passed', '1 passed'],
      ['notNull(a)', 'bad', 'failed', '1 failed, 1 passed'],
    ]);
  });

  it('are left out if there are none, and their names cannot change the page', () => {
    expect(pageOf([{}, {}])).not.toContain('Checks');
    const page = pageOf([{ [`notNull(${HOSTILE})`]: 'passed' }]);
    expect(page).toContain('Checks');
    expect(page).not.toContain(HOSTILE);
  });
});
