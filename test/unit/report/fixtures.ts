import type { RunId, UtcSeconds } from '../../../src/core/brands.js';
import type { RunCounts } from '../../../src/core/contract/index.js';
import { DEFAULT_MAX_AGE_MS } from '../../../src/core/data-age.js';
import { noFacts } from '../../../src/core/value-facts.js';
import type { Manifest } from '../../../src/lake/documents/manifest.js';
import { shapeOf } from '../../../src/lake/rows/shapes.js';
import {
  type ConnectionReport,
  type Report,
  resourceReport,
  type UnpublishedRun,
} from '../../../src/report/index.js';
import { WRITER } from '../../support/writer.js';
import { CSV } from '../lake/published.js';

export const DAY = 24 * 60 * 60_000;
export const LAST = Date.parse('2026-11-21T02:00:00Z');
/** Four hours after the last run. */
export const MADE_AT = LAST + 4 * 60 * 60_000;

export const HOSTILE =
  '</script><script>alert(1)</script><img src=x onerror=alert(2)>"\'&\u202egnp.exe\u0000';

export function counts(some: Partial<RunCounts>): RunCounts {
  const none = { fetched: 0, duplicates: 0, unchanged: 0, inserted: 0, updated: 0, deleted: 0 };
  return { ...none, retained: 0, rows: 0, restated: 0, ...some };
}

/** A run some runs ago. */
export function pastRun(ago: number, some: Partial<Manifest> = {}): Manifest {
  const at = LAST - ago * DAY;
  return {
    ...{ connection: 'acme', baseUrl: 'https://tracker.example.com', resource: 'tasks', tree: 'changes' },
    runId: runId(ago),
    writer: WRITER,
    previousRunId: runId(ago + 1),
    previousRuns: [{ runId: runId(ago + 1), publishedAt: at - DAY + 20_000 }],
    leftBehind: [],
    mode: 'increment',
    rolledBack: null,
    updatedSince: '2026-11-20T01:55:00Z' as UtcSeconds,
    pages: 3,
    checkpoint: { updatedSince: `${new Date(at - 300_000).toISOString().slice(0, 19)}Z` as UtcSeconds },
    startedAt: new Date(at).toISOString(),
    publishedAt: new Date(at + 20_000).toISOString(),
    fingerprint: '0123456789abcdef',
    columns: [{ name: 'id', types: 16, values: noFacts() }],
    key: ['id'],
    csv: CSV,
    selection: { include: null, exclude: [], mask: {} },
    list: { path: 'tasks' },
    shapes: [shapeOf({ key: ['id'], csv: CSV, columns: { include: null, exclude: [], mask: {} } }, null)],
    counts: counts({ rows: 10, unchanged: 10, fetched: 10 }),
    parts: [],
    warnings: [],
    gap: null,
    fullRead: null,
    readUpTo: { workflow: new Date(at).toISOString(), service: null },
    deletes: { basis: 'two-readings', windowField: null, reason: null, notListed: null },
    changesLineBreaks: 0,
    ...some,
  };
}

export function runId(ago: number): RunId {
  const time = new Date(LAST - ago * DAY).toISOString().replace(/[-:]|\.\d+/g, '');
  return `${time}-0000${String(ago).padStart(4, '0')}` as RunId;
}

/** Thirty runs of a resource that grows. */
function nights(rows: number): Manifest[] {
  return Array.from({ length: 30 }, (_, ago) => {
    const first = ago === 29;
    const inserted = first ? rows : 200 + ((ago * 7919) % 900);
    const updated = first ? 0 : (ago * 104729) % 1500;
    return pastRun(ago, {
      ...(first ? { previousRunId: null, mode: 'full', updatedSince: null } : {}),
      counts: counts({
        fetched: inserted + updated + 40,
        unchanged: first ? 0 : 40,
        inserted,
        updated,
        deleted: ago % 5 === 0 && !first ? 120 : 0,
        rows: rows + (29 - ago) * 650,
      }),
      publishedAt: new Date(LAST - ago * DAY + 20_000 + ((ago * 31) % 17) * 9_000).toISOString(),
      columns: [
        { name: 'id', types: 16, values: noFacts() },
        { name: 'billable', types: ago < 3 ? 6 : 2, values: noFacts() },
        ...(ago < 12 ? [{ name: 'costCentre', types: 16, values: noFacts() }] : []),
      ],
    });
  });
}

/** A run some runs ago that did not publish. */
export function failedRun(resource: string, ago: number, some: Partial<UnpublishedRun> = {}): UnpublishedRun {
  const error = { message: 'the service answered 403: the plan has no API access' };
  const at = LAST - ago * DAY;
  return { resource, runId: runId(ago), outcome: 'refused', startedAt: at, error, retrying: null, ...some };
}

export function connectionReport(some: Partial<ConnectionReport> = {}): ConnectionReport {
  const lake = 's3://company-lake/worktrack';
  return { connection: 'acme', lake, coverage: 'complete', resources: [], ...some };
}

export function reportOf(...connections: readonly ConnectionReport[]): Report {
  return { madeAt: MADE_AT, maxAgeMs: DEFAULT_MAX_AGE_MS, connections };
}

/** The manifests of some runs, newest first, with the changes that `changed` gives for each. */
export function quietNights(
  rows: number,
  changed: (ago: number) => Partial<RunCounts> = () => ({}),
  agos: readonly number[] = Array.from({ length: 30 }, (_, ago) => ago),
): Manifest[] {
  return agos.map((ago, i) =>
    pastRun(ago, {
      counts: counts({ rows, unchanged: 40, fetched: 40, ...changed(ago) }),
      ...(i + 1 < agos.length ? { previousRunId: runId(agos[i + 1]!) } : {}),
    }),
  );
}

/** A report with everything in it: much, nothing, trouble, and names that mean harm. */
export function sampleReport(): Report {
  const at = MADE_AT;
  const [hostile] = nights(40_000_000_000);
  const warned = nights(1_840_000);
  warned[0] = {
    ...warned[0]!,
    gap: { from: '2026-08-01T00:00:00Z' as UtcSeconds, to: '2026-08-23T02:00:00Z' as UtcSeconds },
    warnings: [
      'gap: the service no longer lists changes from 2026-01-01T00:00:00Z to 2026-01-02T00:00:00Z',
      '3 records without a key written to _quarantine/',
    ],
  };
  const unpublished = [
    ...[0, 1, 2, 3, 4].map((ago) => failedRun('calendar-entries', ago)),
    failedRun(HOSTILE, 0, { outcome: 'failed', error: { message: HOSTILE } }),
  ];
  const failing = quietNights(
    88_412,
    (ago) => ({ inserted: 20 + ((ago * 37) % 90), updated: (ago * 13) % 30 }),
    Array.from({ length: 25 }, (_, i) => i + 5),
  );
  return reportOf(
    connectionReport({
      resources: [
        resourceReport('time-entries', warned, { at }),
        resourceReport('projects', nights(420), { at }),
        resourceReport(
          HOSTILE,
          [
            {
              ...pastRun(1),
              counts: hostile!.counts,
              columns: [...hostile!.columns, { name: HOSTILE, types: 16, values: noFacts() }],
              warnings: [`new column "${HOSTILE}" (string)`, HOSTILE, 'x'.repeat(400)],
            },
          ],
          { at, unpublished },
        ),
        resourceReport('members', [], { at }),
        resourceReport('tasks', [], {
          at,
          problem: 'tasks/latest.json cannot be read: it is not the pointer that a run writes',
        }),
        resourceReport('calendar-entries', failing, { at, unpublished }),
        resourceReport(
          'tags',
          quietNights(20_003, (ago) => (ago === 0 ? {} : { rows: 20_000 })),
          { at },
        ),
        resourceReport('teams', quietNights(37), { at }),
        resourceReport(
          'rates',
          quietNights(1_204, (ago) => ({ updated: ago % 7 === 0 ? 4 : 0 })),
          { at },
        ),
        resourceReport(
          'absences',
          quietNights(5_120, () => ({ updated: 3 }), [4, 5, 6, 7, 8]),
          { at },
        ),
      ],
    }),
  );
}
