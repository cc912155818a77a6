import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { openBatchKeys } from '../../../activities/write-back/batch-organization.js';
import { SendAttempt } from '../../../activities/write-back/send-attempt.js';
import { hasAcceptedRow, loadChunk, readPlan } from '../../../activities/write-back/stored-batch.js';
import type { SendRowsInput } from '../../../src/core/contract/write-back.js';
import { HOUR_MS } from '../../../src/core/duration.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import type { ActivityDeps } from '../../../src/run/deps.js';
import { readBatch } from '../../../src/write-back/batch-file.js';
import { batchKeys } from '../../../src/write-back/batch-layout.js';
import { readLogIndex } from '../../../src/write-back/chunk-logs.js';
import { Turn } from '../../../src/write-back/ledger/turn.js';
import type { BatchFile, RowReceipt } from '../../../src/write-back/plan-file.js';
import { resultOf } from '../../../src/write-back/results.js';
import { encodeSealed } from '../../../src/write-back/sealed.js';
import { type Random, seededRandom } from '../../support/random.js';
import { type Answer, RowService, type Write } from '../../support/row-service.js';
import { seeds } from '../../support/seeds.js';
import { client, HTTP } from '../api/support.js';
import { PLAN, planRows, SENDING, sendClock } from './planned-rows.js';

/** A clock that runs faster: a minute takes a tenth of a second. */
const SPEED = 600;
const SILENT = new DefaultLogger('ERROR', () => {});

/**
 * What the service does with idempotency keys, and what the configuration says of it. `honours`: a key makes one record. `never`: the
 * service ignores keys, and `repeat: never` says so. `ignores`: it ignores them, and the configuration does not say so.
 */
const SERVICES = ['honours', 'honours', 'never', 'ignores'] as const;
type Kind = (typeof SERVICES)[number];

const KINDS = [
  ...(['fine', 'fine', 'fine', 'fine', 'locks', 'stores', 'stores-silently', 'limits', 'throttles'] as const),
  ...(['refuses', 'fails', 'loses', 'drop', 'reset', 'rotates', 'rotates'] as const),
];

/** What a service does to requests for a while. Each oddity passes. */
class OddService {
  readonly #random: Random;
  readonly #kind: Kind;
  readonly #keyFile: string;
  /** A stored failure: every request with the key gets it again. */
  readonly #stored = new Map<string, Answer>();
  #isLocked = false;
  #left = 0;
  #oddity: (typeof KINDS)[number] = 'fine';
  /** The API key that is valid; with the one before it for a while. */
  #keys = ['a0'];
  rotations = 0;
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(random: Random, kind: Kind, keyFile: string) {
    this.#random = random;
    this.#kind = kind;
    this.#keyFile = keyFile;
  }

  /** Whether it answers every request with this key with a failure. */
  hasStored(key: string): boolean {
    return this.#kind === 'honours' && this.#stored.has(key);
  }

  /** From now on, it is an ordinary service. It keeps what it has stored. */
  calm(): void {
    this.#left = Number.POSITIVE_INFINITY;
    this.#oddity = 'fine';
  }

  /** Writes no key any more. */
  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** Writes the newest key into the file of the worker. */
  async handOut(): Promise<void> {
    await writeFile(this.#keyFile, this.#keys.at(-1)!);
  }

  organizationOf(key: string): string | null {
    if (this.#keys.includes(key)) return 'A';
    return key === 'b' ? 'B' : null;
  }

  async respond(write: Write): Promise<Answer | 'drop' | 'reset' | null> {
    const key = write.idempotencyKey ?? '';
    const stored = this.#stored.get(key);
    if (stored !== undefined && this.#kind === 'honours') return stored;
    if (this.#left-- <= 0) {
      this.#oddity = this.#random.pick(KINDS);
      this.#left = this.#random.below(12);
    }
    switch (this.#oddity) {
      case 'locks':
        if (this.#isLocked) return { status: 409, body: '{"message":"The timesheet is locked. Try again."}' };
        this.#isLocked = true;
        await new Promise((resolve) => setTimeout(resolve, 2));
        this.#isLocked = false;
        return null;
      case 'stores': {
        const answer = {
          status: 500,
          headers: { 'idempotent-replayed': 'true' },
          body: '{"message":"Failed."}',
        };
        this.#stored.set(key, answer);
        return { ...answer, headers: {} };
      }
      case 'stores-silently': {
        const answer = { status: 500, body: `{"message":"Failed.","request_id":"${write.number}"}` };
        this.#stored.set(key, answer);
        return answer;
      }
      case 'limits':
        return { status: 429, headers: { 'retry-after': '0' } };
      case 'throttles':
        // A proxy that may have passed the request on.
        return { status: 429, writes: this.#random.below(2) === 0 };
      case 'refuses':
        return { status: this.#random.pick([401, 403, 404, 405]), body: '{"message":"No."}' };
      case 'fails':
        return { status: this.#random.pick([500, 502, 503]), writes: this.#random.below(2) === 0 };
      case 'loses':
        return this.#random.below(2) === 0 ? 'drop' : null;
      case 'drop':
      case 'reset':
        return this.#oddity;
      case 'rotates':
        return this.#rotate();
      default:
        return null;
    }
  }

  /** Replaces the key. The earlier one is valid until the next time, or not; the worker gets the new one immediately, or a little later. */
  async #rotate(): Promise<null> {
    if (this.#left % 5 !== 0) return null;
    this.rotations++;
    const both = [...this.#keys.slice(-1), `a${this.rotations}`];
    this.#keys = this.#random.below(2) === 0 ? both : both.slice(1);
    if (this.#random.below(2) === 0) await this.handOut();
    else this.#timers.push(setTimeout(() => void this.handOut().catch(() => {}), this.#random.below(400)));
    return null;
  }
}

interface Totals {
  rounds: number;
  attempts: number;
  kills: number;
  rotations: number;
  refusedKeys: number;
  rows: number;
  created: number;
  unknown: number;
  doubles: number;
}

interface World {
  readonly random: Random;
  readonly store: ObjectStore;
  readonly service: RowService;
  readonly kind: Kind;
  readonly keyFile: string;
  readonly now: () => number;
  readonly totals: Totals;
}

async function play(seed: number, totals: Totals): Promise<void> {
  const random = seededRandom(seed);
  const kind = random.pick(SERVICES);
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-random-'));
  const store = openStore({ url: `file://${folder}` } as Parameters<typeof openStore>[0]);
  const service = await RowService.start();
  // A service that does not honour keys makes a record of each request.
  if (kind !== 'honours') service.retentionMs = -1;
  const keyFile = join(folder, 'key');
  const odd = new OddService(random, kind, keyFile);
  service.respond = (write) => odd.respond(write);
  service.organizationOf = (key) => odd.organizationOf(key);
  service.shows = 'records';
  // It takes the rows, but not all of their fields.
  if (random.below(3) === 0) service.keeps = ({ n }) => ({ n, note: null });
  const rows = 20 + random.below(80);
  const start = Date.now();
  const now = (): number => start + (Date.now() - start) * SPEED;
  const world: World = { random, store, service, kind, keyFile, now, totals };
  for (let n = 1; n <= rows; n++)
    service.records.push({ id: `r${n}`, organization: 'B', body: { n: n + 500, note: `of B, ${n}` } });
  try {
    await planRows(store, rows, 10 + random.below(30));
    await store.write(batchKeys('b').batch, encodeSealed({ sameAs: [] } as unknown as BatchFile));
    for (let number = 1, isTold = false; number <= 14; number++) {
      if (number === 7) odd.calm();
      const ended = await attempt(world, odd, { number, isTold });
      // A person looks, and says that it is the same organization.
      isTold = ended === 'key-not-shown';
      if (isTold) totals.refusedKeys++;
      if (ended === 'done' && number >= 7) break;
    }
    await check(world, odd, seed);
    await repeat(world, odd, seed);
  } finally {
    totals.rounds++;
    totals.rotations += odd.rotations;
    odd.stop();
    await service.stop();
    store.close();
    // A killed attempt may still write.
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

type Ended = 'done' | 'ended' | 'key-not-shown';

/** One attempt to send the rows, in a run of its own. Some are killed. Before the service is calm, some have the key of another organization. */
async function attempt(
  { random, store, service, kind, keyFile, now, totals }: World,
  odd: OddService,
  { number, isTold }: { readonly number: number; readonly isTold: boolean },
): Promise<Ended> {
  const isOdd = number < 7;
  const diesAfter = isOdd && random.below(2) === 0 ? 1 + random.below(12) : Number.POSITIVE_INFINITY;
  const batch = (await readBatch(store, 'b'))!.file;
  const hasWritten = service.records.some(({ organization }) => organization === 'A');
  const isForeign = isOdd && !isTold && hasWritten && batch.keys !== undefined && random.below(6) === 0;
  if (isForeign) await writeFile(keyFile, 'b');
  else await odd.handOut();
  totals.attempts++;
  let writes = 0;
  const isDead = (): boolean => writes > diesAfter;
  const dying: ObjectStore = new Proxy(store, {
    get: (target, name: keyof ObjectStore) =>
      name !== 'swap'
        ? target[name]
        : async (...given: Parameters<ObjectStore['swap']>) => {
            // A killed worker writes nothing more, and sends nothing more.
            if (++writes > diesAfter) throw new Error('the worker was killed');
            return target.swap(...given);
          },
  });
  const rule = { path: 'time-entries', idField: 'id', success: 'record', ignore: [] };
  const settings = {
    ...{ baseUrl: 'http://127.0.0.1:1', resources: [], http: HTTP, retries: { giveUpAfterMs: 24 * HOUR_MS } },
    writeBack: { 'time-entries': rule, unknownAfterMs: 24 * 365 * HOUR_MS },
  } as unknown as ConnectionSettings;
  const http = client(service.url, {
    ...{ apiKey: { file: keyFile }, awaitKeyMs: 300 },
    ...{ retry: { attempts: 2, maxDelayMs: 5 }, giveUpAfterMs: 24 * HOUR_MS },
  });
  const token = `t${number}`;
  const input = {
    ...{ connection: 'acme', resource: 'time-entries', batchId: 'b', plan: PLAN, turn: null },
    ...{ unknown: 'report', run: token, limitedSince: null, sameOrganization: isTold },
  } as const satisfies SendRowsInput;
  const logs = await readLogIndex(store, PLAN);
  let run: SendAttempt | null = null;
  const connection = { settings, client: http, store: dying };
  const send = async (): Promise<Ended> => {
    const keys = await openBatchKeys({
      ...{ connection, input, batch, path: 'time-entries', logs },
      flush: async () => run?.flush(),
    });
    run = new SendAttempt({
      deps: { now, draining: isDead } as ActivityDeps,
      clock: sendClock(now),
      connection: { ...connection, client: keys.client },
      input,
      plan: await readPlan(store, PLAN),
      sending: { ...SENDING, repeat: kind === 'never' ? 'never' : 'always' },
      ...{ logs, turn: new Turn('time-entries', null), hasAccepted: await hasAcceptedRow(store, logs) },
      ...{ token, endBefore: now() + 24 * HOUR_MS, limitedSince: null, fruitless: 0 },
    });
    return (await run.sendAll()) ? 'done' : 'ended';
  };
  const ended: Ended = await new MockActivityEnvironment({}, { logger: SILENT })
    .run<[], Ended, typeof send>(send)
    .catch((error: Error) => (error.message.includes('--same-organization') ? 'key-not-shown' : 'ended'));
  if (isDead()) totals.kills++;
  // The key of another organization is not that of the batch.
  return isForeign ? 'ended' : ended;
}

async function receiptsOf(store: ObjectStore): Promise<(RowReceipt | null)[]> {
  const plan = await readPlan(store, PLAN);
  const logs = await readLogIndex(store, PLAN);
  const receipts: (RowReceipt | null)[] = [];
  for (const number of plan.file.chunks.keys()) {
    const chunk = await loadChunk(store, plan, number, logs);
    for (const [index, row] of chunk.rows.entries()) receipts.push(resultOf(row, chunk.states.get(index)));
  }
  return receipts;
}

/** Compares the receipts with the records of the service. */
async function check({ store, service, kind, totals }: World, odd: OddService, seed: number): Promise<void> {
  const own = service.records.filter(({ organization }) => organization === 'A');
  const receipts = await receiptsOf(store);
  const others = service.records.length - own.length;
  expect(others, `seed ${seed}: records of another organization`).toBe(receipts.length);
  for (let row = 1; row <= receipts.length; row++) {
    const records = own.filter(({ body }) => body.n === row).length;
    const receipt = receipts[row - 1];
    const outcome = receipt?.outcome;
    const where = `seed ${seed}, ${kind}, row ${row}: ${outcome}, ${receipt?.message}, ${records} records`;
    // Every row is correct.
    expect(['created', 'unknown'], where).toContain(outcome);
    if (kind === 'honours') expect(outcome, where).toBe(odd.hasStored(`u${row}`) ? 'unknown' : 'created');
    if (outcome === 'created') expect(records, where).toBeGreaterThanOrEqual(1);
    if (kind !== 'ignores') expect(records, where).toBeLessThanOrEqual(1);
    else if (records > 1 && outcome === 'created')
      expect(receipt?.message, where).toContain('more than once');
    totals.rows++;
    if (outcome === 'created' || outcome === 'unknown') totals[outcome]++;
    if (records > 1) totals.doubles++;
  }
}

/** The same command again: no row with a receipt is sent again. */
async function repeat(world: World, odd: OddService, seed: number): Promise<void> {
  const { store, service } = world;
  const before = await receiptsOf(store);
  const seen = service.writes.length;
  await attempt(world, odd, { number: 99, isTold: false });
  for (const { body } of service.writes.slice(seen))
    expect(before[Number(body.n) - 1]?.outcome, `seed ${seed}, row ${body.n} again`).toBe('unknown');
  await check(world, odd, seed);
}

const SEEDS = seeds(4);

it('writes one record for each row, whatever the service does, and never rejects a correct row', async () => {
  const totals: Totals = {
    ...{ rounds: 0, attempts: 0, kills: 0, rotations: 0, refusedKeys: 0 },
    ...{ rows: 0, created: 0, unknown: 0, doubles: 0 },
  };
  for (const seed of SEEDS) await play(seed, totals);
  console.log(JSON.stringify(totals));
});
