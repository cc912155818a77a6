import type { RunId, UtcSeconds } from '../../../src/core/brands.js';
import type { RunCounts } from '../../../src/core/contract/index.js';
import type { Manifest } from '../../../src/lake/published/manifest.js';
import { type Report, resourceReport, withoutRuns } from '../../../src/report/index.js';
import { CSV } from '../lake/published.js';

const DAY = 24 * 60 * 60_000;
const LAST = Date.parse('2026-11-21T02:00:00Z');

export const HOSTILE =
  '</script><script>alert(1)</script><img src=x onerror=alert(2)>"\'&\u202egnp.exe\u0000';

export function counts(some: Partial<RunCounts>): RunCounts {
  const none = { fetched: 0, duplicates: 0, unchanged: 0, inserted: 0, updated: 0, deleted: 0 };
  return { ...none, retained: 0, rows: 0, ...some };
}

/** A run some nights ago. */
export function pastRun(ago: number, some: Partial<Manifest> = {}): Manifest {
  const at = LAST - ago * DAY;
  return {
    runId: runId(ago),
    previousRunId: runId(ago + 1),
    mode: 'increment',
    updatedSince: '2026-11-20T01:55:00Z' as UtcSeconds,
    pages: 3,
    checkpoint: { updatedSince: `${new Date(at - 300_000).toISOString().slice(0, 19)}Z` as UtcSeconds },
    startedAt: new Date(at).toISOString(),
    publishedAt: new Date(at + 20_000).toISOString(),
    fingerprint: '0123456789abcdef',
    columns: [{ name: 'id', types: 16 }],
    key: ['id'],
    csv: CSV,
    selection: { include: null, exclude: [], mask: {} },
    counts: counts({ rows: 10, unchanged: 10, fetched: 10 }),
    parts: [],
    warnings: [],
    gap: null,
    ...some,
  };
}

export function runId(ago: number): RunId {
  const time = new Date(LAST - ago * DAY).toISOString().replace(/[-:]|\.\d+/g, '');
  return `${time}-0000${String(ago).padStart(4, '0')}` as RunId;
}

/** Thirty nights of a resource that grows. */
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
        { name: 'id', types: 16 },
        { name: 'billable', types: ago < 3 ? 6 : 2 },
        ...(ago < 12 ? [{ name: 'costCentre', types: 16 }] : []),
      ],
    });
  });
}

/** A report with everything in it: much, nothing, trouble, and names that mean harm. */
export function sampleReport(): Report {
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
  return {
    connection: 'acme',
    lake: 's3://company-lake/worktrack',
    madeAt: LAST + 60_000,
    resources: [
      resourceReport('time-entries', warned),
      resourceReport('projects', nights(420)),
      resourceReport(HOSTILE, [
        {
          ...hostile!,
          columns: [...hostile!.columns, { name: HOSTILE, types: 16 }],
          warnings: [`new column "${HOSTILE}" (string)`, HOSTILE, 'x'.repeat(400)],
        },
      ]),
      withoutRuns('members', null),
      withoutRuns('tasks', 'tasks/latest.json cannot be read: it is not the pointer that a run writes'),
    ],
  };
}
