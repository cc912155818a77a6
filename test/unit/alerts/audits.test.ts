import { expect, it } from 'vitest';
import { auditTotal } from '../../../src/cli/runs/audit-lines.js';
import { observeRun } from '../../../src/core/alerts/index.js';
import { auditOutcome } from '../../../src/core/audit-outcome.js';
import type { RunId } from '../../../src/core/brands.js';
import type { AuditReport, RunRecord } from '../../../src/core/contract/index.js';
import { auditStatement, auditText } from '../../../src/lake/documents/audit-statement.js';

const EMPTY = { equal: 0, pending: 0, notYetLookedFor: 0, notComparable: 0 };
const NOTHING = {
  equal: 9,
  different: 0,
  missing: 0,
  extra: 0,
  pending: 2,
  notYetLookedFor: 1,
  notComparable: 3,
};

function audited(found: Partial<AuditReport>): RunRecord {
  const audit: AuditReport = {
    ...{ ...NOTHING, rows: 15, cells: 90, runId: '20261121T020000Z-1a2b3c4d' as RunId, checkpoint: null },
    ...{ snapshot: { key: 'k' as AuditReport['snapshot']['key'], sha256: '' }, keptNewer: 0, limits: [] },
    ...{ readings: 1, requests: 1, bytes: 1, diff: null, ...found },
  };
  const outcome = auditOutcome(audit);
  const nothing = { runId: null, rows: 15, counts: null, snapshot: null, warnings: [], error: null };
  return { resource: 'tasks', outcome, audit, ...nothing };
}

const observed = (run: RunRecord) => observeRun(run);

it('an audit without differences ends the problem, and says nothing of runs', () => {
  expect(observed(audited({}))).toEqual([{ resource: 'tasks', covers: ['audit'], problems: [] }]);
});

it.each<[what: string, Partial<AuditReport>, outcome: string]>([
  ['found equal rows', {}, 'equal'],
  ['found a difference', { missing: 1 }, 'different'],
  ['found only differences', { equal: 0, different: 1 }, 'different'],
  ['found only pending rows', { equal: 0, notYetLookedFor: 0, notComparable: 0 }, 'not-compared'],
  ['found only rows that it cannot compare', { equal: 0, pending: 0, notYetLookedFor: 0 }, 'not-compared'],
  ['had a sample without a row', { ...EMPTY, limits: ['sample'] }, 'not-compared'],
  ['could send no request', { ...EMPTY, limits: ['requests'] }, 'not-compared'],
  ['read all of an empty list, and the snapshot is empty', EMPTY, 'equal'],
])('an audit that %s', (_, counts, outcome) => {
  const run = audited(counts);
  expect(run.outcome).toBe(outcome);
  const facts = { connection: 'c', baseUrl: 'b', version: '0', request: {}, at: 0 };
  const statement = auditStatement([run], facts);
  expect(statement.outcome).toBe(outcome);
  const text = auditText(statement);
  expect(
    [text, auditTotal(statement)].map((one) => /equal|difference|nothing compared/.exec(one)![0]),
  ).toEqual(
    Array.from(
      { length: 2 },
      () =>
        (({ equal: 'equal', different: 'difference' }) as Record<string, string>)[outcome] ??
        'nothing compared',
    ),
  );
  expect(auditStatement([run, audited({})], facts).outcome).toBe(outcome === 'different' ? outcome : 'equal');
  // A problem that another audit has found stays.
  expect(observed(run)).toHaveLength(outcome === 'not-compared' ? 0 : 1);
});

it('an audit names each kind of difference, and other counts are another state', () => {
  const [first] = observed(audited({ different: 2, extra: 1 }));
  expect(first!.problems).toMatchObject([
    { kind: 'audit', text: expect.stringContaining('2 different, 1 extra rows in the snapshot') },
  ]);
  const [other] = observed(audited({ different: 3, extra: 1 }));
  expect(other!.problems[0]!.mark).not.toBe(first!.problems[0]!.mark);
});
