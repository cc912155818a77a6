import { expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { recoveryOf } from '../../../src/lake/damaged-error.js';

it.each([
  ['_staging/tasks/20261121T020000Z-00000001/0.csv', /^The next run fetches these rows again/],
  ['tasks/latest.json', /The snapshots are not affected/],
  ['_write-back/b-1/batch.json', /Until then, its batch sends no row/],
  ['_audits/20261121.json', /^Restore it from a backup or an earlier version of the object\.$/],
  ['tasks/table/part-v1.parquet', /^The next export repairs the table\.$/],
  ['tasks/changes/dt=2026-11-21/run=r/part-00000.csv', /The snapshot and later runs are not affected/],
  ['tasks/snapshots/dt=2026-11-21/run=r/part-00000.csv', /worktrack rollback --resource tasks --to RUN/],
])('the message about damage of %s says how to recover', (key, recovery) => {
  expect(recoveryOf(key as ObjectKey)).toMatch(recovery);
});
