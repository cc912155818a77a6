import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { inFolder, MANIFEST, runFolder } from '../../../src/lake/documents/lake-layout.js';
import { encodeManifest, type ManifestFields } from '../../../src/lake/documents/manifest.js';
import type { Pointer } from '../../../src/lake/documents/pointer.js';
import { readChain, readHistory } from '../../../src/lake/published/chain.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import { createReport } from '../../../src/report/index.js';
import { publishRun } from '../lake/published.js';
import { runId } from './fixtures.js';

const DATE = '2026-11-21';
const RUNS = 50;

describe('the history of a resource', () => {
  let folder: string;
  let store: ObjectStore;
  let pointer: Pointer;
  const reads: string[] = [];
  const listed: string[] = [];

  /** A lake with one run per day; the newest is published last. */
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-history-'));
    store = openStore({ url: pathToFileURL(folder).href });
    const columns = [{ name: 'id', types: 16, values: noFacts() }];
    const last = { resource: 'tasks', runId: runId(0), date: DATE, columns, parts: [[['a']]] };
    const published = await publishRun(store, last);
    for (let ago = RUNS - 1; ago >= 0; ago--) await writeRun(published.manifest, ago);
    pointer = published.pointer;
    store = watched(store);
    reads.length = 0;
    listed.length = 0;
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function writeRun(like: ManifestFields, ago: number): Promise<void> {
    const id = runId(ago);
    const date = `${id.slice(0, 4)}-${id.slice(4, 6)}-${id.slice(6, 8)}`;
    const previousRuns = ago === RUNS - 1 ? [] : [{ runId: runId(ago + 1), publishedAt: 0 }];
    const body = encodeManifest({ ...like, tree: 'changes', runId: id, previousRuns, parts: [] });
    const key = inFolder(runFolder('tasks', 'changes', date, id), MANIFEST);
    await store.write(key, body);
  }

  function watched(inner: ObjectStore): ObjectStore {
    return new Proxy(inner, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          if (name === 'readIfExists') reads.push(String(args[0]));
          if (name === 'listFolders') listed.push(String(args[0]));
          return member.apply(target, args);
        };
      },
    });
  }

  it('reads the given number of runs, and no more requests for an older lake', async () => {
    const runs = await readHistory(readChain(store, pointer), { most: 10 });
    expect(runs.map((run) => run.runId)).toEqual(Array.from({ length: 10 }, (_, ago) => runId(ago)));
    expect(reads.length).toBe(10);
    expect(listed.length).toBe(0);
  });

  it('ends at the first run, or at a manifest that is missing or damaged', async () => {
    expect((await readHistory(readChain(store, pointer), { most: 1000 })).length).toBe(RUNS);
    const third = (await keys()).find((key) => key.includes(runId(2)))!;
    await store.write(third, Buffer.from('{"worktrack":{}}'));
    expect((await readHistory(readChain(store, pointer), { most: 1000 })).length).toBe(2);
    await store.remove([third]);
    expect((await readHistory(readChain(store, pointer), { most: 1000 })).length).toBe(2);
  });

  it('can start at an earlier run, but not at a run that is not on the chain', async () => {
    const runs = await readHistory(readChain(store, pointer), { from: runId(45), most: 3 });
    expect(runs?.map((run) => run.runId)).toEqual([runId(45), runId(46), runId(47)]);
    expect(await readHistory(readChain(store, pointer), { from: runId(RUNS), most: 3 })).toEqual([]);
  });

  it('becomes a report that also shows a damaged pointer and a resource without one', async () => {
    await store.write('projects/latest.json' as ObjectKey, Buffer.from('{}'));
    const wanted = {
      connection: 'acme',
      resources: ['tasks', 'projects', 'members'],
      runId: null,
      madeAt: 0,
    };
    const page = await createReport(store, wanted);
    expect(page).toContain('Last 30 runs');
    expect(page).toContain('latest.json is not a pointer');
    expect(page).toContain('No run is published yet.');
    const at = { ...wanted, resources: ['tasks', 'members'], runId: runId(3) };
    expect(await createReport(store, at)).toContain(runId(3));
    expect(await createReport(store, at)).not.toContain(runId(2));
    expect(await createReport(store, { ...at, runId: '20200101T000000Z-00000000' as RunId })).toBeNull();
  });

  async function keys(): Promise<ObjectKey[]> {
    const found: ObjectKey[] = [];
    for await (const { key } of store.list('tasks/changes/')) found.push(key);
    return found;
  }
});
