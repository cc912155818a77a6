import { describe, expect, it } from 'vitest';
import type { TableSettings } from '../../../src/core/settings.js';
import { checkTableCanBePurged } from '../../../src/run/publish/delta-table.js';
import { tableKeys } from '../../../src/table/log/paths.js';
import { temporaryLake } from '../lake/data-plane.js';

const tables: TableSettings = { format: 'delta', types: {}, badValues: 'stop' };

describe('a purge', () => {
  const lake = temporaryLake();

  it('stops before it changes anything if it could not remove the record from the table', async () => {
    await lake.store.write(tableKeys('tasks').commit(0), Buffer.from('{}'));
    const check = (settings: TableSettings | null, isPublished: boolean, resource = 'tasks') =>
      checkTableCanBePurged(lake.store, { resource, tables: settings, isPublished });
    await expect(check(tables, false)).rejects.toThrow(
      /but tasks\/latest.json is missing.*Nothing was changed/,
    );
    await expect(check(null, true)).rejects.toThrow(/but tables.format is none.*Nothing was changed/);
    await check(tables, true);
    await check(tables, false, 'other');
  });
});
