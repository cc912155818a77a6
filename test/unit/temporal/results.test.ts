import { ApplicationFailure, WorkflowFailedError } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import type { ExportResult, RunReport } from '../../../src/core/contract/index.js';
import type { TemporalClient } from '../../../src/temporal/client/connect.js';
import { checkBackfill, startExport, startPurge, startRollback } from '../../../src/temporal/client/start.js';
import { writeBackResultOf } from '../../../src/temporal/follow/follow-write-back.js';
import { RunFailedError, requirePublished } from '../../../src/temporal/follow/require-published.js';

const RUN = '20261121T020000Z-1a2b3c4d';
const COUNTS = {
  restated: 0,
  ...{ fetched: 1, duplicates: 0, unchanged: 0, inserted: 1 },
  ...{ updated: 0, deleted: 0, retained: 0, rows: 1 },
};

describe('the arguments of the start functions', () => {
  const connection = 'acme';
  const temporal = { client: { workflow: { start: async () => {} } } } as unknown as TemporalClient;

  it('reject a name that the manifest cannot show as who accepted checks', async () => {
    const accept = (acceptChecks: string) => startExport(temporal, { connection, acceptChecks });
    for (const name of ['', 'two\nlines', 'x'.repeat(201)])
      await expect(accept(name)).rejects.toThrow(/acceptChecks/);
    await expect(accept('Zoë Müller@büro')).resolves.toMatch(/^worktrack\/acme\/export\//);
  });

  it('are plain strings: dates and times with a zone become whole seconds in UTC', async () => {
    const sinceOf = (since: string) => checkBackfill({ connection, since }).since;
    expect(sinceOf('2020-08-01')).toBe('2020-08-01T00:00:00Z');
    expect(sinceOf('2020-08-01T12:00:00.5+02:00')).toBe('2020-08-01T10:00:00Z');
    const rollback = { connection, resource: 'tasks', to: RUN };
    await expect(startRollback(temporal, rollback)).resolves.toMatch(/^worktrack\/acme\/rollback\//);
  });

  it.each([
    [{ since: 'yesterday' }, 'since "yesterday" is not a time'],
    [{ since: '2026-02-30' }, 'since "2026-02-30" is not a time'],
    [{ since: '2999-01-01' }, 'since 2999-01-01T00:00:00Z is in the future'],
    [{ since: '2020-08-01', reconcile: true }, 'since and reconcile exclude each other'],
  ])('the arguments of a backfill are checked: %j', (input, message) => {
    expect(() => checkBackfill({ connection, ...input })).toThrow(message);
  });

  it('the arguments of a rollback and a purge are checked, and a message never repeats a key', async () => {
    const resource = 'tasks';
    await expect(startRollback(temporal, { connection, resource, to: '../other' })).rejects.toThrow(
      'to "../other" is not a run id',
    );
    await expect(
      startPurge(temporal, { connection, resource, key: ['ada@example.com', ''] }),
    ).rejects.toThrow(/^key has no value\.$/);
  });
});

describe('writeBackResultOf', () => {
  it('gives a batch that ended without a result an error of type Failed, whatever the cause', () => {
    const cause = ApplicationFailure.create({ type: 'Refused', message: 'the key was rejected' });
    const failed = new WorkflowFailedError('failed', cause, undefined);
    const { outcome, error } = writeBackResultOf(failed, 'november', null);
    expect({ outcome, error }).toEqual({
      outcome: 'failed',
      error: { type: 'Failed', message: 'the key was rejected' },
    });
  });
});

describe('requirePublished', () => {
  const published: RunReport = {
    ...{ resource: 'tasks', outcome: 'published', runId: RUN as RunId, rows: 1, counts: COUNTS },
    ...{ snapshot: 'tasks/x' as NonNullable<RunReport['snapshot']>, warnings: [], error: null },
  };

  it('returns reports without nulls', () => {
    const [run] = requirePublished({ outcome: 'published', runs: [published] });
    expect(run?.rows).toBe(1);
  });

  it('throws an error that names each resource, with the reports', () => {
    const error = { type: 'Refused', message: 'the key has no grant', scope: 'grant' } as const;
    const refused: RunReport = { ...published, resource: 'members', outcome: 'refused', rows: null, error };
    const result: ExportResult = { outcome: 'refused', runs: [published, refused] };
    try {
      requirePublished(result);
      expect.unreachable();
    } catch (caught) {
      expect(caught).toBeInstanceOf(RunFailedError);
      expect(caught).toMatchObject({ code: 'RUN_REFUSED', exitCode: 3, failed: [refused], result });
      expect(String(caught)).toContain('members: refused. the key has no grant');
    }
  });
});
