import { describe, expect, it } from 'vitest';
import { createdLines } from '../../../src/cli/demo/demo-command.js';
import { statusJson, statusLines } from '../../../src/cli/inspect/status-lines.js';
import {
  countsText,
  detailedLines,
  diagnosticLines,
  publishedLines,
  whereLines,
} from '../../../src/cli/runs/result-lines.js';
import { jsonLine, textLine } from '../../../src/cli/shared/log-line.js';
import type { RunCounts } from '../../../src/core/contract/index.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { schemaChanges } from '../../../src/lake/rows/data-columns.js';
import type { NextScheduled } from '../../../src/temporal/schedule/schedule.js';
import type { ResourceStatus } from '../../../src/temporal/status/status.js';
import { failed, report } from './support.js';

const COUNTS = {
  fetched: 3,
  inserted: 1200,
  updated: 1,
  unchanged: 0,
  deleted: 0,
  rows: 10,
  restated: 0,
} as RunCounts;

describe('the report of an export', () => {
  const result = { outcome: 'published', runs: [report({ counts: COUNTS })] } as const;

  it('gives a line for each resource, and says where the data are and how to query them', () => {
    expect(publishedLines(result)).toEqual(['tasks  published  10 rows  1,200 inserted, 1 updated']);
    expect(whereLines(result, 's3://lake/worktrack')).toEqual([
      'Data: s3://lake/worktrack/. Query it: `worktrack query "SELECT count(*) FROM tasks"`',
    ]);
    expect(whereLines(result, 'file:///data/lake')).toEqual([
      'Data: file:///data/lake/. Query it: `worktrack query "SELECT count(*) FROM tasks"`',
    ]);
    const runs = [failed('Refused', 'the key is not valid')];
    expect(whereLines({ runs }, 's3://lake/worktrack')).toEqual([]);
  });

  it('the report of an export with --details gives each resource with the full URL of its snapshot folder', () => {
    const lines = detailedLines(result, 's3://lake/worktrack', Number.POSITIVE_INFINITY);
    expect(lines).toEqual([
      'tasks  published  10 rows  1,200 inserted, 1 updated',
      '  s3://lake/worktrack/tasks/snapshots/dt=2026-11-21/run=20261121T020000Z-1a2b3c4d/',
    ]);
  });

  it('says how many rows new settings have restated, instead of no changes', () => {
    const counts = { ...COUNTS, inserted: 0, updated: 0, restated: 51 };
    expect(countsText(report({ counts }))).toBe('restated 51 rows');
    expect(countsText(report({ counts: { ...counts, unchanged: 49 } }))).toBe(
      '49 unchanged, restated 51 rows',
    );
  });

  it('reports no changes if there are none', () => {
    expect(countsText(report({ counts: { ...COUNTS, inserted: 0, updated: 0 } }))).toBe('no changes');
  });

  it('names the resource of every warning and failure', () => {
    const runs = [report({ warnings: ['a gap'] }), failed('Refused', 'the key is not valid')];
    expect(diagnosticLines({ outcome: 'refused', runs })).toEqual([
      'warning: tasks: a gap',
      'refused: tasks: the key is not valid',
    ]);
  });

  it('prints an error that several resources share once, and no name twice', () => {
    const message = 'projects: the key is not valid';
    const shared = [{ ...failed('Refused', message), resource: 'projects' }, failed('Refused', message)];
    expect(diagnosticLines({ outcome: 'refused', runs: shared })).toEqual([
      'refused: projects, tasks: projects: the key is not valid',
    ]);
    expect(diagnosticLines({ outcome: 'refused', runs: shared.slice(0, 1) })).toEqual([
      `refused: ${message}`,
    ]);
  });
});

describe('status', () => {
  const tasks: ResourceStatus = {
    name: 'tasks',
    silence: null,
    checkpoint: { updatedSince: '2026-11-21T01:55:00Z' as never },
    rows: 1234,
    lastRun: { runId: 'r1' as never, outcome: 'published', publishedAt: '2026-11-21T02:00:00.000Z' },
    warnings: ['a gap'],
    deletes: null,
    organization: null,
    checks: null,
    missedByIncrements: null,
    snapshotAt: '2026-11-21T02:00:00.000Z',
    dataAsOf: '2026-11-21T01:58:00.000Z',
    ...{ state: 'published', fresh: true, isProblem: false, cause: null, since: null },
    rolledBack: null,
    behindSince: null,
    nights: null,
    error: null,
    active: null,
    pageSize: null,
    source: 'latest.json',
  };
  const never: ResourceStatus = {
    ...tasks,
    name: 'new',
    state: 'never-run',
    fresh: false,
    checkpoint: null,
    rows: null,
    lastRun: null,
    snapshotAt: null,
    dataAsOf: null,
    warnings: [],
    source: 'mirror',
  };

  it('status as JSON has the keys of the contract and no others', () => {
    const connections = [{ name: 'acme', resources: [tasks], schedule: { state: 'none' } }] as const;
    expect(statusJson(connections)).toEqual({
      fresh: true,
      connections: [
        {
          name: 'acme',
          fresh: true,
          resources: [
            {
              name: 'tasks',
              checkpoint: { updatedSince: '2026-11-21T01:55:00Z' },
              dataAsOf: '2026-11-21T01:58:00.000Z',
              rows: 1234,
              lastRun: { runId: 'r1', outcome: 'published', publishedAt: '2026-11-21T02:00:00.000Z' },
              warnings: ['a gap'],
              deletes: null,
              organization: null,
              checks: null,
              missedByIncrements: null,
              pageSize: null,
              state: 'published',
              fresh: true,
              error: null,
              active: null,
              rolledBack: null,
              behindSince: null,
              nights: null,
              silence: null,
              source: 'latest.json',
            },
          ],
          schedule: { state: 'none', next: null, last: null, note: null },
          audit: null,
          confirmations: [],
          worker: null,
          waiting: [],
          waitingCount: 0,
          differences: [],
        },
      ],
    });
    const stale = { ...tasks, state: 'stale', fresh: false } as const;
    expect(statusJson([{ ...connections[0], resources: [tasks, stale] }])).toMatchObject({ fresh: false });
  });

  it('status as a table shows ages and warnings, and the mirrors that did not answer', () => {
    const now = Date.parse('2026-11-21T05:00:00Z');
    const schedule = { state: 'due', at: new Date('2026-11-22T02:00:00Z') } as const;
    const text = statusLines([{ name: 'acme', resources: [tasks, never], schedule }], now).join('\n');
    expect(text).toContain('next scheduled run: 2026-11-22T02:00:00Z, in 21 h');
    expect(text).toMatch(/tasks +1,234 +3 h ago +published 3 h ago/);
    expect(text).toMatch(/new +- +- +never run/);
    expect(text).not.toContain('mirrors of new');
    expect(text).toContain('warning: tasks: a gap');
    expect(text).toContain('The mirror of tasks does not answer. The data comes from latest.json.');
    // Temporal does not answer, and another line says so.
    const offline = statusLines([{ name: 'acme', resources: [tasks, never], schedule: null }], now).join(
      '\n',
    );
    expect(offline).not.toContain('not answer');
  });
});

describe('the status of one connection', () => {
  const base: ResourceStatus = {
    name: 'tasks',
    silence: null,
    checkpoint: null,
    rows: 3,
    lastRun: { runId: null, outcome: 'failed', publishedAt: null },
    deletes: null,
    organization: null,
    checks: null,
    missedByIncrements: null,
    snapshotAt: '2026-11-21T02:00:00.000Z',
    dataAsOf: '2026-11-21T01:58:00.000Z',
    warnings: [],
    ...{ state: 'failed', fresh: false, isProblem: true, cause: 'it broke', since: null },
    rolledBack: null,
    behindSince: null,
    nights: null,
    error: { type: 'Transient', message: 'it broke' },
    active: null,
    pageSize: null,
    source: 'mirror',
  };
  const now = Date.parse('2026-11-21T05:00:00Z');
  const text = (status: Partial<ResourceStatus>, schedule: NextScheduled | null): string =>
    statusLines([{ name: 'acme', resources: [{ ...base, ...status }], schedule }], now).join('\n');

  it('shows that the last run failed, and why', () => {
    expect(text({}, null)).toMatch(/tasks +3 +3 h ago +failed\n {2}tasks: it broke/);
  });

  it('has no schema change for a whole number among decimals, and one for a decimal among whole numbers', () => {
    const column = (types: number) => [{ name: 'hours', types, values: noFacts() }];
    expect(schemaChanges(column(8), column(12))).toEqual([]);
    expect(schemaChanges(column(4), column(12))).toEqual([
      { name: 'hours', had: ['integer'], added: ['number'] },
    ]);
  });

  it('shows the next run, or what to do if there is none', () => {
    expect(text({}, { state: 'paused', note: 'holidays' })).toContain(
      'paused (holidays); resume it with `worktrack schedule resume`',
    );
    expect(text({}, { state: 'none' })).toContain('no schedule; create one with `worktrack schedule apply`');
    expect(text({}, null)).not.toContain('schedule');
    const of = (name: string) => ({ name, resources: [base], schedule: { state: 'none' as const } });
    expect(statusLines([of('a'), of('b')], Date.now()).join('\n')).toContain(
      '`worktrack schedule apply --connection b`',
    );
  });
});

describe('the files that the demo lists', () => {
  it('are quoted for the shell if their folder has spaces', () => {
    expect(createdLines('my files').join('\n')).toContain("'my files/hours.sql'");
    expect(createdLines('.worktrack/demo').join('\n')).toContain(' .worktrack/demo/hours.sql ');
  });
});

describe('a line of the log', () => {
  const entry = {
    level: 'WARN' as const,
    message: 'slow',
    timestampNanos: 1_795_226_400_000_000_000n,
    meta: { resource: 'tasks', attempt: 2n, error: new Error('why'), note: 'two words' },
  };

  it('a line of the log as JSON is one object with time, level, message and fields', () => {
    const line = JSON.parse(jsonLine(entry));
    expect(line).toMatchObject({ level: 'warn', message: 'slow', resource: 'tasks', attempt: '2' });
    expect(line.time).toBe(new Date(1_795_226_400_000).toISOString());
    expect(line.error).toContain('why');
  });

  it('a line of the log as text quotes values with spaces', () => {
    expect(textLine(entry)).toContain('WARN  slow resource=tasks attempt=2');
    expect(textLine(entry)).toContain('note="two words"');
  });
});
