import { describe, expect, it } from 'vitest';
import { resourceNotes, stateText, statusJson, statusLines } from '../../../src/cli/inspect/status-lines.js';
import type { RunId } from '../../../src/core/brands.js';
import { resourceStatus } from './support.js';

const hour = 3_600_000;

describe('the notes below the table', () => {
  const now = Date.parse('2026-11-22T05:00:00Z');
  const run = (hours: number) => `20261122T0${hours}0000Z-1a2b3c4d` as RunId;
  const status = resourceStatus({ rows: 3 });
  const active = {
    runId: run(2),
    startedAt: now - 3 * hour,
    phase: 'read',
    mode: 'full',
    pages: 1,
    rows: 1000,
    resumed: null,
    waitingUntil: null,
    storeLimit: null,
    unpause: null,
  } as const;
  const retrying = {
    since: now - 2 * hour,
    error: 'connect ECONNREFUSED',
    attempt: 14,
    nextAttemptAt: now + 40_000,
  };

  it('say since when, why and how often a run retries, and when it tries again', () => {
    const shown = { ...status, state: 'retrying', active: { ...active, retrying } } as const;
    expect(stateText(shown, now)).toBe('retrying for 2 h');
    expect(resourceNotes(shown, now)).toEqual([
      '  tasks: retrying since 2026-11-22T03:00:00Z; attempt 14 failed, next attempt in 40 s',
      '    connect ECONNREFUSED',
    ]);
    const late = { ...shown, active: { ...active, retrying: { ...retrying, nextAttemptAt: now - 1 } } };
    expect(resourceNotes(late, now)[0]).toContain('the next one waits for a worker');
  });

  it('name the resource of an error once', () => {
    for (const message of ['tasks: the list ends nowhere', 'the list ends nowhere']) {
      const shown = { ...status, state: 'failed', error: { type: 'Failed', message } } as const;
      expect(resourceNotes(shown, now)).toEqual(['  tasks: the list ends nowhere']);
    }
  });

  it('name the runs of a rollback and how to undo it', () => {
    const shown = { ...status, state: 'rolled-back', rolledBack: { from: run(3), to: run(1) } } as const;
    expect(resourceNotes(shown, now)).toEqual([
      `  tasks: rolled back from run ${run(3)} to run ${run(1)}, until a complete full read is published`,
      `    To undo: \`worktrack rollback --resource tasks --to ${run(3)}\``,
    ]);
  });

  it('name the scheduled run that is missing', () => {
    const shown = { ...status, state: 'behind-schedule', behindSince: '2026-11-22T02:00:00.000Z' } as const;
    expect(stateText(shown, now)).toBe('behind schedule');
    expect(resourceNotes(shown, now)[0]).toContain('the run of 2026-11-22T02:00:00Z is not published');
  });
});

describe('scheduled starts without a published run', () => {
  it('are counted below the table, and not named if there are none', () => {
    const nights = (unpublished: number) => ({ nights: { scheduled: 7, unpublished } });
    const resources = [
      resourceStatus({ name: 'tasks', ...nights(2) }),
      resourceStatus({ name: 'projects', ...nights(2) }),
      resourceStatus({ name: 'clients', ...nights(0) }),
    ];
    const lines = statusLines([{ name: 'acme', resources, schedule: null }], 0);
    expect(lines.filter((line) => line.includes('scheduled starts'))).toEqual([
      '  scheduled starts of the last week without a published run: 2 of 7 (tasks, projects)',
    ]);
  });
});

describe('what the check of the organization rests on', () => {
  const organization = (basis: 'first' | 'same-key' | 'records' | 'adopted') => ({ keys: ['0a'], basis });
  const resources = [
    resourceStatus({ name: 'tasks', organization: organization('same-key') }),
    resourceStatus({ name: 'projects', organization: organization('same-key') }),
    resourceStatus({ name: 'clients', organization: organization('records') }),
    resourceStatus({ name: 'members', organization: organization('first') }),
    resourceStatus({ name: 'entries', organization: organization('adopted') }),
    resourceStatus({ name: 'old', organization: null }),
  ];
  const connection = { name: 'acme', resources, schedule: null };

  it('is one line of the status', () => {
    expect(statusLines([connection], 0)).toContain(
      '  organization: tasks, projects by the same API key; clients by equal records, with a new API key; ' +
        'members not compared, because no earlier API key is known; entries by --adopt-organization',
    );
    const unknown = { ...connection, resources: [resourceStatus()] };
    expect(statusLines([unknown], 0).join()).not.toContain('organization');
  });

  it('is in its JSON, as in the manifest', () => {
    const [shown] = statusJson([connection]).connections as { resources: object[] }[];
    expect(shown!.resources[2]).toMatchObject({ organization: { keys: ['0a'], basis: 'records' } });
    expect(shown!.resources[5]).toMatchObject({ organization: null });
  });
});
