import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import { errorMessage } from '../../../src/core/errors.js';
import { ActivityMirror } from '../../support/in-process-mirror.js';
import {
  ENDPOINTS,
  type Endpoint,
  envelope,
  ListService,
  type ServiceRecord,
} from '../../support/list-service.js';
import { type Random, seededRandom } from '../../support/random.js';
import { seeds } from '../../support/seeds.js';
import { readSnapshot } from '../../support/snapshot.js';

const SEEDS = seeds(6);
const DAY = 86_400_000;
const WINDOW = 90 * DAY;
/** The window's edge of two days, and two more for dates without a zone or a time. */
const MARGIN = 4 * DAY;
const START = Date.parse('2026-11-21T02:00:00Z');

const pad = (n: number, length = 2) => String(n).padStart(length, '0');

/** A wall clock in a zone, as ISO 8601 without the zone. */
const local = (at: number, hours: number) => new Date(at + hours * 3_600_000).toISOString().slice(0, 19);

function weekDate(at: number): string {
  const day = at - (at % DAY);
  const weekday = ((new Date(day).getUTCDay() + 6) % 7) + 1;
  const thursday = new Date(day + (4 - weekday) * DAY);
  const year = thursday.getUTCFullYear();
  return `${year}-W${pad(1 + Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (7 * DAY)))}-${weekday}`;
}

/** Forms of dates: those that count, and those that turn the detection off. */
const GOOD: Record<string, (at: number) => unknown> = {
  utc: (at) => new Date(at).toISOString(),
  seconds: (at) => `${new Date(at).toISOString().slice(0, 19)}Z`,
  'offset +02:00': (at) => `${local(at, 2)}+02:00`,
  'offset -0930': (at) => `${local(at, -9.5)}-0930`,
  'no zone, Auckland': (at) => local(at, 13),
  'no zone, Honolulu': (at) => local(at, -10).replace('T', ' '),
  'day in Tokyo': (at) => local(at, 9).slice(0, 10),
  'basic format': (at) => `${local(at, 0).replaceAll(/[-:]/g, '')}Z`,
  'week date': weekDate,
  'ordinal date': (at) => {
    const year = new Date(at).getUTCFullYear();
    return `${year}-${pad(1 + Math.floor((at - Date.UTC(year, 0, 1)) / DAY), 3)}`;
  },
  'epoch seconds': (at) => Math.floor(at / 1000),
  'epoch milliseconds': (at) => at,
  'epoch in a string': (at) => String(at),
};
const BAD: Record<string, (at: number) => unknown> = {
  'dd/mm/yyyy': (at) => new Date(at).toISOString().slice(0, 10).split('-').reverse().join('/'),
  'mm/dd/yyyy': (at) => new Date(at).toISOString().replace(/^(\d+)-(\d+)-(\d+).*/, '$2/$3/$1'),
  'yyyy/mm/dd': (at) => new Date(at).toISOString().slice(0, 10).replaceAll('-', '/'),
  'RFC 7231': (at) => new Date(at).toUTCString(),
  '.NET': (at) => `/Date(${at})/`,
  yyyymmddhhmm: (at) => Number(local(at, 0).slice(0, 16).replaceAll(/\D/g, '')),
  'no value at all': () => null,
};

/** `incomplete`: the list says so; `short`: its total is larger than what it has; `exact`: it is what the list has. */
type Claim = 'none' | 'exact' | 'short' | 'incomplete';

interface World {
  readonly random: Random;
  readonly service: ListService;
  readonly windowed: boolean;
  /** Whether every date has a form that counts. */
  readonly datesCount: boolean;
  readonly fetchById: boolean;
  /** Dates as the mirror has last seen them. */
  readonly seen: Map<string, number>;
  /** Records that exist, but that nothing which the service answers tells from a deleted one: a documented limit. */
  readonly unprovable: Set<string>;
  created: number;
  /** What the list says about itself, and the records that it leaves out although the key may see them. */
  claim: Claim;
  readonly lost: Set<string>;
  /** The `deleted` of the resource: with it, records that say so are deleted. */
  readonly readsMarks: boolean;
  readonly quarantines: boolean;
  /** Whether no date is empty. */
  readonly hasDates: boolean;
  /** The record whose key the list has twice. */
  twin: string | null;
  /** Records that were deleted by their own account and are not any more, and that no list has shown since. */
  readonly returned: Set<string>;
  /** Records that a list has left out, so that a change of theirs may be passed over until everything is read. */
  readonly missed: Set<string>;
  readonly log: string[];
}

const WORKING: readonly Endpoint[] = ['exact', 'gone-410', 'wrapped', 'forbidden-record'];
/** The client repeats a request that gets such an answer for some seconds: see endpoints.test.ts. */
const SLOW: readonly Endpoint[] = ['start-page', 'forbidden-page', 'forbidden-words', 'redirect-missing'];
const isProvenById = ({ fetchById, service }: World) => fetchById && WORKING.includes(service.rules.endpoint);

function create(world: World): void {
  const { service, random, windowed } = world;
  const id = `r${pad(world.created++, 4)}${random.below(10)}`;
  const { now } = service.rules;
  const date = now - (windowed ? random.below(110) * DAY + random.below(DAY) : random.below(400 * DAY));
  service.records.set(id, { id, date, updatedAt: now - random.below(1000), hidden: false });
}

function change(world: World): void {
  const { service, random, windowed, log } = world;
  service.rules.now += random.below(40) * DAY + 3_600_000;
  const { now } = service.rules;
  const all = [...service.records.values()];
  const some = (share: number): ServiceRecord[] => all.filter(() => random.share() < share);
  const touch = (record: ServiceRecord): void => {
    record.updatedAt = now - random.below(1000);
  };
  for (let n = random.below(5); n > 0; n--) create(world);
  const removed = random.share() < 0.15 ? all : some(random.pick([0, 0.03, 0.08, 0.4]));
  for (const { id } of removed) service.records.delete(id);
  const moved = windowed ? some(random.pick([0, 0.1])) : [];
  for (const record of moved) {
    record.date = random.pick([now - 200 * DAY, now + 7 * DAY, now - random.below(80) * DAY]);
    touch(record);
  }
  const hidden = some(random.pick([0, 0, 0.08]));
  for (const record of hidden) record.hidden = !record.hidden;
  for (const record of some(random.pick([0, 0, 0.08]))) {
    record.archived = record.archived !== true;
    touch(record);
  }
  for (const record of some(random.pick([0, 0, 0.06]))) {
    record.deleted = record.deleted !== true;
    if (!record.deleted) world.returned.add(record.id);
    touch(record);
  }
  for (const record of some(0.1)) touch(record);
  service.rules.mayList = random.share() > 0.15;
  claim(world, random.pick(['none', 'none', 'none', 'exact', 'short', 'incomplete']));
  log.push(
    `day ${Math.round((now - START) / DAY)}: ${removed.length} removed, ${moved.length} moved, ${hidden.length} hidden or shown, ` +
      `deleted: ${all.filter((one) => one.deleted).map(({ id }) => id)}, archived: ${all.filter((one) => one.archived).map(({ id }) => id)}` +
      `${service.rules.mayList ? '' : ', the list is empty'}, ${service.records.size} exist`,
  );
}

/** Lets the list say something about itself. Only a list that says so leaves out records. */
function claim(world: World, made: Claim): void {
  const { service, random, lost, log } = world;
  const listed = [...service.records.values()].filter((one) => service.lists(one) && one.deleted !== true);
  world.twin = random.share() < 0.08 && listed.length > 0 ? random.pick(listed).id : null;
  if (world.twin !== null) log.push(`the list has two records ${world.twin}`);
  world.claim = made;
  lost.clear();
  if (made === 'short' || made === 'incomplete')
    for (const id of service.records.keys()) if (random.share() < 0.2) lost.add(id);
  for (const id of [...lost, ...(world.twin === null ? [] : [world.twin])]) world.missed.add(id);
  const says = made === 'incomplete' ? random.pick([',"partial":true', ',"_shards":{"failed":1}']) : '';
  service.rules.answer = (page) => {
    const idOf = (text: string): string => /"id":"([^"]*)"/.exec(text)?.[1] ?? '';
    const records = page.records
      .filter((text) => !lost.has(idOf(text)))
      .flatMap((text) => (idOf(text) === world.twin ? [text, text.replace(/}$/, ',"more":1}')] : [text]));
    const total = made === 'short' || made === 'exact' ? `,"total":${page.of}` : '';
    return { body: envelope({ ...page, records }, says, total) };
  };
  if (made !== 'none') log.push(`the list claims to be ${made}, without ${[...lost].join(' ')}`);
}

/** Notes what a run has read, and what nothing can tell from a delete. */
function observe(world: World, readsAll: boolean): void {
  const { service, seen, missed, unprovable, windowed } = world;
  for (const record of service.records.values()) {
    // An incomplete list, and a total that is larger than the list, prove nothing by absence.
    const isLost = world.lost.has(record.id) || record.id === world.twin;
    if (isLost && service.lists(record)) continue;
    if (record.deleted === true) continue;
    if (service.lists(record)) {
      if (readsAll) missed.delete(record.id);
      // The mirror may have an earlier date.
      if (missed.has(record.id)) seen.delete(record.id);
      else {
        seen.set(record.id, record.date);
        world.returned.delete(record.id);
      }
      unprovable.delete(record.id);
      continue;
    }
    if (!service.rules.mayList) continue;
    const isMoved = (windowed || record.archived === true) && !record.hidden;
    const tellsHidden = service.rules.endpoint === 'forbidden-record' && isProvenById(world);
    if (record.hidden ? !tellsHidden : isMoved && !isProvenById(world)) unprovable.add(record.id);
    // GET by id has shown the record, so the mirror may have its date of today.
    if (isMoved && isProvenById(world)) seen.delete(record.id);
  }
}

function isThere({ service }: World, id: string): boolean {
  const record = service.records.get(id);
  return record !== undefined && record.deleted !== true;
}

/** Whether the service's answers prove that a record is gone, which the mirror knew with its date. */
function isProvable(world: World, id: string): boolean {
  const { service, windowed, datesCount, seen, fetchById } = world;
  const { now, mayList } = service.rules;
  const record = service.records.get(id);
  if (isThere(world, id) || !seen.has(id) || !mayList) return false;
  if (record !== undefined) {
    // It says itself that it is deleted, in the list or by id.
    if (service.lists(record)) return world.readsMarks && !world.lost.has(id);
    if (record.hidden || record.archived === true || (!world.readsMarks && isProvenById(world))) return false;
  }
  if (world.claim === 'incomplete') return false;
  // Answers by id do not rely on the list.
  if (world.claim === 'short' && world.lost.size > 0 && !isProvenById(world)) return false;
  if (![...service.records.values()].some((record) => service.lists(record))) return false;
  if (!windowed) return true;
  const date = seen.get(id)!;
  const isInside = date > now - WINDOW + MARGIN && date < now - MARGIN;
  return datesCount && isInside && (!fetchById || isProvenById(world));
}

describe(`deletes at random (the last seed is ${SEEDS.at(-1)})`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'worktrack-deletes-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('mark no record that the service still has, and every one whose delete it proves', async () => {
    const totals = { runs: 0, stopped: 0, marked: 0, provable: 0, unprovable: 0, warned: 0 };
    for (const seed of SEEDS) await playRound(seed, totals);
    console.log(JSON.stringify({ rounds: SEEDS.length, ...totals }));
    // A few rounds alone may have no delete that a list proves.
    if (SEEDS.length >= 6) expect(totals.marked).toBeGreaterThan(0);
  });

  async function playRound(seed: number, totals: Record<string, number>): Promise<void> {
    const random = seededRandom(seed);
    const windowed = random.share() < 0.7;
    const datesCount = random.share() < 0.7;
    const [form, write] = random.pick(Object.entries(datesCount ? GOOD : BAD));
    const oddOne = datesCount && windowed && random.share() < 0.15;
    const endpoints = (Object.keys(ENDPOINTS) as Endpoint[]).filter((one) => !SLOW.includes(one));
    const endpoint = seed % 50 === 40 ? 'start-page' : random.pick(endpoints);
    const fetchById = random.share() < 0.6;
    const [readsMarks, quarantines] = [random.share() < 0.6, random.share() < 0.5];
    const service = await ListService.start({
      ...{ marks: random.pick(['full', 'short']), hidesDeleted: random.share() < 0.4 },
      ...{ now: START, windowMs: windowed ? WINDOW : null, endpoint, mayList: true },
      pageSize: random.pick([3, 10, 1000]),
      // One record with an impossible day makes every other date of the column doubtful.
      dateText: ({ id, date }) =>
        JSON.stringify(oddOne && id.startsWith('r0000') ? '2026-02-30' : write(date)),
    });
    const world: World = {
      ...{
        random,
        service,
        windowed,
        fetchById,
        created: 0,
        claim: 'none',
        lost: new Set<string>(),
        missed: new Set<string>(),
        returned: new Set<string>(),
        twin: null,
        ...{ readsMarks, quarantines, hasDates: form !== 'no value at all' },
      },
      ...{ datesCount: datesCount && !oddOne, seen: new Map(), unprovable: new Set<string>() },
      log: [
        `seed ${seed}: ${windowed ? `window, dates ${form}` : 'no window'}${oddOne ? ', one impossible' : ''}, ` +
          `endpoint ${endpoint}, fetchById ${fetchById}, ${readsMarks ? 'reads' : 'ignores'} marks (${service.rules.marks}` +
          `${service.rules.hidesDeleted ? ', by id' : ''}), quarantine ${quarantines}`,
      ],
    };
    for (let n = random.pick([0, 3, 12, 40]); n >= 0; n--) create(world);
    // Inside the window, so that it is read.
    if (oddOne)
      for (const one of service.records.values()) if (one.id.startsWith('r0000')) one.date = START - DAY;
    const window = windowed ? ', window: 90d, windowField: day' : '';
    const marks = readsMarks ? ', deleted: { field: deleted }' : '';
    const bad = quarantines ? ', badRecords: quarantine' : '';
    const settings = parseSettings(
      `connections: { acme: { baseUrl: "${service.url}", apiKey: { env: PATH }, lake: { url: "${pathToFileURL(folder).href}/${seed}" }, ` +
        `sync: { clock: service }, retries: { giveUpAfter: 20s }, resources: [{ name: entries, fetchById: ${fetchById}${window}${marks}${bad} }] } }`,
      'test',
    );
    const mirror = new ActivityMirror(settings, 'entries', { now: () => service.rules.now, inMemory: false });
    try {
      await mirror.run();
      observe(world, true);
      for (let step = 0; step < 3; step++) {
        change(world);
        const reconcile = random.share() < 0.8;
        const allowDeletes = random.share() < 0.1 && service.rules.mayList;
        await check(world, mirror, { reconcile, allowDeletes }, totals);
      }
    } finally {
      await mirror.close();
      await service.close();
      rmSync(join(folder, String(seed)), { recursive: true, force: true });
    }
  }

  async function check(
    world: World,
    mirror: ActivityMirror,
    run: { reconcile: boolean; allowDeletes: boolean },
    totals: Record<string, number>,
  ): Promise<void> {
    const { service, log } = world;
    const before = (await readSnapshot(mirror.store, 'entries')).rows;
    const provable = before.filter((row) => row._deleted_at === null && isProvable(world, row.id!));
    log.push(`run ${JSON.stringify(run)}, ${provable.length} of ${before.length} rows are provably deleted`);
    totals.runs!++;
    let warnings: readonly string[] = [];
    try {
      ({ warnings } = await mirror.run(run));
    } catch (error) {
      const message = errorMessage(error);
      log.push(message);
      const isEmpty = ![...service.records.values()].some((record) => service.lists(record));
      const expected = [isEmpty ? 'the list is empty' : 'more than (10%|half)'];
      // The check of the organization suspects a wrong key if the service knows none of the records of the lake.
      if (isProvenById(world) || ((isEmpty || world.lost.size > 0) && world.fetchById))
        expected.push('another organization');
      if (world.twin !== null && !world.quarantines) expected.push('is not unique');
      expect(message, log.join('\n')).toMatch(new RegExp(expected.join('|')));
      totals.stopped!++;
      return;
    }
    observe(world, run.reconcile || run.allowDeletes);
    const { rows } = await readSnapshot(mirror.store, 'entries');
    const marked = rows.filter((row) => row._deleted_at !== null).map((row) => row.id!);
    const known = (id: string): boolean => world.unprovable.has(id) || world.returned.has(id);
    const live = marked.filter((id) => isThere(world, id) && !known(id));
    expect(live, `live, but marked:\n${log.join('\n')}\n${warnings.join('\n')}`).toEqual([]);
    const emptied = rows.filter(({ day }) => day === null && world.hasDates).map(({ id }) => id);
    expect(emptied, `emptied:\n${log.join('\n')}\n${warnings.join('\n')}`).toEqual([]);
    totals.unprovable! += marked.filter((id) => isThere(world, id)).length;
    totals.warned! += warnings.length;
    if (!run.reconcile) return;
    const missed = provable.map((row) => row.id!).filter((id) => !marked.includes(id));
    expect(missed, `deleted, but not marked:\n${log.join('\n')}\n${warnings.join('\n')}`).toEqual([]);
    totals.marked! += marked.length;
    totals.provable! += provable.length;
    const hasBadDates = world.windowed && !world.datesCount && before.some((row) => row._deleted_at === null);
    if (hasBadDates) expect(warnings.join('\n'), log.join('\n')).toMatch(/no deletes were concluded/);
  }
});
