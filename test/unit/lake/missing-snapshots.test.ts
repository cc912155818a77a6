import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { readPublished, readSnapshotAt } from '../../../src/lake/published/read-published.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import { publishRun } from './published.js';

let folder: string;
let store: ObjectStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-missing-snapshots-'));
  store = openStore({ url: pathToFileURL(folder).href });
});
afterEach(async () => {
  store.close();
  await rm(folder, { recursive: true, force: true });
});

describe.each(['tasks', 'time-entries'])('the error about a missing snapshot of %s', (resource) => {
  const about = { name: 'SnapshotNotFoundError', resource, dates: [] };

  it('says that nothing is published', async () => {
    await expect(readPublished(store, resource)).rejects.toMatchObject({
      ...about,
      remedy: 'Run an export first: worktrack export',
    });
  });

  it('says that the retention may have removed it', async () => {
    const { pointer } = await publishRun(store, {
      ...{ resource, runId: '20261121T020000Z-1a2b3c4d' as RunId, date: '2026-11-21' },
      ...{ columns: [{ name: 'id', types: 16, values: noFacts() }], parts: [[['a']]] },
    });
    expect((await readSnapshotAt(store, pointer.snapshot)).counts.rows).toBe(1);
    await store.remove([pointer.snapshot]);
    const reading = readSnapshotAt(store, pointer.snapshot);
    await expect(reading).rejects.toMatchObject({ ...about, remedy: expect.stringContaining('retention') });
    await expect(reading).rejects.toThrow(pointer.snapshot);
  });
});
