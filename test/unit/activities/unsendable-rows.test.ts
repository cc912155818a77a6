import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ChunkWriter } from '../../../activities/write-back/plan-write-back.js';
import { SendAttempt } from '../../../activities/write-back/send-attempt.js';
import { loadChunk, readPlan, writePlan } from '../../../activities/write-back/stored-batch.js';
import type { SendRowsInput } from '../../../src/core/contract/write-back.js';
import { HOUR_MS } from '../../../src/core/duration.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import type { ActivityDeps } from '../../../src/run/deps.js';
import { planKeys } from '../../../src/write-back/batch-layout.js';
import { readLogIndex } from '../../../src/write-back/chunk-logs.js';
import { Turn } from '../../../src/write-back/ledger/turn.js';
import { resultOf } from '../../../src/write-back/results.js';
import { encodeSealed } from '../../../src/write-back/sealed.js';
import type { RowService } from '../../support/row-service.js';
import { client, HTTP } from '../api/support.js';
import { clocksAt, PLAN, SENDING, sendClock } from './planned-rows.js';
import { openRowWorld, type RowWorld } from './row-world.js';

describe('upserts whose keys fit into no URL', () => {
  let world: RowWorld;
  let store: ObjectStore;
  let service: RowService;
  beforeEach(async () => {
    world = await openRowWorld();
    ({ store, service } = world);
  });
  afterEach(() => world.close());

  async function plan(keys: readonly string[]): Promise<void> {
    const writer = new ChunkWriter(store, PLAN, 'w', 100);
    for (const [at, key] of keys.entries())
      await writer.add({
        ...{ row: at + 1, line: at + 2, key, idempotencyKey: `u${at}`, content: '', pair: ['cal', key] },
        ...{ body: '{"title":"t"}', verdict: null, receipt: null, sentAt: null },
      });
    const { chunks, pending } = await writer.finish();
    const file = { sequence: 1, baseUrl: 'http://127.0.0.1:1', input: PLAN, rows: keys.length, writer: 'w' };
    await writePlan(store, PLAN, { ...file, chunks, pending });
  }

  /** Of an attempt that was killed after it had opened the chunk: each row may have been sent. */
  function killed(at: number): Promise<unknown> {
    const log = { run: 'run', at: clocksAt(at), accepted: 0, closed: false, rows: [] };
    return store.write(planKeys(PLAN).log(0, 'killed', 'open'), encodeSealed(log));
  }

  async function attempt(token: string, more: Partial<SendRowsInput> = {}): Promise<unknown> {
    const resource = 'calendar-entries';
    const rule = { path: resource, style: 'put-path', idField: 'id', success: 'record', ignore: [] };
    const settings = {
      ...{ baseUrl: 'http://127.0.0.1:1', resources: [], http: HTTP, retries: { giveUpAfterMs: HOUR_MS } },
      writeBack: { [resource]: rule, unknownAfterMs: HOUR_MS },
    } as unknown as ConnectionSettings;
    return new SendAttempt({
      deps: { now: () => Date.now(), draining: () => false } as ActivityDeps,
      clock: sendClock(),
      connection: { settings, client: client(service.url, { retry: { attempts: 2, maxDelayMs: 5 } }), store },
      input: { resource, batchId: 'b', unknown: 'report', run: 'run', ...more } as SendRowsInput,
      plan: await readPlan(store, PLAN),
      logs: await readLogIndex(store, PLAN),
      sending: { ...SENDING, path: resource, style: 'put-path' },
      turn: new Turn(resource, null),
      ...{ token, endBefore: Date.now() + HOUR_MS, limitedSince: null, fruitless: 0, hasAccepted: false },
    })
      .sendAll()
      .catch((error: Error) => error.message);
  }

  async function results() {
    const stored = await readPlan(store, PLAN);
    const { rows, states } = await loadChunk(store, stored, 0, await readLogIndex(store, PLAN));
    return rows.map((row, index) => resultOf(row, states.get(index)));
  }

  const KEYS = ['.', 'a', '..', 'b', '\ud800', 'c'];

  it('are rejected, and the others are sent', async () => {
    await plan(KEYS);
    expect(await attempt('one')).toBe(true);
    const outcomes = (await results()).map((result) => result?.outcome);
    expect(outcomes).toEqual(['rejected', 'created', 'rejected', 'created', 'rejected', 'created']);
    expect(service.writes.length).toBe(3);
  });

  it.each([
    ['just before', Date.now(), {}],
    ['so long ago that the service may have forgotten their keys', 1, { unknown: 'resend' }],
  ] as const)('stay unknown, and the others are sent, if a worker was killed %s', async (_, at, more) => {
    await plan(KEYS);
    await killed(at);
    expect(await attempt('next', more)).toBe(true);
    const found = await results();
    const outcomes = found.map((result) => result?.outcome);
    expect(outcomes).toEqual(['unknown', 'created', 'unknown', 'created', 'unknown', 'created']);
    for (const row of [0, 2]) expect(found[row]?.message).toContain('cannot be a segment of a URL path');
    expect(found[4]?.message).toContain('A lone surrogate cannot be encoded in a URL');
    expect(service.writes.length).toBe(3);
  });
});
