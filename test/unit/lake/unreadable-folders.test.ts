import { expect, it } from 'vitest';
import { isForeignFolder } from '../../../src/lake/documents/lake-layout.js';
import { AMONG_OTHERS } from '../../../src/lake/published/foreign-files.js';
import { listRuns } from '../../../src/lake/published/run-folders.js';
import { collected } from '../../../src/lake/store/index.js';
import { withUnreadable } from '../../support/unreadable.js';
import { temporaryLake } from './data-plane.js';

const lake = temporaryLake();
const RUN = '20261121T020000Z-00000002';
const FOLDER = `tasks/snapshots/dt=2026-11-21/run=${RUN}`;

it.each([
  'tasks/@eaDir/',
  'tasks/snapshots/@eaDir/',
  'tasks/changes/dt=2026-11-21/@eaDir/',
  'tasks/snapshots/dt=2026-11-21/run=other/',
  `${FOLDER}/@eaDir/`,
  `${FOLDER}/@eaDir/run=${RUN}/`,
  'tasks/table/@eaDir/',
  'tasks/table/_delta_log/@eaDir/',
  '_staging/tasks/@eaDir/',
  `_staging/tasks/${RUN}/@eaDir/`,
  `_quarantine/tasks/${RUN}/@eaDir/`,
])('%s is of another program', (folder) => {
  expect(isForeignFolder(folder)).toBe(true);
});

it.each([
  'tasks/',
  'tasks/changes/',
  'tasks/snapshots/dt=2026-11-21/',
  `${FOLDER}/`,
  'tasks/table/',
  'tasks/table/_delta_log/',
  '_staging/tasks/',
  `_staging/tasks/${RUN}/`,
  `_staging/tasks/${RUN}/tasks/snapshots/dt=2026-11-21/run=${RUN}/`,
  `_staging/tasks/${RUN}/_quarantine/tasks/${RUN}/`,
  '_quarantine/tasks/',
  `_quarantine/tasks/${RUN}/`,
  '_write-back/batch/',
])('%s may be of this connector', (folder) => {
  expect(isForeignFolder(folder)).toBe(false);
});

it('an unreadable folder of another program is left out, and one of a run ends the listing with its name', async () => {
  const { store } = lake;
  const root = lake.pathOf('' as never);
  await store.write(`${FOLDER}/part-00000-00000000.csv.gz` as never, Buffer.from('x'));
  await store.write('tasks/changes/other.csv' as never, Buffer.from('x'));
  // It sorts before all objects of the run.
  const others = ['tasks/@eaDir', 'tasks/snapshots/@eaDir', `${FOLDER}/@eaDir`];
  await withUnreadable(root, others, async () => {
    expect([...(await listRuns(store, 'tasks', 'snapshots')).keys()]).toEqual([RUN]);
    expect(await collected(store.list('tasks/', AMONG_OTHERS))).toHaveLength(2);
    const denied = { kind: 'access-denied', key: 'tasks/@eaDir' };
    await expect(collected(store.list('tasks/'))).rejects.toMatchObject(denied);
    // Uploads are no objects. What a store refuses to list is said.
    expect(await store.abortUploads('tasks/')).toEqual({
      aborted: 0,
      refused: expect.stringMatching(/EACCES/),
    });
  });
  for (const own of [FOLDER, 'tasks/snapshots/dt=2026-11-21'])
    await withUnreadable(root, [own], async () => {
      const denied = { kind: 'access-denied', key: own };
      await expect(listRuns(store, 'tasks', 'snapshots')).rejects.toMatchObject(denied);
      await expect(collected(store.list('tasks/', AMONG_OTHERS))).rejects.toMatchObject(denied);
    });
});
