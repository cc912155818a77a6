import { describe, expect, it } from 'vitest';
import {
  changeNoticeProblem,
  idProblem,
  lockTicketProblem,
  mirrorRequestProblem,
  runAnswerProblem,
} from '../../../src/core/signal-checks.js';
import { runRequest } from '../../support/run-request.js';

const RUN_ID = '20261121T020000Z-1a2b3c4d';
const run = runRequest({ requestId: 'a' });
const rollback = { kind: 'rollback', requestId: 'a', replyTo: 'w', to: RUN_ID };
const purge = { kind: 'purge', requestId: 'a', replyTo: 'w', key: ['1'] };
const counts = {
  fetched: 1,
  duplicates: 0,
  unchanged: 0,
  inserted: 1,
  updated: 0,
  deleted: 0,
  retained: 0,
  rows: 1,
  restated: 0,
};
const report = {
  resource: 'tasks',
  outcome: 'published',
  runId: RUN_ID,
  rows: 1,
  counts,
  snapshot: 'tasks/snapshots/dt=2026-11-21/run=x/_datapackage.json',
  warnings: ['a'],
  error: null,
};
const failed = {
  ...{
    resource: 'tasks',
    outcome: 'failed',
    runId: null,
    rows: null,
    counts: null,
    snapshot: null,
    warnings: [],
  },
  error: { type: 'Refused', message: 'no', scope: 'key' },
};
const NEVER: readonly unknown[] = [undefined, null, {}, [], 'text', 5, true, [run]];

describe('A request to a mirror', () => {
  it.each([
    run,
    { ...run, replyTo: 'w', since: '2026-11-21T02:00:00Z', alertedBy: 'sender' },
    { ...run, mode: 'full', somethingNewer: 1 },
    rollback,
    purge,
    { ...purge, key: ['', 'a\n'] },
  ])('is well-formed: %j', (request) => {
    expect(mirrorRequestProblem(request)).toBeNull();
  });

  it.each(NEVER)('is not %j', (value) => {
    expect(mirrorRequestProblem(value)).toMatch(/^(the argument|kind) must be /);
  });

  it.each<[object, string]>([
    [{ kind: 'dance' }, 'kind must be "run" or "rollback" or "purge"'],
    [{ kind: 'toString' }, 'kind must be "run" or "rollback" or "purge"'],
    [{ requestId: '' }, 'requestId must be a non-empty string of at most 1000 bytes without lone surrogates'],
    [{ requestId: 'é'.repeat(501) }, 'requestId must be'],
    [{ replyTo: 'x'.repeat(1001) }, 'replyTo must be'],
    [{ replyTo: '\ud800' }, 'replyTo must be'],
    [{ replyTo: undefined }, 'replyTo must be'],
    [{ mode: 'all' }, 'mode must be "full" or "increment"'],
    [{ reconcile: 'yes' }, 'reconcile must be true or false'],
    [{ adopt: undefined }, 'adopt must be true or false'],
    [{ allowDeletes: 0 }, 'allowDeletes must be true or false'],
    [{ since: '2026-02-30T00:00:00Z' }, 'since must be a time like 2026-11-21T02:00:00Z, or null'],
    [{ nominalStart: '2026' }, 'nominalStart must be milliseconds since 1970'],
    [{ nominalStart: Number.NaN }, 'nominalStart must be'],
    [{ nominalStart: 8.64e15 }, 'nominalStart must be'],
    [{ alertedBy: 'nobody' }, 'alertedBy must be "sender"'],
  ])('A request to a mirror with %j names the field', (wrong, problem) => {
    expect(mirrorRequestProblem({ ...run, ...wrong })).toContain(problem);
  });

  it('A request to a mirror to roll back requires a run id', () => {
    for (const to of ['x', '20260230T020000Z-1a2b3c4d', null, 5])
      expect(mirrorRequestProblem({ ...rollback, to })).toBe(
        'to must be a run id like 20261121T020000Z-1a2b3c4d',
      );
  });

  it('A request to a mirror to purge requires a key of strings, which no message quotes', () => {
    expect(mirrorRequestProblem({ ...purge, key: [] })).toBe('key must be a non-empty list');
    expect(mirrorRequestProblem({ ...purge, key: ['secret', { secret: 1 }] })).toBe(
      'key[1] must be a string',
    );
    expect(mirrorRequestProblem({ ...purge, key: 'secret' })).toBe('key must be a list');
  });
});

describe('An answer to a request', () => {
  it.each([report, failed, { ...report, purged: { snapshots: 1, changeLogs: 2, quarantineFiles: 1 } }])(
    'is well-formed: %j',
    (one) => {
      expect(runAnswerProblem({ requestId: 'a', report: one })).toBeNull();
    },
  );

  it.each(NEVER)('is not %j', (value) => {
    expect(runAnswerProblem(value)).toMatch(/ must be /);
    expect(runAnswerProblem({ requestId: 'a', report: value })).toMatch(/^report(\.\w+)? must be /);
  });

  it.each<[object, string]>([
    [{ outcome: 'fine' }, 'report.outcome must be'],
    [
      { runId: '20261321T020000Z-1a2b3c4d' },
      'report.runId must be a run id like 20261121T020000Z-1a2b3c4d, or null',
    ],
    [{ rows: -1 }, 'report.rows must be'],
    [{ counts: { ...counts, deleted: null } }, 'report.counts.deleted must be a whole number of at least 0'],
    [{ warnings: [1] }, 'report.warnings[0] must be a string'],
    [{ error: {} }, 'report.error.type must be a string'],
  ])('An answer to a request with %j names the field', (wrong, problem) => {
    expect(runAnswerProblem({ requestId: 'a', report: { ...report, ...wrong } })).toContain(problem);
  });
});

describe('The other signals', () => {
  it('take an id', () => {
    expect(idProblem('a')).toBeNull();
    for (const value of [...NEVER.filter((one) => one !== 'text'), ''])
      expect(idProblem(value)).toMatch(/^the argument must be /);
  });

  it('take a lock ticket', () => {
    expect(lockTicketProblem({ workflowId: 'w', token: 't' })).toBeNull();
    expect(lockTicketProblem({ workflowId: 'w' })).toMatch(/^token must be /);
    for (const value of NEVER) expect(lockTicketProblem(value)).toMatch(/ must be /);
  });

  it('carry a change notice', () => {
    expect(changeNoticeProblem({ notices: 3 })).toBeNull();
    for (const value of [...NEVER, { notices: '3' }]) expect(changeNoticeProblem(value)).toMatch(/ must be /);
  });
});
