import { describe, expect, it } from 'vitest';
import { historySummary } from '../../../src/cli/inspect/history-command.js';
import { statusSummary } from '../../../src/cli/inspect/status-command.js';
import { isAllFresh, statusJson, statusLines } from '../../../src/cli/inspect/status-lines.js';
import { observeAge, observeSchedule } from '../../../src/core/alerts/index.js';
import type { RunId } from '../../../src/core/brands.js';
import { ageOfData, behindSince, countNights } from '../../../src/core/data-age.js';
import type { ResourceFacts, ResourceState } from '../../../src/core/find-problems.js';
import {
  factsOfRuns,
  judgeResource,
  type NewestPublished,
  type OtherRun,
  RESOURCE_STATES,
  STATE_NAMES,
} from '../../../src/core/resource-state.js';
import { renderReport, resourceReport } from '../../../src/report/index.js';
import type { LoggedRun } from '../../../src/temporal/status/run-log.js';
import { resourceStatus } from '../cli/support.js';
import { connectionReport } from '../report/fixtures.js';

const HOUR = 3_600_000;
const AT = Date.parse('2026-11-22T05:00:00Z');
const LIMIT = { maxAgeMs: 26 * HOUR, at: AT };
const running = { startedAt: AT - HOUR, retrying: null };
const run = (outcome: 'published' | 'failed' | 'refused' | 'cancelled', message: string | null = null) => ({
  ...{ outcome, error: message === null ? null : { message }, startedAt: AT - 3 * HOUR },
});
const QUIET: ResourceFacts = {
  ...{ problem: null, owner: null, active: null, hasWorker: true, lastRun: run('published') },
  ...{ dataFrom: AT - 3 * HOUR, rolledBack: false, behindSince: null },
};
const OLD = { dataFrom: AT - 27 * HOUR };

/** Every state, alone and with facts of other states at the same time: state, whether it is fresh, and its cause. */
const TABLE: readonly (readonly [
  Partial<ResourceFacts>,
  ResourceState,
  fresh: boolean,
  cause: RegExp | null,
])[] = [
  [{}, 'published', true, null],
  [{ hasWorker: null }, 'published', true, null],
  [{ lastRun: null, dataFrom: null }, 'never-run', false, /no run is published yet/],
  [OLD, 'stale', false, /did not read all changes/],
  [{ ...OLD, lastRun: { ...run('published'), startedAt: AT - 27 * HOUR } }, 'stale', false, /no recent run/],
  [{ ...OLD, behindSince: AT }, 'stale', false, /did not read all changes/],
  [{ ...OLD, lastRun: run('cancelled') }, 'stale', false, /no recent run/],
  [{ behindSince: AT - HOUR }, 'behind-schedule', true, /not published/],
  [{ lastRun: run('cancelled') }, 'cancelled', false, /cancelled/],
  [{ lastRun: run('cancelled'), behindSince: AT }, 'cancelled', false, /cancelled/],
  [{ rolledBack: true, behindSince: AT }, 'rolled-back', true, /rollback/],
  [{ rolledBack: true, ...OLD }, 'rolled-back', false, /rollback/],
  [{ hasWorker: false }, 'no-worker', true, /no worker/],
  [{ hasWorker: false, rolledBack: true }, 'no-worker', true, /no worker/],
  [{ hasWorker: false, ...OLD }, 'no-worker', false, /no worker/],
  [{ hasWorker: false, active: running }, 'no-worker', true, /no worker/],
  [{ hasWorker: false, active: { ...running, retrying: 'x' } }, 'no-worker', true, /no worker/],
  [{ hasWorker: false, lastRun: run('failed', 'broke') }, 'failed', false, /broke/],
  [{ lastRun: run('failed', 'broke'), ...OLD }, 'failed', false, /broke/],
  [{ lastRun: run('failed') }, 'failed', false, /not known/],
  [{ lastRun: run('refused', 'no plan') }, 'refused', false, /no plan/],
  [{ active: running }, 'running', true, null],
  [{ active: running, lastRun: null, dataFrom: null }, 'running', false, null],
  [{ active: running, lastRun: run('failed', 'broke') }, 'running', false, /before failed: broke/],
  [{ active: running, lastRun: run('refused') }, 'running', false, /before was refused/],
  [{ active: running, ...OLD }, 'running', false, /did not read all changes/],
  [{ active: { ...running, retrying: '503' } }, 'retrying', true, /503/],
  [{ active: { ...running, retrying: '503' }, lastRun: run('failed') }, 'retrying', false, /503/],
  [{ active: running, owner: 'theirs' }, 'other-owner', false, /theirs/],
  [{ owner: 'theirs', problem: 'damaged' }, 'unreadable', false, /damaged/],
  [{ problem: 'damaged', hasWorker: false, ...OLD }, 'unreadable', false, /damaged/],
];

describe('the state of a resource', () => {
  it.each(TABLE)('the state for %o is %s, everywhere', (facts, state, fresh, cause) => {
    const verdict = judgeResource({ ...QUIET, ...facts }, LIMIT);
    expect(verdict).toMatchObject({ state, fresh });
    if (cause === null) expect(verdict.cause).toBeNull();
    else expect(verdict.cause).toMatch(cause);
    expect(verdict.isProblem).toBe(state !== 'published' && state !== 'running');

    const connection = { name: 'acme', resources: [resourceStatus(verdict)], schedule: null };
    expect(statusJson([connection])).toMatchObject({
      fresh,
      connections: [{ resources: [{ state, fresh }] }],
    });
    expect(isAllFresh([connection])).toBe(fresh);
    expect(statusLines([connection], AT).join('\n')).toContain(STATE_NAMES[state]);
    const summary = statusSummary(connection, AT);
    expect(summary).toMatchObject({ state: STATE_NAMES[state], problem: verdict.isProblem });
    if (verdict.isProblem) expect(summary.detail).toMatch(cause!);

    const resources = [resourceReport('tasks', [], { at: AT, verdict })];
    const page = renderReport({
      madeAt: AT,
      maxAgeMs: LIMIT.maxAgeMs,
      connections: [connectionReport({ resources })],
    });
    expect(page).toMatch(new RegExp(`<span class="tag \\w+">${STATE_NAMES[state]}</span>`));
    if (cause !== null) expect(page).toMatch(new RegExp(cause.source, 'i'));
  });

  it('has a row for each state in this table', () => {
    expect(new Set(TABLE.map(([, state]) => state))).toEqual(new Set(RESOURCE_STATES));
  });

  it('is fresh up to the age limit, and stale from then on, in alerts and metrics', () => {
    const dataFrom = AT - 3 * HOUR;
    expect(ageOfData(dataFrom, AT)).toBe(3 * HOUR);
    for (const [maxAgeMs, fresh] of [
      [3 * HOUR, true],
      [3 * HOUR - 1, false],
    ] as const) {
      expect(judgeResource(QUIET, { maxAgeMs, at: AT })).toMatchObject({ fresh });
      const maxAges = new Map([['slack', maxAgeMs]]);
      const { observation } = observeAge('tasks', { now: AT, dataFrom, maxAges });
      expect(observation.problems.length === 0).toBe(fresh);
    }
    const { checkAt } = observeAge('tasks', { now: AT, dataFrom, maxAges: new Map([['slack', 4 * HOUR]]) });
    expect(judgeResource(QUIET, { maxAgeMs: 4 * HOUR, at: checkAt! - 1 }).fresh).toBe(true);
    expect(judgeResource(QUIET, { maxAgeMs: 4 * HOUR, at: checkAt! }).fresh).toBe(false);
  });

  it.each([
    ['each night has a run', [0, 24, 48], [0, 24, 48], 0],
    ['a run starts within the second of its id, or before its jitter', [0, 24], [-0.2, 23.9], 0],
    ['a late run counts for the night before it', [0, 24, 48], [7, 48], 1],
    ['a run by hand counts, and a second one of a night does not', [0, 24, 48], [3, 12, 50], 1],
    ['runs before the first night count for none', [0, 24], [-10], 2],
    ['there were no nights', [], [5], 0],
  ])('counts scheduled starts without a published run: %s', (_, due, runs, unpublished) => {
    const at = (hours: readonly number[]) => hours.map((hour) => AT + hour * HOUR);
    const counted = countNights(at(due), at(runs), HOUR / 4);
    expect(counted).toEqual({ scheduled: due.length, unpublished });
  });

  it('is behind schedule if no run counts since the last scheduled one, in alerts', () => {
    const due = Date.parse('2026-11-22T02:00:00Z');
    const cases = [
      [null, due, due + HOUR, null],
      [due, due - 24 * HOUR, due + 60_000, null],
      [due, due - 24 * HOUR, due + HOUR, due],
      [due, due, due + HOUR, null],
      [due, null, due + HOUR, due],
    ] as const;
    for (const [scheduled, newest, at, since] of cases) {
      expect(behindSince(scheduled, newest, at)).toBe(since);
      expect(observeSchedule(scheduled, newest, at).problems).toHaveLength(since === null ? 0 : 1);
    }
  });
});

describe('a list of runs', () => {
  const published: NewestPublished = {
    ...{ startedAt: AT - 3 * HOUR, checkpoint: new Date(AT - 3 * HOUR).toISOString(), rolledBack: false },
  };
  const other = (outcome: OtherRun['outcome'], hoursAgo: number, some: Partial<OtherRun> = {}): OtherRun => ({
    ...{ outcome, startedAt: AT - hoursAgo * HOUR, error: { message: 'broke' }, retrying: null },
    ...some,
  });
  const cases: readonly (readonly [NewestPublished | null, readonly OtherRun[], ResourceState])[] = [
    [published, [], 'published'],
    [null, [], 'never-run'],
    [{ ...published, rolledBack: true }, [], 'rolled-back'],
    [{ ...published, checkpoint: '2026-11-01T00:00:00Z' }, [], 'stale'],
    [published, [other('failed', 1)], 'failed'],
    [published, [other('failed', 5)], 'published'],
    [published, [other('refused', 1), other('failed', 2)], 'refused'],
    [published, [other('cancelled', 1), other('failed', 2)], 'cancelled'],
    [published, [other('running', 0), other('failed', 1)], 'running'],
    [published, [other('running', 0, { retrying: '503' })], 'retrying'],
    [null, [other('running', 0)], 'running'],
    [null, [other('failed', 1)], 'failed'],
  ];

  it.each(cases)(
    'a list of runs with %o and %o has the state %s, also in history',
    (newest, others, state) => {
      expect(judgeResource(factsOfRuns(newest, others), LIMIT).state).toBe(state);
      const common = {
        resource: 'tasks',
        runId: null,
        mode: null,
        endedAt: null,
        counts: null,
        warnings: [],
      };
      const runs: LoggedRun[] = others.map((one) => ({
        ...{ ...common, ...one },
        error: one.error && { type: 'Failed', message: one.error.message },
      }));
      if (newest !== null) {
        const { startedAt, checkpoint, rolledBack } = newest;
        const runId = '20261122T020000Z-1a2b3c4d' as RunId;
        runs.push({
          ...{ ...common, runId, outcome: 'published', startedAt, error: null, retrying: null },
          published: { checkpoint: checkpoint as never, rolledBack },
        });
      }
      runs.sort((a, b) => b.startedAt - a.startedAt);
      expect(historySummary([{ name: 'tasks', runs }], AT).state).toBe(STATE_NAMES[state]);
    },
  );
});
