import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SendAttempt } from '../../../activities/write-back/send-attempt.js';
import { loadChunk, readPlan } from '../../../activities/write-back/stored-batch.js';
import type { ServiceClient } from '../../../src/api/index.js';
import type { SendRowsInput } from '../../../src/core/contract/write-back.js';
import { HOUR_MS } from '../../../src/core/duration.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import type { ActivityDeps } from '../../../src/run/deps.js';
import { readLogIndex } from '../../../src/write-back/chunk-logs.js';
import { Turn } from '../../../src/write-back/ledger/turn.js';
import { resultOf } from '../../../src/write-back/results.js';
import { seededRandom } from '../../support/random.js';
import type { Respond, RowService } from '../../support/row-service.js';
import { seeds } from '../../support/seeds.js';
import { client, HTTP } from '../api/support.js';
import { PLAN, planRows, SENDING, sendClock } from './planned-rows.js';
import { openRowWorld, type RowWorld } from './row-world.js';

const CONCURRENCY = 5;

/** What the service does with a broken row, each time. */
const WAYS = {
  '500': () => ({ status: 500, body: '{"message":"It is broken."}' }),
  '503': () => ({ status: 503 }),
  reset: () => 'reset',
  'written, but never answered': () => 'drop',
  timeout: () => new Promise(() => {}),
} as const satisfies Record<string, Respond>;
type Way = keyof typeof WAYS;

/** Rows from `from` to `to`, both included. */
interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly way: Way;
}

interface Case {
  readonly rows: number;
  readonly rowsAChunk: number;
  readonly broken: readonly Stretch[];
  /** Attempts that a killed worker makes, and after how many of their writes to the lake it is killed. */
  readonly kills?: ReadonlyMap<number, number>;
}

/** Attempts until every row that is not broken is created. A defect shows as a batch that never gets there. */
const MAX_ATTEMPTS = 1_000;

describe('rows that always fail', () => {
  let world: RowWorld;
  let store: ObjectStore;
  let service: RowService;
  let http: ServiceClient;
  beforeEach(async () => {
    world = await openRowWorld();
    ({ store, service } = world);
  });
  afterEach(() => world.close());

  /** As `planRows`, with the client that sends them. */
  async function plan(rows: number, rowsAChunk: number, tried = 0, headersTimeoutMs = 60_000): Promise<void> {
    http = client(service.url, {
      http: { ...HTTP, concurrency: CONCURRENCY, headersTimeoutMs },
      retry: { attempts: 2, maxDelayMs: 1 },
    });
    await planRows(store, rows, rowsAChunk, tried);
  }

  /**
   * One attempt of the activity.
   *
   * @param killAfter the worker is killed after this number of writes to the lake
   * @returns whether all rows have an outcome, and what the next attempt knows of this one
   */
  async function attempt(number: number, fruitless: number, now = Date.now, killAfter = Infinity) {
    let writes = 0;
    const isKilled = (): boolean => writes >= killAfter;
    const dying: ObjectStore = new Proxy(store, {
      get: (target, name: keyof ObjectStore) =>
        name !== 'swap'
          ? (target[name] as () => unknown).bind(target)
          : async (...given: Parameters<ObjectStore['swap']>) =>
              isKilled() || ++writes > killAfter
                ? { outcome: 'written', etag: 'lost' }
                : target.swap(...given),
    });
    const settings = {
      resources: [],
      http: { ...HTTP, concurrency: CONCURRENCY },
      retries: { giveUpAfterMs: HOUR_MS },
      writeBack: {
        'time-entries': { path: 'time-entries', idField: 'id', success: 'record', ignore: [] },
        unknownAfterMs: HOUR_MS,
      },
    } as unknown as ConnectionSettings;
    const run = new SendAttempt({
      deps: { now, draining: isKilled } as ActivityDeps,
      clock: sendClock(now),
      connection: { settings, client: http, store: dying } as never,
      input: { resource: 'time-entries', unknown: 'report', run: 'run' } as SendRowsInput,
      plan: await readPlan(store, PLAN),
      logs: await readLogIndex(store, PLAN),
      sending: SENDING,
      turn: new Turn('time-entries', null),
      ...{
        token: `t${number}`,
        endBefore: now() + HOUR_MS,
        limitedSince: null,
        fruitless,
        hasAccepted: false,
      },
    });
    let error: unknown = null;
    const done = await run.sendAll().catch((thrown: unknown) => {
      error = thrown;
      return false;
    });
    return { done: done && !isKilled(), fruitless: isKilled() ? fruitless : run.progress.fruitless, error };
  }

  async function outcomes(): Promise<(string | undefined)[]> {
    const stored = await readPlan(store, PLAN);
    const logs = await readLogIndex(store, PLAN);
    const found: (string | undefined)[] = [];
    for (const number of stored.file.chunks.keys()) {
      const { rows, states } = await loadChunk(store, stored, number, logs);
      for (const [index, row] of rows.entries()) found.push(resultOf(row, states.get(index))?.outcome);
    }
    return found;
  }

  /** Sends a batch until every other row is created. Returns the number of attempts. */
  async function check({ rows, rowsAChunk, broken, kills = new Map() }: Case): Promise<number> {
    const hasTimeouts = broken.some(({ way }) => way === 'timeout');
    await plan(rows, rowsAChunk, 0, hasTimeouts ? 200 : 60_000);
    const wayOf = (n: number): Way | undefined => broken.find(({ from, to }) => from <= n && n <= to)?.way;
    service.respond = (write) => {
      const way = wayOf(write.body.n as number);
      return way === undefined ? null : WAYS[way]();
    };
    const expected = Array.from({ length: rows }, (_, n) => (wayOf(n + 1) ? 'unknown' : 'created'));
    const isCreated = async (): Promise<boolean> =>
      (await outcomes()).every((outcome, n) => expected[n] === 'unknown' || outcome === 'created');
    let [number, fruitless] = [0, 0];
    do {
      expect(++number).toBeLessThan(MAX_ATTEMPTS);
      ({ fruitless } = await attempt(number, fruitless, Date.now, kills.get(number)));
    } while (!(await isCreated()));
    // Those that were not tried yet are tried, or stay unsent.
    await attempt(++number, fruitless);
    for (const [n, outcome] of (await outcomes()).entries())
      expect([expected[n], expected[n] === 'unknown' ? undefined : 'created']).toContain(outcome);
    for (const { body, idempotencyKey } of service.writes) expect(idempotencyKey).toBe(`u${body.n}`);
    const written = service.records.map(({ body }) => body.n as number);
    expect(new Set(written).size).toBe(written.length);
    // Once the service may have forgotten its key, no row in doubt is sent again, even if the service works.
    const before = new Set(service.writes.map(({ body }) => body.n));
    const seen = service.writes.length;
    service.respond = () => null;
    const later = (): number => Date.now() + 2 * HOUR_MS;
    while (!(await attempt(++number, 0, later)).done);
    for (const { body } of service.writes.slice(seen)) expect(before).not.toContain(body.n);
    expect((await outcomes()).every((outcome) => outcome === 'created' || outcome === 'unknown')).toBe(true);
    return number;
  }

  const cases: [string, Case][] = [
    ['one row at the beginning', { rows: 60, rowsAChunk: 20, broken: [{ from: 1, to: 1, way: '500' }] }],
    [
      'thirty rows at the beginning',
      { rows: 200, rowsAChunk: 50, broken: [{ from: 1, to: 30, way: '500' }] },
    ],
    [
      'sixty rows over several chunks',
      { rows: 400, rowsAChunk: 25, broken: [{ from: 111, to: 170, way: '503' }] },
    ],
    [
      'all but the last row of a chunk',
      { rows: 100, rowsAChunk: 100, broken: [{ from: 20, to: 99, way: 'reset' }] },
    ],
    [
      'almost all rows, in stretches',
      {
        ...{ rows: 140, rowsAChunk: 30 },
        broken: [0, 1, 2, 3].map((n) => ({ from: 35 * n + 1, to: 35 * n + 30, way: '500' })),
      },
    ],
    [
      'rows that the service writes, but does not answer',
      { rows: 150, rowsAChunk: 40, broken: [{ from: 5, to: 40, way: 'written, but never answered' }] },
    ],
    [
      'rows that are never answered',
      { rows: 100, rowsAChunk: 50, broken: [{ from: 11, to: 20, way: 'timeout' }] },
    ],
    [
      'rows before a chunk that a killed worker has left in doubt',
      {
        ...{ rows: 120, rowsAChunk: 60, broken: [{ from: 1, to: 40, way: '500' }] },
        kills: new Map([
          [1, 3],
          [2, 2],
        ]),
      },
    ],
  ];
  it.each(cases)('do not hold up the others: %s', async (_, one) => {
    await check(one);
  });

  it.each(seeds(2))('do not hold up the others at random places (seed %i)', async (seed) => {
    const random = seededRandom(seed);
    const rows = 30 + random.below(200);
    const broken = Array.from({ length: 1 + random.below(4) }, (): Stretch => {
      const from = 1 + random.below(rows);
      const way = random.pick(['500', '503', 'reset', 'written, but never answered'] as const);
      return { from, to: Math.min(rows, from + random.below(45)), way };
    });
    const kills = new Map([1, 2, 3].flatMap((n) => (random.share() < 0.3 ? [[n, 1 + random.below(6)]] : [])));
    await check({ rows, rowsAChunk: 5 + random.below(60), broken, kills: kills as Map<number, number> });
  });

  it('leave room for the others: once one of these is accepted, one row in doubt is sent at a time', async () => {
    await plan(300, 50, 60);
    let [inFlight, most] = [0, 0];
    service.respond = async ({ body }) => {
      if ((body.n as number) > 60) return null;
      inFlight++;
      if (service.records.length > 0) most = Math.max(most, inFlight);
      await new Promise((resolve) => setTimeout(resolve, 5));
      inFlight--;
      return { status: 500 };
    };
    expect((await attempt(1, 0)).done).toBe(false);
    expect(service.records.length).toBe(240);
    expect(most).toBe(1);
  });

  it('do not flood a service that fails for every row, and leave few rows in doubt', async () => {
    await plan(200, 50);
    service.respond = WAYS['500'];
    let fruitless = 0;
    const tried = (): Set<unknown> => new Set(service.writes.map(({ body }) => body.n));
    for (let number = 1; number <= 15; number++) {
      const seen = service.writes.length;
      ({ fruitless } = await attempt(number, fruitless));
      expect(fruitless).toBe(number);
      const rows = new Set(service.writes.slice(seen).map(({ body }) => body.n));
      // Those in flight when the eighth one fails, and the sample.
      const sample = Math.max(1, Math.floor(12 / number));
      expect(rows.size).toBeLessThanOrEqual(8 + CONCURRENCY - 1 + sample);
    }
    // 12 + 6 + 4 + 3 + 2 + 2, and one for each of the nine attempts that follow.
    expect(tried().size).toBeLessThanOrEqual(8 + CONCURRENCY - 1 + 29 + 9);
    service.respond = () => null;
    expect((await attempt(16, fruitless)).done).toBe(true);
    expect((await outcomes()).every((outcome) => outcome === 'created')).toBe(true);
    expect(service.records.length).toBe(200);
  });

  it.each([0, 5, 30])(
    'do not hide that the service refuses every other row (%i attempts without an outcome before)',
    async (fruitless) => {
      await plan(400, 50);
      const order: unknown[] = [];
      service.respond = ({ body }) => {
        if (!order.includes(body.n)) order.push(body.n);
        const isBroken = order.indexOf(body.n) % 2 === 1;
        return { status: isBroken ? 500 : 401, body: '{"message":"It is refused."}' };
      };
      const { error } = await attempt(1, fruitless);
      expect(error).toMatchObject({ type: 'Refused', nonRetryable: true });
      // Eight refused rows and twelve in the sample, as many broken ones, and those in flight.
      expect(order.length).toBeLessThanOrEqual(2 * (8 + 12 + CONCURRENCY));
      const refused = order.filter((_, place) => place % 2 === 0);
      const found = await outcomes();
      for (const n of refused) expect(found[(n as number) - 1], `row ${n}`).toBeUndefined();
    },
  );
});
