import { afterEach, describe, expect, it } from 'vitest';
import { reconcile } from '../../support/mirror-requests.js';
import { listedIds } from '../../support/mirrored.js';
import { drawn } from '../../support/seeds.js';
import { shortenBackOffs } from '../../support/short-waits.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

shortenBackOffs();

describe('a deleted record that answers by its id', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  async function started(yaml = ''): Promise<string> {
    stack = await startStack({
      simulator: { seed: 3, awkward: false, counts: { projects: 8, tasks: 5 } },
      resources: '[projects, tasks]',
      yaml,
    });
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    // The first known project that the organization check requests.
    const [gone] = listedIds(stack, 'projects');
    stack.simulator.admin.remove('projects', [gone!]);
    return gone!;
  }

  const answer = (id: string, status: number, more: { retryAfter?: number } = {}) =>
    stack.simulator.admin.faults.add({
      match: { method: 'GET', path: `projects/${id}` },
      fault: { kind: 'status', status, ...more },
    });

  async function marked(): Promise<(string | null)[]> {
    const { rows } = await readSnapshot(stack.store, 'projects');
    return rows.filter((row) => row._deleted_at !== null).map((row) => row.id!);
  }

  it('410 counts as deleted, like 404', async () => {
    const gone = await started();
    answer(gone, 410);
    expect(await stack.export()).toMatchObject({ outcome: 'published' });
    expect(await reconcile(stack, 'projects')).toMatchObject({ outcome: 'published', warnings: [] });
    expect(await marked()).toEqual([gone]);
  });

  // `unit/mirror/endpoints` has the rules.
  it.each(drawn([400, 403, 409, 422, 451, 500], 2))(
    '%i does not stop the run, and the deletion counts as unconfirmed',
    async (status) => {
      const gone = await started();
      answer(gone, status);
      expect(await stack.export()).toMatchObject({ outcome: 'published' });
      const report = await reconcile(stack, 'projects');
      expect(report).toMatchObject({ outcome: 'published', counts: { deleted: 0 } });
      expect(report.warnings).toEqual([expect.stringContaining('deletes: 1 record no longer listed')]);
      expect(report.warnings.join()).not.toContain(gone);
      expect(await marked()).toEqual([]);
    },
  );

  it('401 ends the run, because the API key is rejected', async () => {
    const gone = await started();
    answer(gone, 401);
    expect(await stack.export()).toMatchObject({ outcome: 'refused' });
  });

  it('429 with a wait of hours ends the check within giveUpAfter, and the run continues without it', async () => {
    const gone = await started('    retries: { giveUpAfter: 30s }\n');
    // The earlier organization check finds its project.
    stack.simulator.admin.beforeAnswer({ resource: 'projects', path: 'updatedSince' }, () => {
      answer(gone, 429, { retryAfter: 3600 });
    });
    const report = await reconcile(stack, 'projects');
    expect(report).toMatchObject({ outcome: 'published', counts: { deleted: 0 } });
    expect(report.warnings).toEqual([expect.stringContaining('deletes: 1 record no longer listed')]);
  });

  it('503 for every project lets the run continue without the organization check, with a warning', async () => {
    await started();
    const { snapshot } = await readPointer(stack.store, 'tasks');
    stack.simulator.admin.faults.add({
      match: { method: 'GET', path: 'projects/' },
      fault: { kind: 'status', status: 503 },
    });
    const result = await stack.export({ resources: ['tasks'] });
    expect(result).toMatchObject({ outcome: 'published' });
    expect(result.runs[0]!.warnings).toEqual([expect.stringContaining('organization check: skipped')]);
    expect((await readPointer(stack.store, 'tasks')).snapshot).not.toBe(snapshot);
  });
});
