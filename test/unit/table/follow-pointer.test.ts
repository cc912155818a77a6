import { describe, expect, it } from 'vitest';
import type { ObjectKey, RunId, UtcSeconds } from '../../../src/core/brands.js';
import { parseRunDate } from '../../../src/core/run-id.js';
import { warningText } from '../../../src/core/warnings.js';
import { encodeReplacement, encodeWithChecksum, sha256Of } from '../../../src/lake/documents/checksums.js';
import {
  dateOf,
  inFolder,
  LAYOUT_VERSION,
  MANIFEST,
  pointerKey,
  runFolder,
  type Tree,
  tableKeys,
} from '../../../src/lake/documents/lake-layout.js';
import { encodePointer } from '../../../src/lake/documents/pointer.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import {
  checkTable,
  followPointer,
  followPointerAndForget,
  type TableTask,
} from '../../../src/table/index.js';
import { type Action, decodeCommit, encodeCommit } from '../../../src/table/log/actions.js';
import { checkpointActions, encodeCheckpoint } from '../../../src/table/log/checkpoint.js';
import { readTable } from '../../../src/table/log/read-table.js';
import { WRITER } from '../../support/writer.js';
import { temporaryLake } from '../lake/data-plane.js';
import { CSV } from '../lake/published.js';

/** A problem of a table with this text. */
const hasText = (text: RegExp) => expect.objectContaining({ text: expect.stringMatching(text) });

const FIRST = '20261121T020000Z-00000001' as RunId;
const SECOND = '20261122T020000Z-00000002' as RunId;
const THIRD = '20261123T020000Z-00000003' as RunId;
const PURGE = '20261124T020000Z-00000004' as RunId;

let resources = 0;

/** A resource whose snapshots have no rows, so that nothing is converted. */
function lakeOf(store: ObjectStore) {
  const resource = `r${resources++}`;
  const folder = (tree: Tree, run: RunId) => runFolder(resource, tree, dateOf(parseRunDate(run)), run);
  const manifestKey = (run: RunId) => inFolder(folder('snapshots', run), MANIFEST);
  const manifest = (run: RunId, previousRunId: RunId | null) => ({
    worktrack: {
      layout: LAYOUT_VERSION,
      runId: run,
      previousRunId,
      columns: [],
      parts: [],
      counts: { rows: 0 },
      csv: CSV,
    },
  });
  const task: TableTask = {
    ...{ store, resource, types: {}, badValues: 'stop', retentionMs: 1, now: Date.now },
    signal: new AbortController().signal,
  };
  return {
    ...{ resource, task, manifestKey },
    async run(run: RunId, previousRunId: RunId | null = null, amendedBy?: RunId) {
      const body = encodeWithChecksum(manifest(run, previousRunId));
      await store.write(manifestKey(run), body);
      const changes = inFolder(folder('changes', run), MANIFEST);
      await store.write(changes, body);
      const sums = { snapshot: sha256Of(body), changes: sha256Of(body) };
      const pointer = encodePointer({
        ...{ resource, runId: run, snapshot: manifestKey(run), changes, rows: 0, connection: 'c' },
        ...{
          rolledBack: null,
          baseUrl: 'http://b',
          publishedAt: '2026-11-21T02:00:00.000Z',
          manifests: sums,
        },
        checkpoint: { updatedSince: '2026-11-21T02:00:00Z' as UtcSeconds },
        writer: WRITER,
        ...(amendedBy === undefined ? {} : { amendedBy }),
      });
      await store.write(pointerKey(resource), pointer);
    },
    /** Replaces the manifest of a run, as a purge does. */
    async purge(run: RunId) {
      const before = await store.read(manifestKey(run));
      const after = encodeReplacement(before, JSON.parse(before.toString('utf8')) as { worktrack: object });
      await store.write(manifestKey(run), after);
    },
    async commit(version: number, actions: readonly Action[]) {
      await store.write(tableKeys(resource).commit(version), encodeCommit(actions));
    },
    async actions(version: number) {
      return decodeCommit(await store.read(tableKeys(resource).commit(version)));
    },
    async version() {
      return (await readTable(store, resource)).state.version;
    },
  };
}

function overriding(store: ObjectStore, changes: Partial<ObjectStore>): ObjectStore {
  return new Proxy(store, {
    get(target, name) {
      const own = changes[name as keyof ObjectStore] ?? target[name as keyof ObjectStore];
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

const add = (path: string): Action => ({
  add: {
    path,
    partitionValues: {},
    size: 7,
    modificationTime: 1,
    dataChange: true,
    stats: '{"numRecords":1}',
  },
});

describe('a table that follows the pointer', () => {
  const lake = temporaryLake();

  it('commits the state of a purge again if an attempt committed it from parts that the purge replaced', async () => {
    const { run, purge, task, actions, version } = lakeOf(lake.store);
    await run(FIRST, null, PURGE);
    // A late attempt, after the purge has written the pointer and before it has replaced the manifest.
    expect(await followPointer(task)).toMatchObject({ version: 0, commits: 1 });
    await purge(FIRST);
    expect(await followPointerAndForget(task)).toMatchObject({ version: 1, commits: 1 });
    expect((await actions(1))[0]!.commitInfo).toMatchObject({ operation: 'PURGE' });
    expect(await followPointerAndForget(task)).toMatchObject({ version: 1, commits: 0 });
    expect(await version()).toBe(1);
  });

  it('counts the retention of replaced files from the commit, not from the beginning of the conversion', async () => {
    const { run, task, commit, actions } = lakeOf(lake.store);
    await commit(0, [add('a.parquet')]);
    await run(FIRST);
    let now = 0;
    await followPointer({ ...task, now: () => (now += 1000) });
    const times = (await actions(1)).flatMap(({ remove }) => remove?.deletionTimestamp ?? []);
    // The clock is read before the conversion, and after it.
    expect(times).toEqual([2000]);
  });

  it('has no version for an earlier run whose snapshot is damaged or missing, with a warning', async () => {
    for (const damage of ['cannot be read', 'missing']) {
      const { run, task, actions, manifestKey } = lakeOf(lake.store);
      await run(FIRST);
      await followPointer(task);
      await run(SECOND, FIRST);
      await run(THIRD, SECOND);
      const key = manifestKey(SECOND);
      // The folder remains, because it has another object.
      await lake.store.write(`${key}.part` as ObjectKey, Buffer.from('x'));
      if (damage === 'missing') await lake.store.remove([key]);
      else await lake.store.write(key, Buffer.from('{'));
      const followed = await followPointer(task);
      expect(followed).toMatchObject({ version: 1, commits: 1 });
      expect(followed.warnings.map(warningText)).toEqual([
        expect.stringMatching(new RegExp(`^table: the earlier run ${SECOND} gets no version: .*${damage}`)),
      ]);
      expect((await actions(1))[0]!.commitInfo).toMatchObject({ userMetadata: THIRD });
    }
  });

  it('fails if the snapshot of latest.json is missing', async () => {
    const { run, task, manifestKey } = lakeOf(lake.store);
    await run(FIRST);
    await lake.store.remove([manifestKey(FIRST)]);
    await expect(followPointer(task)).rejects.toThrow(/_datapackage.json is missing/);
  });

  it('shows the run although its clean-up fails, with a warning that says so', async () => {
    const { run, task, version } = lakeOf(lake.store);
    await run(FIRST);
    const store = overriding(lake.store, {
      remove: async () => {
        throw new Error('the store is down');
      },
    });
    expect(await followPointer({ ...task, store })).toEqual({
      ...{ version: 0, commits: 1 },
      warnings: [{ kind: 'table-clean-up-failed', message: 'the store is down' }],
    });
    expect(await version()).toBe(0);
  });

  it('repeats the warnings of a version that an earlier attempt committed', async () => {
    const { run, task, actions, commit } = lakeOf(lake.store);
    await run(FIRST);
    await followPointer(task);
    const unfit = [{ name: 'n', type: 'long', count: 3 }];
    const [{ commitInfo }, ...rest] = (await actions(0)) as [Action, ...Action[]];
    const operationParameters = { ...commitInfo!.operationParameters, unfit: JSON.stringify(unfit) };
    await commit(0, [{ commitInfo: { ...commitInfo, operationParameters } }, ...rest]);
    const { warnings } = await followPointer(task);
    expect(warnings).toEqual([{ kind: 'table-nulls', ...unfit[0] }]);
  });

  it('repeats the warnings of all versions that this step committed', async () => {
    const { run, task, actions, commit } = lakeOf(lake.store);
    await run(FIRST);
    await followPointer(task);
    await run(SECOND, FIRST);
    await followPointer(task);
    const [first, ...rest] = (await actions(0)) as [Action, ...Action[]];
    const unfit = JSON.stringify([{ name: 'n', type: 'long', count: 3 }]);
    const { operationParameters } = first.commitInfo!;
    const commitInfo = { ...first.commitInfo, operationParameters: { ...operationParameters, unfit } };
    await commit(0, [{ commitInfo }, ...rest]);
    expect((await followPointer(task)).warnings).toEqual([]);
    const { warnings } = await followPointer({ ...task, since: first.commitInfo!.timestamp! });
    expect(warnings.map(warningText)).toEqual([
      'table: 3 values of "n" are NULL, because they do not fit long',
    ]);
  });

  it('knows what the table shows although the checkpoint is of a commit of another program', async () => {
    const { resource, run, task, commit, actions, version } = lakeOf(lake.store);
    await run(FIRST);
    await followPointer(task);
    await commit(1, [{ commitInfo: { operation: 'OPTIMIZE' } }, { txn: { appId: 'other', version: 1 } }]);
    const { state } = await readTable(lake.store, resource);
    const body = await encodeCheckpoint(checkpointActions(state, 0));
    await lake.store.write(tableKeys(resource).checkpoint(1), body);
    expect((await readTable(lake.store, resource)).state.shown).toMatchObject({ runId: FIRST, version: 0 });
    expect(await followPointer(task)).toMatchObject({ version: 1, commits: 0 });
    // A missed run between keeps its version.
    await run(SECOND, FIRST);
    await run(THIRD, SECOND);
    expect(await followPointer(task)).toMatchObject({ version: 3, commits: 2 });
    expect((await actions(2))[0]!.commitInfo).toMatchObject({ userMetadata: SECOND });
    expect(await version()).toBe(3);
  });

  it('reads each missed run once, however many there are', async () => {
    const { run, task, version } = lakeOf(lake.store);
    const runs = Array.from({ length: 12 }, (_, day) => `202612${10 + day}T020000Z-00000001` as RunId);
    await run(runs[0]!);
    await followPointer(task);
    for (const [at, id] of runs.entries()) if (at > 0) await run(id, runs[at - 1]!);
    const reads = new Map<string, number>();
    let lists = 0;
    const store = overriding(lake.store, {
      readIfExists: (key) => {
        reads.set(key, (reads.get(key) ?? 0) + 1);
        return lake.store.readIfExists(key);
      },
      list: (prefix) => {
        lists++;
        return lake.store.list(prefix);
      },
    });
    expect(await followPointer({ ...task, store })).toMatchObject({ commits: 11 });
    expect(await version()).toBe(11);
    const changes = [...reads].filter(([key]) => key.includes('/changes/'));
    expect(changes.length).toBeGreaterThan(9);
    expect(Math.max(...changes.map(([, count]) => count))).toBe(1);
    // Of the log and the files, before the commits and after them, and of the dates and folders of snapshots.
    expect(lists).toBeLessThan(20);
  });

  it('reads neither the log nor the manifests again after it has committed a run', async () => {
    const { run, task, version } = lakeOf(lake.store);
    await run(FIRST);
    await followPointer(task);
    await run(SECOND, FIRST);
    const requests: string[] = [];
    const store = overriding(lake.store, {
      read: (key) => {
        requests.push(`read ${key.split('/').at(-1)}`);
        return lake.store.read(key);
      },
      readIfExists: (key) => {
        const [name, tree] = [key.split('/').at(-1), key.includes('/changes/') ? 'changes ' : ''];
        requests.push(`read ${tree}${name}`);
        return lake.store.readIfExists(key);
      },
      list: (prefix) => {
        requests.push('list');
        return lake.store.list(prefix);
      },
    });
    expect(await followPointer({ ...task, store })).toMatchObject({ version: 1, commits: 1 });
    expect(await version()).toBe(1);
    expect(requests).toEqual([
      ...['read latest.json', 'list', 'read 00000000000000000000.json', 'read changes _datapackage.json'],
      ...['read _datapackage.json', 'read latest.json'],
    ]);
  });

  it('is said not to show the run yet, if a check comes between the swap and the commit', async () => {
    const { resource, run, task } = lakeOf(lake.store);
    await run(FIRST);
    expect(await checkTable(lake.store, resource)).toEqual([
      hasText(/table\/ does not exist yet, although tables.format is delta/),
    ]);
    await followPointer(task);
    await run(SECOND, FIRST);
    expect(await checkTable(lake.store, resource)).toEqual([
      hasText(new RegExp(`version 0 does not show run ${SECOND} yet; it shows run ${FIRST}`)),
    ]);
    // The table follows between the two reads.
    let pointers = 0;
    const store = overriding(lake.store, {
      readIfExists: async (key) => {
        const found = await lake.store.readIfExists(key);
        if (key === pointerKey(resource) && ++pointers === 2) await followPointer(task);
        return found;
      },
    });
    expect(await checkTable(store, resource)).toEqual([]);
  });

  it('does not end a purge while another program holds other parts', async () => {
    const { run, task, commit } = lakeOf(lake.store);
    await run(FIRST, null, PURGE);
    await followPointer(task);
    await commit(1, [add('optimized.parquet')]);
    await expect(followPointerAndForget(task)).rejects.toThrow(
      /version 1 does not have the parts of .*Run the purge again/,
    );
  });
});
