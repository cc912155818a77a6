import { afterEach, describe, expect, it } from 'vitest';
import { mirrorEntries } from '../../support/entries-mirror.js';
import type { ActivityMirror } from '../../support/in-process-mirror.js';
import { ListService } from '../../support/list-service.js';
import { readSnapshot } from '../../support/snapshot.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const DAY = 86_400_000;

describe('One value of `windowField` that is no date', () => {
  let service: ListService;
  let mirror: ActivityMirror;
  afterEach(() => service.close());

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
      mirror = await mirrorEntries(service.url, 'fetchById: false, window: 90d, windowField: day', {
        now: () => service.rules.now,
        inMemory: false,
      });
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
