import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import { ActivityMirror } from '../../support/in-process-mirror.js';
import { ListService } from '../../support/list-service.js';
import { readSnapshot } from '../../support/snapshot.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const DAY = 86_400_000;

describe('One value of `windowField` that is no date', () => {
  const folder = mkdtempSync(join(tmpdir(), 'worktrack-dates-'));
  let service: ListService;
  let mirror: ActivityMirror;
  afterEach(async () => {
    await mirror.close();
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });

  // The keys of the snapshot are between `b` and `e`.
  it.each(['a', 'bb', 'c', 'z'])(
    'turns the detection of deletes off, also in a new record (%s)',
    async (odd) => {
      service = await ListService.start({
        ...{ now: NOW, windowMs: 90 * DAY, endpoint: 'none', mayList: true, pageSize: 2 },
        dateText: ({ id, date }) =>
          JSON.stringify(
            id === odd ? '20261310' : new Date(date).toISOString().slice(0, 10).replaceAll('-', ''),
          ),
      });
      const add = (id: string) =>
        service.records.set(id, {
          id,
          date: service.rules.now - 9 * DAY,
          updatedAt: service.rules.now,
          hidden: false,
        });
      for (const id of ['b', 'c', 'd', 'e']) if (id !== odd) add(id);
      const settings = parseSettings(
        `connections: { acme: { baseUrl: "${service.url}", apiKey: { env: PATH }, lake: { url: "${pathToFileURL(folder).href}" }, ` +
          'resources: [{ name: entries, fetchById: false, window: 90d, windowField: day }] } }',
        'test',
      );
      mirror = new ActivityMirror(settings, 'entries', { now: () => service.rules.now, inMemory: false });
      await mirror.run();
      service.rules.now += DAY;
      service.records.delete('d');
      add(odd);
      const { warnings } = await mirror.run({ reconcile: true });
      expect(warnings).toEqual([expect.stringContaining('has a value of the form "00000000"')]);
      const { rows } = await readSnapshot(mirror.store, 'entries');
      expect(rows.filter((row) => row._deleted_at !== null)).toEqual([]);
    },
  );
});
