import { Context } from '@temporalio/activity';
import type { RunId } from '../../src/core/brands.js';
import type { Activities, PurgeRecordInput } from '../../src/core/contract.js';
import { folderOf, pointerKey, rolledBackRoot, stagingPrefix } from '../../src/lake/layout.js';
import type { Manifest } from '../../src/lake/manifest.js';
import { decodePointer, encodePointer, type Pointer } from '../../src/lake/pointer.js';
import { purgedRows, recountRows } from '../../src/lake/purge.js';
import { listDates, listRuns, manifestOf, type RunFolders } from '../../src/lake/runs.js';
import { type ObjectStore, StoreUnclearError } from '../../src/lake/store/index.js';
import { passFence, readSnapshot } from '../begin/before.js';
import type { ActivityDeps } from '../deps.js';
import { finalFailure } from '../failures.js';
import { heartbeating } from '../heartbeat.js';
import { removeAll } from '../remove.js';
import { purgeTree } from './tree.js';

const SWAPS = 5;

/**
 * Removes one record from all snapshots and change logs of a resource, the published one and those of runs that nobody
 * sees any more, and from what is staged. The mirror runs nothing else meanwhile.
 */
export function createPurgeRecord(deps: ActivityDeps): Activities['worktrack.purgeRecord'] {
  return (input) =>
    heartbeating(async () => {
      const { store, settings } = deps.connection(input.connection);
      const { found } = await passFence(store, { ...input, baseUrl: settings.baseUrl, adopt: false });
      if (found !== null) await checkKey(store, found.pointer, input);
      await removeAll(store, stagingPrefix(input.resource));
      const purged = { snapshots: 0, changeLogs: 0 };
      for (const root of [input.resource, rolledBackRoot(input.resource)]) {
        const snapshots = await folders(store, root, 'snapshots');
        const changes = await folders(store, root, 'changes');
        for (const runId of new Set([...snapshots.keys(), ...changes.keys()])) {
          Context.current().cancellationSignal.throwIfAborted();
          const removed = await purgeRun(store, input, { root, runId, snapshots, changes });
          if (removed.snapshot) purged.snapshots++;
          if (removed.changes) purged.changeLogs++;
        }
      }
      const pointer = found === null ? null : await recount(store, input);
      return {
        published: pointer && {
          ...{ runId: pointer.runId, snapshot: pointer.snapshot, rows: pointer.rows },
          publishedAt: Date.parse(pointer.publishedAt),
        },
        checkpoint: pointer?.checkpoint ?? null,
        purged,
      };
    });
}

async function checkKey(
  store: ObjectStore,
  pointer: Pointer,
  { resource, key }: PurgeRecordInput,
): Promise<void> {
  const fields = (await readSnapshot(store, pointer)).key;
  if (fields.length === key.length) return;
  throw finalFailure(
    'Configuration',
    `${resource}: its key is ${fields.join(', ')}, and ${key.length} values were given. Give one \`--key\` for each field, in that order.`,
  );
}

async function folders(store: ObjectStore, root: string, tree: 'snapshots' | 'changes'): Promise<RunFolders> {
  return listRuns(store, root, tree, await listDates(store, root, tree));
}

async function purgeRun(
  store: ObjectStore,
  { runId: by, key: values }: PurgeRecordInput,
  run: {
    readonly root: string;
    readonly runId: RunId;
    readonly snapshots: RunFolders;
    readonly changes: RunFolders;
  },
): Promise<{ snapshot: boolean; changes: boolean }> {
  const signal = Context.current().cancellationSignal;
  const purged: Record<'snapshots' | 'changes', Manifest | null> = { snapshots: null, changes: null };
  for (const tree of ['snapshots', 'changes'] as const) {
    const manifest = manifestOf(run.root, tree, run[tree], run.runId);
    if (manifest === null) continue;
    purged[tree] = await purgeTree(store, { tree, manifest, values, by, signal });
    // A run that never was complete is of no use to anybody.
    if (purged[tree] === null) await removeAll(store, `${folderOf(manifest)}/`);
  }
  const { snapshots, changes } = purged;
  if (snapshots !== null) {
    const rows = snapshots.parts.reduce((sum, part) => sum + part.rows, 0);
    for (const [tree, manifest] of Object.entries({ snapshots, changes }) as [
      'snapshots' | 'changes',
      Manifest | null,
    ][]) {
      if (manifest === null || manifest.counts.rows === rows) continue;
      const key = manifestOf(run.root, tree, run[tree], run.runId)!;
      await store.write(key, recountRows(await store.read(key), rows), { contentType: 'application/json' });
    }
  }
  const mine = (manifest: Manifest | null): boolean =>
    purgedRows({ purged: manifest?.purged?.filter((one) => one.runId === by) ?? [] }) > 0;
  return { snapshot: mine(snapshots), changes: mine(changes) };
}

/** Makes the pointer say how many rows its snapshot has now. Its run and its checkpoint stay. */
async function recount(store: ObjectStore, { resource }: PurgeRecordInput): Promise<Pointer> {
  const key = pointerKey(resource);
  for (let tries = 1; ; tries++) {
    const found = await store.readIfExists(key);
    if (found === null) throw finalFailure('Displaced', `${resource}/latest.json is gone from the lake`);
    const pointer = decodePointer(found.body);
    const { counts } = await readSnapshot(store, pointer);
    if (pointer.rows === counts.rows) return pointer;
    try {
      await store.swap(key, encodePointer({ ...pointer, rows: counts.rows }), { etag: found.etag });
    } catch (error) {
      if (!(error instanceof StoreUnclearError) || tries === SWAPS) throw error;
    }
  }
}
