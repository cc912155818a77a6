import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FAILED_RUN } from '../../../src/core/alert-events.js';
import {
  HAS_STARTED,
  observeAge,
  observeRun,
  observeSchedule,
  type ProblemKind,
} from '../../../src/core/alerts/index.js';
import { newAlerts, reported } from '../../../src/core/alerts/message-rules.js';
import type { RunId } from '../../../src/core/brands.js';
import type {
  AlertsState,
  Observation,
  ReportAlertsInput,
  RunError,
  RunOutcome,
} from '../../../src/core/contract/index.js';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/duration.js';
import { findProblems, type ResourceFacts, type ResourceState } from '../../../src/core/find-problems.js';
import { judgeResource, RESOURCE_STATES } from '../../../src/core/resource-state.js';
import { rounds } from '../../support/seeds.js';

const AT = Date.parse('2026-11-22T05:00:00Z');
const MAX_AGE_MS = 26 * HOUR_MS;
const LIMIT = { maxAgeMs: MAX_AGE_MS, at: AT };
const ON: readonly ProblemKind[] = [...FAILED_RUN, 'stale', 'behind', 'warning', 'schema-change'];
const SCHEMA = { first: [{ name: 'billable', had: null, added: ['boolean'] }], count: 1 };

type Run = ReportAlertsInput['runs'][number];

const OK: Run = { resource: 'tasks', outcome: 'published', runId: null, warnings: [], error: null };
const QUIET: ResourceFacts = {
  ...{ problem: null, owner: null, active: null, hasWorker: true, rolledBack: false, behindSince: null },
  ...{ lastRun: { ...OK, startedAt: AT - 3 * HOUR_MS }, dataFrom: AT - 3 * HOUR_MS },
};

const ended = (outcome: RunOutcome, type?: RunError['type']): Partial<ResourceFacts> => ({
  lastRun: {
    ...{ outcome, startedAt: AT - HOUR_MS, warnings: [] },
    error: type === undefined ? null : { type, message: `${type}!` },
  },
});

/** What alerts hear of the same facts: of the run that ended, and from a look at the data and the Schedule. */
function observe({ lastRun, dataFrom, behindSince }: ResourceFacts): Observation[] {
  const run = lastRun && ({ ...OK, ...lastRun } as Run);
  const maxAges = new Map([['slack', MAX_AGE_MS]]);
  return [
    ...(run === null ? [] : observeRun(run)),
    ...(dataFrom === null ? [] : [observeAge('tasks', { now: AT, dataFrom, maxAges }).observation]),
    observeSchedule(behindSince, behindSince === null ? AT : null, AT),
  ];
}

/** The alerts that are open after these observations. */
function open(state: AlertsState): string[] {
  const { problems = [] } = state.connections.acme ?? {};
  return problems.flatMap(({ kind, overAt }) => (overAt === undefined ? [kind] : [])).sort();
}

function report(state: AlertsState, observations: readonly Observation[]): AlertsState {
  const targets = [{ id: 'slack', on: ON, incidents: false }];
  return reported(state, { connection: 'acme', targets, resources: ['tasks'], observations }, AT);
}

/** By state: the facts, the alerts that begin, and those of a failed, stale and late resource that do not end. */
const TABLE: readonly (readonly [
  facts: Partial<ResourceFacts>,
  state: ResourceState,
  raises: readonly ProblemKind[],
  leaves: readonly ProblemKind[],
])[] = [
  [{}, 'published', [], []],
  [{ lastRun: { ...QUIET.lastRun!, warnings: [{ kind: 'more', count: 2 }] } }, 'published', ['warning'], []],
  [{ lastRun: { ...QUIET.lastRun!, schemaChanges: SCHEMA } }, 'published', ['schema-change'], []],
  [ended('failed', 'Lake'), 'failed', ['failure'], ['failure']],
  [ended('failed'), 'failed', ['failure'], ['failure']],
  [ended('failed', 'Check'), 'failed', ['check'], []],
  [ended('failed', 'DeletesHeld'), 'failed', ['deletes-held'], []],
  [ended('refused', 'Refused'), 'refused', ['failure'], ['failure']],
  [ended('cancelled'), 'cancelled', [], ['failure']],
  // Published, but its list was incomplete, or it was a rollback: the data are as old as before.
  [{ dataFrom: AT - 27 * HOUR_MS }, 'stale', ['stale'], ['stale']],
  [{ rolledBack: true, dataFrom: AT - 27 * HOUR_MS }, 'rolled-back', ['stale'], ['stale']],
  [{ rolledBack: true }, 'rolled-back', [], []],
  [
    { ...ended('failed', 'Lake'), dataFrom: AT - 27 * HOUR_MS },
    'failed',
    ['failure', 'stale'],
    ['failure', 'stale'],
  ],
  [{ behindSince: AT - HOUR_MS }, 'behind-schedule', ['behind'], ['behind']],
  [{ lastRun: null, dataFrom: null }, 'never-run', [], ['failure', 'stale']],
  // Its next run fails, and no worker is there to report.
  [{ problem: 'damaged', dataFrom: null, lastRun: null }, 'unreadable', [], ['failure', 'stale']],
  [
    { owner: 'theirs', dataFrom: null, ...ended('failed', 'Displaced') },
    'other-owner',
    ['failure'],
    ['failure', 'stale'],
  ],
  [{ hasWorker: false }, 'no-worker', [], []],
  // A run in progress has ended nothing yet.
  [
    { active: { startedAt: AT, retrying: null }, ...ended('failed', 'Lake') },
    'running',
    ['failure'],
    ['failure'],
  ],
  [{ active: { startedAt: AT, retrying: '503' } }, 'retrying', [], []],
];

describe('The state of a resource and its alerts', () => {
  const begun = report(newAlerts(), [
    ...observe({
      ...QUIET,
      ...ended('failed', 'Lake'),
      dataFrom: AT - 30 * HOUR_MS,
      behindSince: AT - HOUR_MS,
    }),
  ]);

  it.each(TABLE)('agree: %j is %s in status, raises %j, and leaves %j', (some, state, raises, leaves) => {
    const facts = { ...QUIET, ...some };
    expect(judgeResource(facts, LIMIT).state).toBe(state);
    expect(open(report(newAlerts(), observe(facts)))).toEqual([...raises].sort());
    expect(open(begun)).toEqual(['behind', 'failure', 'stale']);
    const after = open(report(begun, observe(facts)));
    expect(after).toEqual([...new Set([...raises, ...leaves])].sort());
  });

  it('have a row for each state', () => {
    expect(new Set(TABLE.map(([, state]) => state))).toEqual(new Set(RESOURCE_STATES));
  });

  it('never disagree: a resource with an open alert is not all right in status, and one that is stale or failed has one', () => {
    const facts = fc.record({
      active: fc.option(fc.record({ startedAt: fc.constant(AT), retrying: fc.option(fc.constant('503')) })),
      hasWorker: fc.option(fc.boolean()),
      lastRun: fc.option(
        fc
          .record({
            outcome: fc.constantFrom<RunOutcome>('published', 'failed', 'refused', 'cancelled'),
            type: fc.constantFrom<RunError['type']>('Lake', 'Check', 'DeletesHeld', 'Refused', 'Failed'),
          })
          .map(({ outcome, type }) => ended(outcome, outcome === 'published' ? undefined : type).lastRun!),
      ),
      dataFrom: fc.option(fc.integer({ min: 0, max: 60 }).map((hours) => AT - hours * HOUR_MS)),
      rolledBack: fc.boolean(),
      behindSince: fc.option(fc.constant(AT - 30 * MINUTE_MS)),
    });
    fc.assert(
      fc.property(facts, (known) => {
        const all = { ...QUIET, ...known };
        const alerts = open(report(newAlerts(), observe(all)));
        const { state, isProblem, cause, fresh } = judgeResource(all, LIMIT);
        expect(isProblem || cause !== null || state === 'running' || alerts.length === 0).toBe(true);
        if (alerts.includes('stale')) expect(fresh).toBe(false);
        if (state === 'stale') expect(alerts).toContain('stale');
        if (state === 'failed' || state === 'refused')
          expect(alerts.some((one) => FAILED_RUN.includes(one as ProblemKind))).toBe(true);
        const events = findProblems(all, LIMIT).flatMap(({ event }) => event ?? []);
        expect(alerts).toEqual([...events].sort());
      }),
      { numRuns: rounds(200) },
    );
  });

  it('a run that publishes old data does not end the alert about old data', () => {
    const old = observeAge('tasks', {
      ...{ now: AT, dataFrom: AT - 27 * HOUR_MS },
      maxAges: new Map([['slack', MAX_AGE_MS]]),
    }).observation;
    const after = report(report(newAlerts(), [old]), [...observeRun(OK), HAS_STARTED]);
    expect(open(after)).toEqual(['stale']);
  });

  it('have the warnings of a published run whose report comes after that of a later failed one', () => {
    const [early, late] = ['20261121T020000Z-00000001', '20261121T030000Z-00000002'] as RunId[];
    const error: RunError = { type: 'Failed', message: 'no answer' };
    const failed = report(newAlerts(), observeRun({ ...OK, runId: late!, outcome: 'failed', error }));
    const warned = observeRun({ ...OK, runId: early!, warnings: [{ kind: 'more', count: 2 }] });
    expect(open(report(failed, warned))).toEqual(['failure', 'warning']);
  });
});
