import { expect, it } from 'vitest';
import type { Manifest } from '../../../src/lake/documents/manifest.js';
import type { ListedObject, ObjectStore } from '../../../src/lake/store/index.js';
import { findGarbage } from '../../../src/run/sweep/find-garbage.js';

const RUN = '20261121T020000Z-aaaaaaaa';

it('sweeps a resource with more objects than a call may have arguments', async () => {
  const store = {
    async *list(prefix: string) {
      if (prefix.startsWith('_')) return;
      for (let n = 0; n < 200_000; n++) {
        const key = `tasks/changes/dt=2026-11-21/run=${RUN}/part-${String(n).padStart(6, '0')}-aaaaaaaa.csv.gz`;
        yield { key, bytes: 1, modifiedAt: 5, etag: '' } as unknown as ListedObject;
      }
    },
  } as unknown as ObjectStore;
  const head = {
    ...{ runId: RUN, publishedAt: '2026-11-21T02:00:00Z', previousRunId: null, previousRuns: [] },
    ...{ leftBehind: [], rolledBack: null },
  } as unknown as Manifest;
  const task = {
    ...{ resource: 'tasks', head, replaced: [], before: null, now: 10, scope: 'all' },
    writer: { workflow: 'w', namespace: 'default' },
    settings: { snapshotsMs: 1, keepPerDay: 'last' },
    signal: new AbortController().signal,
  } as unknown as Parameters<typeof findGarbage>[1];
  const { input } = await findGarbage(store, task);
  // The newest object's time, which is before Temporal's.
  expect(input.now).toBe(5);
});
