import { describe, expect, it } from 'vitest';
import type { ObjectKey, RunId, UtcSeconds } from '../../../src/core/brands.js';
import { encodeReplacement, encodeWithChecksum, sha256Of } from '../../../src/lake/published/checksums.js';
import { pointerKey } from '../../../src/lake/published/layout.js';
import { encodePointer } from '../../../src/lake/published/pointer.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { followPointer, followPointerAndForget, type TableTask } from '../../../src/table/index.js';
import { type Action, decodeCommit, encodeCommit } from '../../../src/table/log/actions.js';
import { commitKey } from '../../../src/table/log/names.js';
import { readTable } from '../../../src/table/log/read-table.js';
import { temporaryLake } from '../lake/data-plane.js';
import { CSV } from '../lake/published.js';

const FIRST = '20261121T020000Z-00000001' as RunId;
//const SECOND = '20261122T020000Z-00000002' as RunId;
//const THIRD = '20261123T020000Z-00000003' as RunId;
const PURGE = '20261124T020000Z-00000004' as RunId;
const JSON_TYPE = { contentType: 'application/json' };

let resources = 0;

/** A resource whose snapshots have no rows, so that nothing is converted. */
function lakeOf(store: ObjectStore) {
  const resource = `r${resources++}`;
  const folder = (tree: string, run: RunId): string =>
    `${resource}/${tree}/${run.slice(0, 4)}-${run.slice(4, 6)}-${run.slice(6, 8)}/${run}`;
  const manifestKey = (run: RunId) => `${folder('snapshots', run)}/_datapackage.json` as ObjectKey;
  const manifest = (run: RunId, previousRunId: RunId | null) => ({
    worktrack: {
      layout: 1,
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
      await store.write(manifestKey(run), body, JSON_TYPE);
      const changes = `${folder('changes', run)}/_datapackage.json` as ObjectKey;
      await store.write(changes, body, JSON_TYPE);
      const sums = { snapshot: sha256Of(body), changes: sha256Of(body) };
      const pointer = encodePointer({
        ...{ resource, runId: run, snapshot: manifestKey(run), changes, rows: 0, connection: 'c' },
        ...{ baseUrl: 'http://b', publishedAt: '2026-11-21T02:00:00.000Z', manifests: sums },
        checkpoint: { updatedSince: '2026-11-21T02:00:00Z' as UtcSeconds },
        ...(amendedBy === undefined ? {} : { amendedBy }),
      });
      await store.write(pointerKey(resource), pointer, JSON_TYPE);
    },
    /** Replaces the manifest of a run, as a purge does. */
    async purge(run: RunId) {
      const before = await store.read(manifestKey(run));
      const after = encodeReplacement(before, JSON.parse(before.toString('utf8')) as { worktrack: object });
      await store.write(manifestKey(run), after, JSON_TYPE);
    },
    async commit(version: number, actions: readonly Action[]) {
      await store.write(commitKey(resource, version), encodeCommit(actions), JSON_TYPE);
    },
    async actions(version: number) {
      return decodeCommit(await store.read(commitKey(resource, version)));
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
    let now = 1000;
    const list = (prefix: string) => {
      now += 1000;
      return lake.store.list(prefix);
    };
    const store = overriding(lake.store, { list });
    await followPointer({ ...task, store, now: () => now });
    const times = (await actions(1)).flatMap(({ remove }) => remove?.deletionTimestamp ?? []);
    // Of the log, and of the files.
    expect(times).toEqual([3000]);
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
