import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import type { Activities } from '../../../src/core/contract/index.js';
import type { Settings } from '../../../src/core/settings.js';
import { ActivityMirror } from '../../support/in-process-mirror.js';
import { ListService } from '../../support/list-service.js';
import { readSnapshot } from '../../support/snapshot.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');

/** A mirror whose activities run on workers with different configurations. */
class TwoWorkers extends ActivityMirror {
  /** A reconciliation whose first activity of this kind, and all after it, are on a worker with these settings. */
  async runWith(other: Settings, from: keyof Activities): Promise<unknown> {
    return this.run({
      ...{ reconcile: true, inMemory: false },
      onStart: ({ context: { info } }) => {
        if (info.activityType === from) void this.use(other);
      },
    });
  }
}

describe('a run that continues on a worker whose configuration names another service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'worktrack-other-'));
  const services: ListService[] = [];
  let mirror: TwoWorkers;
  afterEach(async () => {
    await mirror.close();
    for (const service of services.splice(0)) await service.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(
    ids: readonly string[],
    lake = 'lake',
  ): Promise<{ service: ListService; settings: Settings }> {
    const service = await ListService.start({
      ...{ now: NOW, windowMs: null, endpoint: 'exact', mayList: true, pageSize: 2 },
      dateText: () => 'null',
    });
    services.push(service);
    for (const id of ids) service.records.set(id, { id, date: NOW, updatedAt: NOW - 1000, hidden: false });
    const settings = parseSettings(
      `connections: { acme: { baseUrl: "${service.url}", apiKey: { env: PATH }, lake: { url: "${pathToFileURL(join(folder, lake)).href}" }, ` +
        'resources: [{ name: entries, fetchById: true }] } }',
      'worktrack.yaml',
    );
    return { service, settings };
  }

  it.each(['worktrack.read', 'worktrack.settleById'] as const)(
    'ends before it asks that one (%s)',
    async (from) => {
      const ours = await start(['a', 'b', 'c', 'd']);
      const other = await start(['c', 'x', 'y', 'z']);
      mirror = new TwoWorkers(ours.settings, 'entries');
      await mirror.run();
      ours.service.records.delete('b');
      await expect(mirror.runWith(other.settings, from)).rejects.toThrow(/reads from .* has the baseUrl/);
      expect(other.service.requests).toEqual([]);
      const { rows } = await readSnapshot(mirror.store, 'entries');
      expect(rows.map(({ id, _deleted_at }) => [id, _deleted_at])).toEqual(
        ['a', 'b', 'c', 'd'].map((id) => [id, null]),
      );
    },
  );

  it('says so if it names another lake', async () => {
    const ours = await start(['a']);
    const other = await start(['b'], 'other');
    mirror = new TwoWorkers(ours.settings, 'entries');
    await mirror.run();
    await expect(mirror.runWith(other.settings, 'worktrack.read')).rejects.toThrow('has another `lake.url`');
  });
});
