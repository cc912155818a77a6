import { describe, expect, it, vi } from 'vitest';
import { removeOldSnapshots } from '../../../activities/clean-up/retention.js';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { DAY_MS } from '../../../src/core/duration.js';
import type { RetentionSettings } from '../../../src/core/settings.js';
import { RunChain } from '../../../src/lake/published/chain.js';
import { inFolder, MANIFEST, runFolder } from '../../../src/lake/published/layout.js';
import type { Pointer } from '../../../src/lake/published/pointer.js';
import { temporaryLake } from '../lake/data-plane.js';

const lake = temporaryLake();
const NOW = Date.parse('2026-11-21T02:00:00Z');
const SETTINGS: RetentionSettings = { snapshotsMs: 30 * DAY_MS, keepPerDay: 'last' };
/** It was published two days ago, so readers have switched to it. */
const CURRENT = '20261119T020000Z-00000000' as RunId;
const CURRENT_DAY = '2026-11-19';
const PUBLISHED_AT = NOW - 2 * DAY_MS;

const manifestOf = (resource: string, day: string, runId: RunId): ObjectKey =>
  inFolder(runFolder(resource, 'snapshots', day, runId), MANIFEST);

/** A resource whose runs left folders on these days; no change log shows that they were published. */
async function resourceWith(days: readonly string[], runsPerDay: number): Promise<string> {
  const resource = `r${days.length}x${runsPerDay}`;
  const manifests = [manifestOf(resource, CURRENT_DAY, CURRENT)];
  for (const day of days) {
    for (let run = 0; run < runsPerDay; run++) {
      const runId = `${day.replaceAll('-', '')}T000000Z-${String(run).padStart(8, '0')}` as RunId;
      manifests.push(manifestOf(resource, day, runId));
    }
  }
  for (const manifest of manifests)
    await lake.store.write(manifest, Buffer.from('{}'), { contentType: 'application/json' });
  return resource;
}

/** One clean-up, with the days that it has listed. */
async function cleanUp(resource: string, more: { cleanedUpTo: RunId | null; before?: string }) {
  const listFolders = vi.spyOn(lake.store, 'listFolders');
  const pointer = {
    ...{ resource, runId: CURRENT, changes: null, publishedAt: new Date(PUBLISHED_AT).toISOString() },
    snapshot: manifestOf(resource, CURRENT_DAY, CURRENT),
  } as Pointer;
  const last = { pointer, chain: new RunChain(lake.store, pointer) };
  const { signal } = new AbortController();
  const result = await removeOldSnapshots(lake.store, last, SETTINGS, { now: NOW, signal, ...more });
  const listed = listFolders.mock.calls.flatMap(([prefix]) => /dt=([^/]+)/.exec(prefix)?.slice(1) ?? []);
  listFolders.mockRestore();
  return { ...result, listed: listed.sort() };
}

describe('the clean-up of old snapshots', () => {
  it('is not complete while there are more than it removes at once, and then continues', async () => {
    const resource = await resourceWith(['2026-10-01', '2026-10-02'], 30);
    const cleanedUpTo = '20261120T020000Z-00000000' as RunId;
    const first = await cleanUp(resource, { cleanedUpTo });
    expect(first.complete).toBe(false);
    expect(first.due.at).toBeLessThan(NOW);
    const second = await cleanUp(resource, { cleanedUpTo });
    expect(second.complete).toBe(true);
    expect(second.due.at).toBeGreaterThan(NOW);
    expect(await lake.store.listFolders(`${resource}/snapshots/`)).toEqual([`dt=${CURRENT_DAY}`]);
  });

  it('checks every day in the first one of a month and after a change of the settings, otherwise the last ten', async () => {
    const days = Array.from({ length: 20 }, (_, at) => `2026-11-${String(at + 1).padStart(2, '0')}`);
    const resource = await resourceWith(days, 1);
    const cleanedUpTo = '20261120T020000Z-00000000' as RunId;
    const before = JSON.stringify(SETTINGS);
    expect((await cleanUp(resource, { cleanedUpTo, before })).listed).toEqual(days.slice(-10));
    expect((await cleanUp(resource, { cleanedUpTo })).listed).toEqual(days.slice(-10));
    expect((await cleanUp(resource, { cleanedUpTo, before: '{}' })).listed).toEqual(days);
    const october = '20261031T020000Z-00000000' as RunId;
    expect((await cleanUp(resource, { cleanedUpTo: october, before })).listed).toEqual(days);
    expect((await cleanUp(resource, { cleanedUpTo: null, before })).listed).toEqual(days);
  });
});
