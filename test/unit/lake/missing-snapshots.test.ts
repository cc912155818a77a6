import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { readPublished, readSnapshotAt } from '../../../src/lake/published/read-published.js';
import { temporaryLake } from './data-plane.js';
import { publishRun } from './published.js';

const RESOURCES = ['tasks', 'time-entries'];
const about = (resource: string) => ({ name: 'SnapshotNotFoundError', resource, dates: [] });

describe('the error about a resource without a published run', () => {
  const lake = temporaryLake();

  it.each(RESOURCES)('names %s, and says so', async (resource) => {
    await expect(readPublished(lake.store, resource)).rejects.toMatchObject({
      ...about(resource),
      remedy: 'Run an export first: worktrack export',
    });
  });
});

describe('the error about a snapshot that is gone', () => {
  const lake = temporaryLake();

  it.each(RESOURCES)('names %s, and says that the retention may have removed it', async (resource) => {
    const { pointer } = await publishRun(lake.store, {
      ...{ resource, runId: '20261121T020000Z-1a2b3c4d' as RunId, date: '2026-11-21' },
      ...{ columns: [{ name: 'id', types: 16, values: noFacts() }], parts: [[['a']]] },
    });
    expect((await readSnapshotAt(lake.store, pointer.snapshot)).counts.rows).toBe(1);
    await lake.store.remove([pointer.snapshot]);
    const reading = readSnapshotAt(lake.store, pointer.snapshot);
    await expect(reading).rejects.toMatchObject({
      ...about(resource),
      remedy: expect.stringContaining('retention'),
    });
    await expect(reading).rejects.toThrow(pointer.snapshot);
  });
});
