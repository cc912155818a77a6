import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { keptSince } from '../../../src/lake/published/retention.js';
import {
  type Action,
  type AddFile,
  APP_ID,
  decodeCommit,
  encodeCommit,
  PROTOCOL,
} from '../../../src/table/log/actions.js';
import { checkpointActions, decodeCheckpoint, encodeCheckpoint } from '../../../src/table/log/checkpoint.js';
import { garbage, outdatedLog } from '../../../src/table/log/maintain.js';
import { dataFileName, dataFileStem, parseLogName, versionOfDataFile } from '../../../src/table/log/paths.js';
import { shownParameters, TableState, txnVersion } from '../../../src/table/log/table-state.js';

const DAY = 24 * 60 * 60_000;
const RUN = '20261121T020000Z-1a2b3c4d' as RunId;
const ROLLBACK = '20261122T030000Z-1a2b3c4d' as RunId;
const path = (version: number, part: string) => dataFileName(version, part.repeat(64), 'types');
const add = (file: string): Action => ({
  add: {
    ...{ path: file, partitionValues: {}, size: 7, modificationTime: 1, dataChange: true },
    ...{ stats: '{"numRecords":3}', tags: { 'worktrack.part': 'x' } },
  },
});
const remove = (file: string, deletionTimestamp: number): Action => ({
  remove: { path: file, deletionTimestamp, dataChange: true },
});
const metaData = {
  ...{ id: 'a', name: 'tasks', format: { provider: 'parquet', options: {} }, schemaString: '{"fields":[]}' },
  ...{ partitionColumns: [], configuration: { 'delta.dataSkippingNumIndexedCols': '0' }, createdTime: 5 },
};
const commit = (shown: { runId: RunId; amendedBy: RunId | null }): Action[] => [
  { commitInfo: { operation: 'WRITE', operationParameters: shownParameters(shown) } },
  { txn: { appId: APP_ID, version: txnVersion(shown) } },
];

describe('the state of a table', () => {
  const shown = { runId: RUN, amendedBy: null };
  const first = new TableState().after(0, [
    ...commit(shown),
    { protocol: PROTOCOL },
    { metaData },
    add(path(0, 'a')),
    add(path(0, 'b')),
  ]);

  it('is the sum of its commits', () => {
    const second = first.after(1, [remove(path(0, 'a'), 9), add(path(1, 'c'))]);
    expect([...second.files.keys()]).toEqual([path(0, 'b'), path(1, 'c')]);
    expect([...second.removed.keys()]).toEqual([path(0, 'a')]);
    expect(second).toMatchObject({ version: 1, metaData, protocol: PROTOCOL, shown });
    expect([...first.files.keys()]).toEqual([path(0, 'a'), path(0, 'b')]);
  });

  it('shows a run, and tells it from a rollback to the same run', () => {
    expect(first.shows(shown)).toBe(true);
    expect(first.shows({ runId: RUN, amendedBy: ROLLBACK })).toBe(false);
    expect(first.after(1, commit({ runId: RUN, amendedBy: ROLLBACK })).shows(shown)).toBe(false);
  });

  it('survives a checkpoint, without the tombstones whose time has ended', async () => {
    const state = first.after(1, [remove(path(0, 'a'), 10), remove(path(0, 'x'), 30)]);
    const read = await decodeCheckpoint(Buffer.from(await encodeCheckpoint(checkpointActions(state, 20))));
    const again = new TableState().after(1, read);
    expect([...again.files]).toEqual([...state.files]);
    expect([...again.removed]).toEqual([[path(0, 'x'), state.removed.get(path(0, 'x'))]]);
    expect(again).toMatchObject({ metaData, protocol: PROTOCOL, txns: state.txns });
  });

  it('is read from lines of JSON', () => {
    const actions = [...commit(shown), add(path(0, 'a'))];
    expect(decodeCommit(encodeCommit(actions))).toEqual(actions);
    expect(() => decodeCommit(Buffer.from('{"add":'))).toThrow(SyntaxError);
  });
});

describe('the names of a table', () => {
  it('show the version that a data file was written for', () => {
    expect(versionOfDataFile(path(12, 'a'))).toBe(12);
    expect(path(12, 'a').startsWith(dataFileStem(12, 'a'.repeat(64)))).toBe(true);
    expect(versionOfDataFile('part-00000-of-another-writer.snappy.parquet')).toBeNull();
    expect(parseLogName('00000000000000000010.checkpoint.parquet')).toEqual({
      kind: 'checkpoint',
      version: 10,
    });
    expect(parseLogName('00000000000000000010.json')).toEqual({ kind: 'commit', version: 10 });
    expect(parseLogName('_last_checkpoint')).toBeNull();
  });
});

describe('the retention of a table', () => {
  it('removes files that no kept version names, and never one of a commit in progress', () => {
    const files = new Map([[path(0, 'a'), {} as AddFile]]);
    const removed = new Map(
      [remove(path(0, 'b'), 10), remove(path(0, 'c'), 30)].map(({ remove: one }) => [one!.path, one!]),
    );
    const state = new TableState({ version: 3, files, removed });
    const foreign = 'part-00000-of-another-writer.snappy.parquet';
    const all = [path(0, 'a'), path(0, 'b'), path(0, 'c'), path(3, 'd'), path(4, 'e'), foreign];
    expect(garbage(state, all, 20)).toEqual([path(0, 'b'), path(3, 'd')]);
  });

  it('keeps versions for at least a day', () => {
    expect(keptSince(10 * DAY, 3 * DAY)).toBe(7 * DAY);
    expect(keptSince(10 * DAY, 1)).toBe(9 * DAY);
  });

  it('keeps the log from the last checkpoint before the oldest kept version', () => {
    const log = Array.from({ length: 25 }, (_, version) => ({
      kind: 'commit' as const,
      version,
      modifiedAt: version,
    }));
    const checkpoints = [10, 20].map((version) => ({
      kind: 'checkpoint' as const,
      version,
      modifiedAt: version,
    }));
    const all = [...log, ...checkpoints];
    expect(outdatedLog(all, 9)).toEqual([]);
    expect(outdatedLog(all, 15).map(({ version }) => version)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(outdatedLog(all, 99).length).toBe(21);
    expect(outdatedLog(all, -1)).toEqual([]);
    // Our last commit says what the table shows. The later ones are of other programs.
    expect(outdatedLog(all, 99, 7).map(({ version }) => version)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });
});
