import { afterEach, describe, expect, it } from 'vitest';
import { mirrorEntries } from '../../support/entries-mirror.js';
import type { ActivityMirror } from '../../support/in-process-mirror.js';
import { ListService } from '../../support/list-service.js';
import { readSnapshot } from '../../support/snapshot.js';

const DAY = 86_400_000;
const START = Date.parse('2026-11-21T02:00:00Z');

/** How most rows of an old lake come to be ones that the list does not show. */
const AGED = {
  'most rows are tombstones': {
    windowed: false,
    age: async (service: ListService, mirror: ActivityMirror) => {
      for (const id of old(service)) service.records.delete(id);
      await mirror.run({ allowDeletes: true });
    },
  },
  'most rows have left the window': {
    windowed: true,
    age: async (service: ListService) => {
      service.rules.now += 30 * DAY;
    },
  },
} as const;

const old = ({ records }: ListService): string[] => [...records.keys()].filter((id) => id.startsWith('old'));

describe('the delete limit of a lake whose list shows only a tenth of its rows', () => {
  let service: ListService;
  let mirror: ActivityMirror;
  afterEach(() => service.close());

  async function start(windowed: boolean): Promise<void> {
    service = await ListService.start({
      ...{
        now: START,
        windowMs: windowed ? 90 * DAY : null,
        endpoint: 'none',
        mayList: true,
        pageSize: 1000,
      },
      dateText: ({ date }) => JSON.stringify(new Date(date).toISOString()),
    });
    const add = (id: string, date: number): void =>
      void service.records.set(id, { id, date, updatedAt: START - DAY, hidden: false });
    for (let n = 0; n < 360; n++) add(`old${n}`, START - 80 * DAY);
    for (let n = 0; n < 40; n++) add(`new${n}`, START - DAY);
    const window = windowed ? ', window: 90d, windowField: day' : '';
    mirror = await mirrorEntries(service.url, `fetchById: false${window}`, { now: () => service.rules.now });
  }

  const marked = async (): Promise<(string | null | undefined)[]> => {
    const { rows } = await readSnapshot(mirror.store, 'entries');
    return rows
      .filter(({ _deleted_at, id }) => _deleted_at !== null && id!.startsWith('new'))
      .map(({ id }) => id);
  };

  it.each(Object.entries(AGED))('stops a run that misses most of the list, where %s', async (_, aged) => {
    await start(aged.windowed);
    await mirror.run();
    service.rules.now += DAY;
    await aged.age(service, mirror);
    service.rules.now += DAY;
    const listed = [...service.records.values()].filter(({ id }) => id.startsWith('new'));
    for (const record of listed.slice(0, 30)) record.hidden = true;
    await expect(mirror.run({ reconcile: true })).rejects.toThrow(
      '30 of 40 rows that the list should show, more than half,',
    );
    expect(await marked()).toEqual([]);

    for (const record of listed.slice(20)) record.hidden = false;
    await mirror.run({ reconcile: true });
    expect(await marked()).toHaveLength(20);
  });
});
