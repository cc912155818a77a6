import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SendAttempt } from '../../../activities/write-back/send-attempt.js';
import {
  hasAcceptedRow,
  loadChunk,
  readLogIndex,
  readPlan,
} from '../../../activities/write-back/stored-batch.js';
import type { SendRowsInput } from '../../../src/core/contract/write-back.js';
import { HOUR_MS } from '../../../src/core/duration.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import type { ActivityDeps } from '../../../src/run/deps.js';
import { Turn } from '../../../src/write-back/ledger/turn.js';
import { resultOf } from '../../../src/write-back/results.js';
import { seededRandom } from '../../support/random.js';
import { type Answer, RowService, type Write } from '../../support/row-service.js';
import { rounds, seeds } from '../../support/seeds.js';
import { client, HTTP } from '../api/support.js';
import { PLAN, planRows, SENDING, sendClock } from './planned-rows.js';

/** A clock that runs faster: a minute takes a tenth of a second. */
const SPEED = 600;

type Random = ReturnType<typeof seededRandom>;

/** What a service does to requests for a while. Each oddity passes. */
class OddService {
  readonly #random: Random;
  readonly #repeats: 'always' | 'never';
  /** A stored failure: every request with the key gets it again. */
  readonly #stored = new Map<string, Answer>();
  #isLocked = false;
  #left = 0;
  #kind: (typeof KINDS)[number] = 'fine';

  constructor(random: Random, repeats: 'always' | 'never') {
    this.#random = random;
    this.#repeats = repeats;
  }

  /** From now on, it is an ordinary service. It keeps what it has stored. */
  calm(): void {
    this.#left = Number.POSITIVE_INFINITY;
    this.#kind = 'fine';
  }

  async respond(write: Write): Promise<Answer | 'drop' | 'reset' | null> {
    const key = write.idempotencyKey ?? '';
    const stored = this.#stored.get(key);
    if (stored !== undefined && this.#repeats === 'always') return stored;
    if (this.#left-- <= 0) {
      this.#kind = this.#random.pick(KINDS);
      this.#left = this.#random.below(12);
    }
    switch (this.#kind) {
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
      case 'limits':
        return { status: 429, headers: { 'retry-after': '0' } };
      case 'refuses':
        return { status: this.#random.pick([401, 403, 404, 405]), body: '{"message":"No."}' };
      case 'fails':
        return { status: this.#random.pick([500, 502, 503]), writes: this.#random.below(2) === 0 };
      case 'exists':
        return this.#random.below(2) === 0 ? 'drop' : null;
      case 'drop':
      case 'reset':
        return this.#kind;
      default:
        return null;
    }
  }
}

const KINDS = [
  'fine',
  'fine',
  'fine',
  'locks',
  'stores',
  'limits',
  'refuses',
  'fails',
  'exists',
  'drop',
  'reset',
] as const;

async function play(seed: number): Promise<void> {
  const random = seededRandom(seed);
  const repeat = random.below(3) === 0 ? 'never' : 'always';
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-random-'));
  const store = openStore({ url: `file://${folder}` } as Parameters<typeof openStore>[0]);
  const service = await RowService.start();
  // A service that does not honour keys makes a record of each request.
  if (repeat === 'never') service.retentionMs = -1;
  const odd = new OddService(random, repeat);
  service.respond = (write) => odd.respond(write);
  const rows = 20 + random.below(80);
  const start = Date.now();
  const now = (): number => start + (Date.now() - start) * SPEED;
  try {
    await planRows(store, rows, 10 + random.below(30));
    for (let number = 1; number <= 12; number++) {
      if (number === 6) odd.calm();
      const diesAfter = number < 6 && random.below(2) === 0 ? 1 + random.below(12) : Number.POSITIVE_INFINITY;
      const done = await attempt(store, service, { token: `t${number}`, diesAfter, repeat, now });
      if (done && number >= 6) break;
    }
    await check(store, service, { rows, repeat, seed });
  } finally {
    await service.stop();
    store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Attempt {
  readonly token: string;
  readonly diesAfter: number;
  readonly repeat: 'always' | 'never';
  readonly now: () => number;
}

async function attempt(
  store: ObjectStore,
  service: RowService,
  { token, diesAfter, repeat, now }: Attempt,
): Promise<boolean> {
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
  const http = client(service.url, { retry: { attempts: 2, maxDelayMs: 5 }, giveUpAfterMs: 24 * HOUR_MS });
  const logs = await readLogIndex(store, PLAN);
  const run = new SendAttempt({
    deps: { now, draining: isDead } as ActivityDeps,
    clock: sendClock(now),
    connection: { settings, client: http, store: dying } as never,
    input: { resource: 'time-entries', unknown: 'report', run: token } as SendRowsInput,
    plan: await readPlan(store, PLAN),
    sending: { ...SENDING, repeat },
    ...{ logs, turn: new Turn('time-entries', null), hasAccepted: await hasAcceptedRow(store, logs) },
    ...{ token, endBefore: now() + 24 * HOUR_MS, limitedSince: null, fruitless: 0 },
  });
  return run.sendAll().catch(() => false);
}

/** Compares the receipts with the records of the service. */
async function check(
  store: ObjectStore,
  service: RowService,
  { rows, repeat, seed }: { readonly rows: number; readonly repeat: string; readonly seed: number },
): Promise<void> {
  const plan = await readPlan(store, PLAN);
  const logs = await readLogIndex(store, PLAN);
  const outcomes: (string | undefined)[] = [];
  for (const number of plan.file.chunks.keys()) {
    const chunk = await loadChunk(store, plan, number, logs);
    for (const [index, row] of chunk.rows.entries())
      outcomes.push(resultOf(row, chunk.states.get(index))?.outcome);
  }
  for (let row = 1; row <= rows; row++) {
    const records = service.records.filter(({ body }) => body.n === row).length;
    const outcome = outcomes[row - 1];
    const where = `seed ${seed}, ${repeat}, row ${row}: ${outcome}, ${records} records`;
    // Every row is correct.
    expect(['created', 'unknown'], where).toContain(outcome);
    expect(records, where).toBeLessThanOrEqual(1);
    if (outcome === 'created') expect(records, where).toBe(1);
  }
}

it(
  'writes one record for each row, whatever the service does, and never rejects a correct row',
  async () => {
    for (const seed of seeds(6)) await play(seed);
  },
  20_000 + rounds(6) * 20_000,
);
