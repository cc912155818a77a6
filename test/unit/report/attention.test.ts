import { describe, expect, it } from 'vitest';
import type { UtcSeconds } from '../../../src/core/brands.js';
import { DEFAULT_MAX_AGE_MS } from '../../../src/core/data-age.js';
import { listResources } from '../../../src/report/attention.js';
import {
  type ConnectionReport,
  renderReport,
  resourceReport,
  type UnpublishedRun,
} from '../../../src/report/index.js';
import { escapeHtml } from '../../../src/report/markup.js';
import { timeline } from '../../../src/report/model.js';
import {
  connectionReport,
  DAY,
  failedRun,
  HOSTILE,
  LAST,
  MADE_AT,
  pastRun,
  quietNights,
  reportOf,
} from './fixtures.js';

const at = MADE_AT;
const nightsFrom = (newest: number) =>
  quietNights(
    10,
    undefined,
    [0, 1, 2, 3].map((ago) => ago + newest),
  );
const running = (some: Partial<UnpublishedRun> = {}): UnpublishedRun =>
  failedRun('tasks', 0, { runId: null, outcome: 'running', error: null, ...some });

/** The state of one resource. */
function stateOf(newest: number | null, unpublished: UnpublishedRun[] = []) {
  const report = resourceReport('tasks', newest === null ? [] : nightsFrom(newest), { at, unpublished });
  const [listed] = listResources([connectionReport({ resources: [report] })]);
  return { ...listed!, state: report.verdict.state };
}

/** How many sections of a page with these resources are open, and which of the first five. */
function openSections(states: readonly ('fresh' | 'failed')[]): boolean[] {
  const resources = states.map((state, at_) => {
    const name = `list-${at_}`;
    const unpublished = state === 'fresh' ? [] : [failedRun(name, 0, { outcome: 'failed' })];
    return resourceReport(name, nightsFrom(state === 'fresh' ? 0 : 1), { at, unpublished });
  });
  const connections = [connectionReport({ resources })];
  const page = renderReport({ madeAt: at, maxAgeMs: DEFAULT_MAX_AGE_MS, connections });
  return [...page.matchAll(/<section><details( open)?>/g)].map(([, open]) => open !== undefined);
}

/** The page as a reader sees it. */
function textOf(page: string): string {
  return page.slice(page.indexOf('<body>')).replace(/<[^>]*>/g, '');
}

describe('the sections of a report', () => {
  it('are all open if there are fewer than five', () => {
    expect(openSections(['fresh', 'fresh', 'failed', 'fresh'])).toEqual([true, true, true, true]);
  });

  it('are open only where something needs attention if there are more, those first', () => {
    expect(openSections(['fresh', 'fresh', 'failed', 'fresh', 'fresh', 'failed'])).toEqual([
      ...[true, true, false, false, false, false],
    ]);
    expect(openSections(Array(5).fill('fresh'))).toEqual(Array(5).fill(false));
  });
});

describe('the state of a resource in a report', () => {
  it('is published if the last run was published in time', () => {
    expect(stateOf(0)).toMatchObject({ state: 'published', tone: 'ok', cause: null });
  });

  it('is failed since the first of the failed runs after the last published one', () => {
    const failed = [1, 2, 3, 9].map((ago) => failedRun('tasks', ago, { outcome: 'failed' }));
    expect(stateOf(4, failed)).toMatchObject({ state: 'failed', failures: 3, since: LAST - 3 * DAY });
    expect(stateOf(4, [failedRun('tasks', 0)])).toMatchObject({ state: 'refused', failures: 1 });
    expect(stateOf(null, failed)).toMatchObject({ state: 'failed', failures: 4 });
  });

  it('is stale if the checkpoint is too old, even without a failed run', () => {
    expect(stateOf(1)).toMatchObject({ state: 'stale', since: LAST - DAY - 300_000 });
    const progress = { state: 'running', tone: 'warn', cause: 'No recent run was published' };
    expect(stateOf(1, [running()])).toMatchObject(progress);
    expect(stateOf(1, [failedRun('tasks', 0, { outcome: 'cancelled' })]).state).toBe('stale');
  });

  it('is retrying, with the reason, while the attempts of a run fail', () => {
    const retrying = running({ retrying: 'the service answered 503' });
    expect(stateOf(1, [retrying])).toMatchObject({ state: 'retrying', cause: 'the service answered 503' });
  });

  it('is running, cancelled, never run or unreadable', () => {
    expect(stateOf(0, [running({ startedAt: LAST + 1 })])).toMatchObject({ state: 'running', tone: 'ok' });
    expect(stateOf(null, [running()])).toMatchObject({ state: 'running', tone: 'ok' });
    expect(stateOf(null).state).toBe('never-run');
    const cancelled = failedRun('tasks', 0, { runId: null, outcome: 'cancelled', startedAt: LAST + 1 });
    expect(stateOf(0, [cancelled]).state).toBe('cancelled');
    const { verdict } = resourceReport('tasks', [], { at, problem: 'no access' });
    expect(verdict).toMatchObject({ state: 'unreadable', cause: 'no access' });
  });

  it('needs attention for a gap, a warning or a schema change of the last run', () => {
    const gap = { from: '2026-08-01T00:00:00Z' as UtcSeconds, to: '2026-08-23T02:00:00Z' as UtcSeconds };
    for (const run of [{ gap }, { warnings: ['odd'] }, { warnings: ['new column "a" (string)'] }]) {
      const resources = [resourceReport('tasks', [pastRun(0, run)], { at })];
      const [listed] = listResources([connectionReport({ resources })]);
      expect(listed).toMatchObject({ tone: 'warn', report: { verdict: { state: 'published' } } });
      expect(renderReport(reportOf(connectionReport({ resources })))).toContain(
        '</b> published with warnings',
      );
    }
  });
});

describe('the time axis of a report', () => {
  const kinds = (newest: number, unpublished: UnpublishedRun[] = []): string =>
    timeline(resourceReport('tasks', nightsFrom(newest), { at, unpublished }), DEFAULT_MAX_AGE_MS)
      .map(({ kind }) => kind[0])
      .join('');

  it('shows runs without a published run, whether or not Temporal still knows the failed runs', () => {
    expect(kinds(0)).toBe('pppp');
    expect(
      kinds(
        5,
        [0, 1, 2, 3, 4].map((ago) => failedRun('tasks', ago)),
      ),
    ).toBe('ppppfffff');
    expect(kinds(5)).toBe('ppppmmmm');
    expect(kinds(5, [failedRun('tasks', 0)])).toBe('ppppmmmmf');
    expect(kinds(1, [running()])).toBe('pppp');
  });

  it('has at most 30 places, the newest ones', () => {
    expect(kinds(400)).toBe('m'.repeat(30));
    expect(kinds(40, [failedRun('tasks', 0)])).toBe(`${'m'.repeat(29)}f`);
  });
});

describe('the page of several connections', () => {
  const healthy = (connection: string): ConnectionReport =>
    connectionReport({ connection, resources: [resourceReport('tasks', nightsFrom(0), { at })] });
  const failing = connectionReport({
    connection: 'broken',
    resources: ['projects', 'tasks'].map((resource) =>
      resourceReport(resource, nightsFrom(5), {
        at,
        unpublished: [0, 1, 2, 3, 4].map((ago) => failedRun(resource, ago)),
      }),
    ),
  });
  const page = renderReport(reportOf(healthy('a'), healthy('b'), failing, healthy('c')));

  it('starts with a table that starts with the resources that need attention', () => {
    expect(page.indexOf('<table')).toBeLessThan(page.indexOf('<details'));
    const table = page.slice(page.indexOf('<table'), page.indexOf('</table>'));
    const names = [...table.matchAll(/<bdi class="dim">(\w+)<\/bdi> <bdi>(\w+)</g)].map(
      ([, a, b]) => `${a} ${b}`,
    );
    expect(names).toEqual(['broken projects', 'broken tasks', 'a tasks', 'b tasks', 'c tasks']);
    expect(textOf(page)).toContain('4 connections');
    expect(textOf(page)).toMatch(/2 refused\s*3 published/);
  });

  it('gives the cause of several resources once, with the number and the first of the failed runs', () => {
    const cause = 'These 2 resources. 5 failed runs since 2026-11-17 02:00 UTC: the service answered 403';
    expect(textOf(page).split(cause)).toHaveLength(2);
    expect(textOf(page)).toMatch(/projects.*5 d ago/);
    expect(page.match(/aria-label="4 published, 5 failed, changes in a run: at most 0"/g)).toHaveLength(2);
  });

  it('lists failed runs with the causes among the runs of a resource', () => {
    const rows = page.match(/<tr class="bad">.*?<\/tr>/g)!;
    expect(rows).toHaveLength(10);
    expect(textOf(`<body>${rows[0]}`)).toBe(
      '2026-11-21 02:00refusedthe service answered 403: the plan has no API access',
    );
  });

  it('says what is missing if Temporal or a worker did not answer', () => {
    const without = (coverage: ConnectionReport['coverage']) => ({ ...healthy('b'), coverage });
    const noTemporal = textOf(renderReport(reportOf(healthy('a'), without('no-temporal'))));
    expect(noTemporal).toContain('Temporal did not respond, so failed and running runs are missing.');
    expect(noTemporal).toContain('Connections: b.');
    expect(textOf(renderReport(reportOf(without('no-worker'))))).toContain('No worker answered.');
    expect(textOf(page)).not.toMatch(/Temporal did not answer|No worker|published runs/);
  });

  it('escapes connections, causes and commands', () => {
    const unpublished = ['failed', 'running'].map((outcome) =>
      failedRun('tasks', 0, { outcome: outcome as 'failed', error: { message: HOSTILE }, retrying: null }),
    );
    const resources = [
      resourceReport('tasks', nightsFrom(1), { at, unpublished }),
      resourceReport('other', nightsFrom(1), {
        at,
        unpublished: [running({ resource: 'other', retrying: HOSTILE })],
      }),
      resourceReport('none', [], { at }),
    ];
    const hostile = renderReport(
      reportOf(
        healthy('a'),
        connectionReport({ connection: HOSTILE, lake: HOSTILE, resources, coverage: 'no-worker' }),
      ),
    );
    expect(hostile).not.toMatch(/<script|<img/i);
    expect(hostile).not.toContain('\u202e');
    expect(hostile.split(escapeHtml(HOSTILE)).length).toBeGreaterThan(8);
  });

  it('stays below three megabytes with 300 connections, with all resources in the table', () => {
    const names = ['projects', 'tasks', 'time-entries', 'calendar-entries'];
    const changed = (ago: number) => ({ inserted: 1_000 + ((ago * 7919) % 900), updated: (ago * 31) % 70 });
    const resources = names.map((name) => resourceReport(name, quietNights(1_000_000, changed), { at }));
    const connections = Array.from({ length: 300 }, (_, i) =>
      connectionReport({ connection: `customer-${i}`, resources }),
    );
    const large = renderReport(reportOf(...connections));
    expect(large.length).toBeLessThan(3_000_000);
    expect(large.match(/<th role="rowheader"/g)).toHaveLength(1_200);
    expect(large.match(/<section>/g)).toHaveLength(50);
    expect(large).toContain('Details of the first 50 resources.');
  });
});
