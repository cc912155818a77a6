import { afterAll, describe, expect, it } from 'vitest';
import { errorMessage } from '../../../src/core/errors.js';
import { mirrorEntries } from '../../support/entries-mirror.js';
import { envelope, type ListAnswer, type ListPage, ListService } from '../../support/list-service.js';
import { type Random, seededRandom } from '../../support/random.js';
import { seeds } from '../../support/seeds.js';
import { readSnapshot } from '../../support/snapshot.js';

const SEEDS = seeds(6);
const NOW = Date.parse('2026-11-21T02:00:00Z');
const HOUR = 3_600_000;

/** How a page says that its list lacks records. The total is that of the whole list. */
const SIGNS: readonly ((page: ListPage, kept: readonly string[]) => ListAnswer)[] = [
  (page, records) => ({ body: envelope({ ...page, records }, ',"incomplete_results":true') }),
  (page, records) => ({ body: envelope({ ...page, records }, ',"_shards":{"failed":1}') }),
  (page, records) => ({ body: envelope({ ...page, records }, '', ',"timedOut":true') }),
  (page, records) => ({ body: envelope({ ...page, records }, ',"warning":"Some entries are missing."') }),
  (page, records) => ({ status: 206, body: envelope({ ...page, records }) }),
  (page, records) => ({
    headers: { 'x-total-count': String(page.of) },
    body: envelope({ ...page, records }),
  }),
  // The list ends after a full page that is not its first one.
  (page) => ({
    body: page.at > 0 && page.next !== null ? `{"data":[${page.records}],"page":[]}` : envelope(page),
  }),
];

/** Which readings of a run lack records. */
const READINGS = ['all', 'lists', 'second list', 'increments'] as const;

describe(`incomplete readings at random (the last seed is ${SEEDS.at(-1)})`, () => {
  const totals = { runs: 0, stopped: 0, marked: 0, lacking: 0 };
  afterAll(() => console.log(JSON.stringify({ rounds: SEEDS.length, ...totals })));

  it.each(SEEDS)(
    'mark no live row, and a complete reading after them makes the lake equal: seed %d',
    async (seed) => {
      const random = seededRandom(seed);
      const log = [`seed ${seed}`];
      const service = await ListService.start({
        ...{ now: NOW, windowMs: null, endpoint: 'exact', mayList: true },
        pageSize: random.pick([2, 5, 1000]),
        dateText: ({ date }) => String(date),
      });
      let created = 0;
      const create = (): void => {
        const { now } = service.rules;
        const id = `r${String(created++).padStart(3, '0')}`;
        service.records.set(id, {
          id,
          date: random.below(1000),
          updatedAt: now - random.below(1000),
          hidden: false,
        });
      };
      const change = (): void => {
        service.rules.now += HOUR + random.below(40) * HOUR;
        const all = [...service.records.values()];
        for (let n = random.below(4); n > 0; n--) create();
        for (const record of all) {
          if (random.share() < 0.06) service.records.delete(record.id);
          else if (random.share() < 0.2)
            Object.assign(record, {
              date: random.below(1000),
              updatedAt: service.rules.now - random.below(1000),
            });
        }
      };
      for (let n = 2 + random.below(20); n > 0; n--) create();
      const mirror = await mirrorEntries(
        service.url,
        `fetchById: ${random.share() < 0.4}, updatedAt: updatedAt`,
        {
          now: () => service.rules.now,
          inMemory: random.share() < 0.5,
          connection: 'sync: { clock: service }, retries: { giveUpAfter: 20s }',
        },
      );
      const expectNoneMarked = async (): Promise<void> => {
        const { rows } = await readSnapshot(mirror.store, 'entries');
        const marked = rows.filter((row) => row._deleted_at !== null).map(({ id }) => id!);
        expect(
          marked.filter((id) => service.records.has(id)),
          log.join('\n'),
        ).toEqual([]);
        totals.marked += marked.length;
      };
      try {
        // Its total is believed from now on.
        service.rules.answer = (page) => ({
          headers: { 'x-total-count': String(page.of) },
          body: envelope(page),
        });
        if (random.share() < 0.7) await mirror.run();
        for (let step = 0; step < 4; step++) {
          change();
          lose(service, random, log);
          const run = { reconcile: random.share() < 0.5, allowDeletes: random.share() < 0.1 };
          log.push(JSON.stringify(run));
          totals.runs++;
          const failure = await mirror.run(run).then(() => null, errorMessage);
          if (failure !== null) {
            totals.stopped++;
            expect(failure, log.join('\n')).toMatch(/more than|the list is empty|another organization/);
          } else await expectNoneMarked();
        }
        service.rules.now += 21 * HOUR;
        delete service.rules.answer;
        await mirror.run({ reconcile: true, allowDeletes: true });
        const { rows } = await readSnapshot(mirror.store, 'entries');
        const live = rows.filter((row) => row._deleted_at === null).map(({ id, day }) => `${id} ${day}`);
        const expected = [...service.records.values()].map(({ id, date }) => `${id} ${date}`);
        expect(live.sort(), log.join('\n')).toEqual(expected.sort());
      } finally {
        await service.close();
      }
    },
  );

  /** Some readings of the next run lack records, and say so. */
  function lose(service: ListService, random: Random, log: string[]): void {
    const which = random.pick(READINGS);
    const sign = random.pick(SIGNS);
    const lost = new Set([...service.records.keys()].filter(() => random.share() < 0.25));
    let lists = 0;
    log.push(`${which} lack ${[...lost].join(' ')}, sign ${SIGNS.indexOf(sign)}`);
    service.rules.answer = (page) => {
      if (!page.isIncrement && page.at === 0) lists++;
      const lacks = page.isIncrement
        ? which === 'increments'
        : which === 'lists' || (which === 'second list' && lists > 1);
      const total = { 'x-total-count': String(page.of) };
      if (which !== 'all' && !lacks) return { headers: total, body: envelope(page) };
      totals.lacking++;
      return sign(
        page,
        page.records.filter((text) => !lost.has(/"id":"([^"]*)"/.exec(text)![1]!)),
      );
    };
  }
});
