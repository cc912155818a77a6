import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { tableKeys } from '../../../src/lake/documents/lake-layout.js';
import { encodeCommit, PROTOCOL } from '../../../src/table/log/actions.js';
import { checkpointActions, encodeCheckpoint } from '../../../src/table/log/checkpoint.js';
import { forgetEarlierVersions, listDataFiles, maintainTable } from '../../../src/table/log/maintain.js';
import { dataFileName } from '../../../src/table/log/paths.js';
import { readDamagedTable, readTable } from '../../../src/table/log/read-table.js';
import { TableState } from '../../../src/table/log/table-state.js';
import { temporaryLake } from '../lake/data-plane.js';

const path = (version: number, part: string) => dataFileName(version, part.repeat(64), 'types');

describe('the clean-up of a table', () => {
  const lake = temporaryLake();

  it('repairs the hint of the newest checkpoint before it removes the log before it', async () => {
    const write = (key: ObjectKey, body: Uint8Array) => lake.store.write(key, body);
    for (let version = 0; version <= 10; version++)
      await write(tableKeys('hint').commit(version), encodeCommit([]));
    const state = new TableState({ version: 10, protocol: PROTOCOL });
    await write(tableKeys('hint').checkpoint(10), await encodeCheckpoint(checkpointActions(state, 0)));
    const first = new TableState({ version: 0, protocol: PROTOCOL });
    await write(tableKeys('hint').checkpoint(0), await encodeCheckpoint(checkpointActions(first, 0)));
    await write(tableKeys('hint').lastCheckpoint, Buffer.from('{"version":0,"size":1}'));
    const now = Date.now() + 10 * 24 * 60 * 60_000;
    const { signal } = new AbortController();
    const input = { resource: 'hint', retentionMs: 1, now, signal };
    await maintainTable({ ...input, store: lake.store }, await readDamagedTable(lake.store, 'hint'));
    const hint = JSON.parse((await lake.store.read(tableKeys('hint').lastCheckpoint)).toString()) as object;
    expect(hint).toMatchObject({ version: 10, size: 1, numOfAddFiles: 0 });
    expect(await lake.store.readIfExists(tableKeys('hint').commit(0))).toBeNull();
    expect((await readTable(lake.store, 'hint')).state.version).toBe(10);
  });

  it('keeps the files of later versions if an attempt of a purge is late', async () => {
    for (const name of [path(0, 'a'), path(1, 'b'), path(2, 'c')])
      await lake.store.write(tableKeys('late').data(name), Buffer.from('x'));
    const table = {
      state: new TableState({ version: 1 }),
      log: [],
      commits: [],
      checkpoint: -1,
      hint: null,
      damage: null,
    };
    const { signal } = new AbortController();
    await forgetEarlierVersions({ store: lake.store, resource: 'late', signal }, table);
    expect(await listDataFiles(lake.store, 'late')).toEqual([path(2, 'c')]);
  });
});
