import { utimes } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { DAY_MS } from '../../../src/core/duration.js';
import { tableKeys } from '../../../src/lake/documents/lake-layout.js';
import { collected } from '../../../src/lake/store/index.js';
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

  /** Makes the log of a table some days older, apart from its newest checkpoint. */
  async function age(resource: string, days: number): Promise<void> {
    const at = Date.now() / 1000 - days * 24 * 60 * 60;
    const listed = await collected(lake.store.list(tableKeys(resource).log));
    for (const { key } of listed.filter(({ key }) => key.endsWith('.json')))
      await utimes(lake.pathOf(key), at, at);
  }

  it('repairs the hint of the newest checkpoint before it removes the log before it', async () => {
    const write = (key: ObjectKey, body: Uint8Array) => lake.store.write(key, body);
    for (let version = 0; version <= 10; version++)
      await write(tableKeys('hint').commit(version), encodeCommit([]));
    const state = new TableState({ version: 10, protocol: PROTOCOL });
    await write(tableKeys('hint').checkpoint(10), await encodeCheckpoint(checkpointActions(state, 0)));
    const first = new TableState({ version: 0, protocol: PROTOCOL });
    await write(tableKeys('hint').checkpoint(0), await encodeCheckpoint(checkpointActions(first, 0)));
    await write(tableKeys('hint').lastCheckpoint, Buffer.from('{"version":0,"size":1}'));
    await age('hint', 10);
    const now = Date.now();
    const { signal } = new AbortController();
    const input = { resource: 'hint', retentionMs: 1, now, signal };
    await maintainTable({ ...input, store: lake.store }, await readDamagedTable(lake.store, 'hint'));
    const hint = JSON.parse((await lake.store.read(tableKeys('hint').lastCheckpoint)).toString()) as object;
    expect(hint).toMatchObject({ version: 10, size: 1, numOfAddFiles: 0 });
    expect(await lake.store.readIfExists(tableKeys('hint').commit(0))).toBeNull();
    expect((await readTable(lake.store, 'hint')).state.version).toBe(10);
  });

  it('keeps what has expired by a clock that is ahead of the store', async () => {
    const table = tableKeys('ahead');
    const write = (key: ObjectKey, body: Uint8Array) => lake.store.write(key, body);
    const removed = path(0, 'd');
    await write(table.data(removed), Buffer.from('x'));
    const deletionTimestamp = Date.now();
    const remove = { path: removed, deletionTimestamp, dataChange: true };
    await write(table.commit(0), encodeCommit([{ protocol: PROTOCOL }]));
    await write(table.commit(1), encodeCommit([{ remove }]));
    const state = new TableState({ version: 1, protocol: PROTOCOL });
    await write(table.checkpoint(1), await encodeCheckpoint(checkpointActions(state, 0)));
    await write(table.commit(2), encodeCommit([{ remove }]));
    const { signal } = new AbortController();
    const input = { store: lake.store, resource: 'ahead', retentionMs: 30 * DAY_MS, signal };
    await maintainTable(
      { ...input, now: Date.now() + 31 * DAY_MS },
      await readDamagedTable(lake.store, 'ahead'),
    );
    expect(await listDataFiles(lake.store, 'ahead')).toEqual([removed]);
    expect(await lake.store.readIfExists(table.commit(0))).not.toBeNull();
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
