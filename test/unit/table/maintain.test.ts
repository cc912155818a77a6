import { describe, expect, it } from 'vitest';
import { forgetEarlierVersions, listDataFiles } from '../../../src/table/log/maintain.js';
import { dataFileName, dataKey } from '../../../src/table/log/names.js';
import { TableState } from '../../../src/table/log/state.js';
import { temporaryLake } from '../lake/data-plane.js';

const path = (version: number, part: string) =>
  dataFileName(version, { part: part.repeat(64), layout: 'types' });

describe('the clean-up of a table', () => {
  const lake = temporaryLake();

  it('keeps the files of later versions if an attempt of a purge is late', async () => {
    for (const name of [path(0, 'a'), path(1, 'b'), path(2, 'c')])
      await lake.store.write(dataKey('late', name), Buffer.from('x'), { contentType: 'x/y' });
    const table = { state: new TableState({ version: 1 }), log: [], checkpoint: -1 };
    const { signal } = new AbortController();
    await forgetEarlierVersions(lake.store, table, { resource: 'late', signal });
    expect(await listDataFiles(lake.store, 'late')).toEqual([path(2, 'c')]);
  });
});
