import { expect, it } from 'vitest';
import { observeRun } from '../../../src/core/alerts/index.js';
import type { RunId } from '../../../src/core/brands.js';
import type { AuditReport, RunRecord } from '../../../src/core/contract/index.js';

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
  const outcome = audit.different + audit.missing + audit.extra === 0 ? 'equal' : 'different';
  const nothing = { runId: null, rows: 15, counts: null, snapshot: null, warnings: [], error: null };
  return { resource: 'tasks', outcome, audit, ...nothing };
}

const observed = (run: RunRecord) => observeRun(run);

it('an audit without differences ends the problem, and says nothing of runs', () => {
  expect(observed(audited({}))).toEqual([{ resource: 'tasks', covers: ['audit'], problems: [] }]);
});

it('an audit names each kind of difference, and other counts are another state', () => {
  const [first] = observed(audited({ different: 2, extra: 1 }));
  expect(first!.problems).toMatchObject([
    { kind: 'audit', text: expect.stringContaining('2 different, 1 extra rows in the snapshot') },
  ]);
  const [other] = observed(audited({ different: 3, extra: 1 }));
  expect(other!.problems[0]!.mark).not.toBe(first!.problems[0]!.mark);
});
