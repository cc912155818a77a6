import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SendAttempt } from '../../../activities/write-back/send-attempt.js';
import { loadChunk, readPlan } from '../../../activities/write-back/stored-batch.js';
import type { SendRowsInput } from '../../../src/core/contract/write-back.js';
import { HOUR_MS } from '../../../src/core/duration.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import { openStore } from '../../../src/lake/store/index.js';
import type { ActivityDeps } from '../../../src/run/deps.js';
import { readLogIndex } from '../../../src/write-back/chunk-logs.js';
import { Turn } from '../../../src/write-back/ledger/turn.js';
import { resultOf } from '../../../src/write-back/results.js';
import { type Answer, RowService } from '../../support/row-service.js';
import { client, HTTP } from '../api/support.js';
import { PLAN, planRows, SENDING, sendClock } from './planned-rows.js';

const says = (message: string): string => JSON.stringify({ message });

/** `lost`: written, but the connection breaks; `reset`: not written, and it breaks. */
const ANSWERS = {
  ok: null,
  lost: 'drop',
  reset: 'reset',
  invalid: { status: 422, body: says('Too long.') },
  exists: { status: 409, body: says('The entry already exists.') },
  locked: { status: 409, body: says('The timesheet is locked.') },
  'in-progress': { status: 409, body: says('A request with this Idempotency-Key is in progress.') },
  closed: { status: 403, body: says('The project is closed.') },
  'no-key': { status: 401, body: says('Unknown key.') },
  missing: { status: 404, body: says('No such project.') },
  limit: { status: 429, headers: { 'retry-after': '0' } },
  throttled: { status: 429 },
  error: { status: 500, body: says('Internal error') },
  'error, written': { status: 500, body: says('Internal error'), writes: true },
  'error with an id': {
    status: 500,
    body: '{"message":"Failed.","request_id":"8a1f0c2e-0000-4000-8000-000000000001"}',
  },
  unavailable: { status: 503, headers: { 'retry-after': '0' } },
  timeout: { status: 408 },
  replayed: { status: 500, headers: { 'idempotent-replayed': 'true' }, body: says('Failed.') },
  'no record': { status: 200, body: '{}' },
} as const satisfies Record<string, Answer | 'drop' | 'reset' | null>;

type Name = keyof typeof ANSWERS;

/** The answers to the requests of one row, in order; the last one repeats. Meanwhile, other rows are accepted. */
const CASES: readonly (readonly [answers: readonly Name[], outcome: string, records: number])[] = [
  [['ok'], 'created', 1],
  [['lost', 'ok'], 'created', 1],
  [['reset', 'ok'], 'created', 1],
  [['locked', 'ok'], 'created', 1],
  [['locked', 'locked', 'ok'], 'created', 1],
  [['in-progress', 'ok'], 'created', 1],
  [['lost', 'in-progress', 'ok'], 'created', 1],
  [['limit', 'ok'], 'created', 1],
  [['throttled', 'ok'], 'created', 1],
  [['error', 'ok'], 'created', 1],
  [['error, written', 'ok'], 'created', 1],
  [['error', 'error', 'ok'], 'created', 1],
  [['unavailable', 'unavailable', 'ok'], 'created', 1],
  [['timeout', 'ok'], 'created', 1],
  [['closed', 'ok'], 'created', 1],
  [['no-key', 'ok'], 'created', 1],
  [['missing', 'closed', 'ok'], 'created', 1],
  [['invalid'], 'rejected', 0],
  [['exists'], 'rejected', 0],
  [['reset', 'invalid'], 'rejected', 0],
  [['locked', 'invalid'], 'rejected', 0],
  [['closed', 'exists'], 'rejected', 0],
  [['lost', 'exists'], 'unknown', 1],
  [['error, written', 'exists'], 'unknown', 1],
  [['throttled', 'exists'], 'unknown', 0],
  [['throttled', 'missing'], 'unknown', 0],
  [['throttled', 'closed'], 'unknown', 0],
  [['lost', 'closed'], 'unknown', 1],
  [['lost', 'missing'], 'unknown', 1],
  [['lost', 'locked'], 'unknown', 1],
  [['error'], 'unknown', 0],
  [['error with an id'], 'unknown', 0],
  [['replayed'], 'unknown', 0],
  [['no record'], 'unknown', 0],
];

describe('a row gets its outcome from its answers in order', () => {
  it.each(CASES)('%j: %s, %i records', async (answers, outcome, records) => {
    const folder = await mkdtemp(join(tmpdir(), 'worktrack-order-'));
    const store = openStore({ url: `file://${folder}` } as Parameters<typeof openStore>[0]);
    const service = await RowService.start();
    // What is settled by the same answer again and again takes many other rows.
    const all = outcome === 'unknown' ? 400 : 40;
    let at = 0;
    service.respond = ({ body }) =>
      body.n === 2 ? ANSWERS[answers[Math.min(at++, answers.length - 1)]!] : null;
    // A second for each row, and a minute in a tenth of a second.
    const start = Date.now();
    const now = (): number => start + service.records.length * 1000 + (Date.now() - start) * 600;
    try {
      await planRows(store, all, all);
      for (let attempt = 1; attempt <= 2; attempt++) {
        const rule = { path: 'time-entries', idField: 'id', success: 'record', ignore: [] };
        const settings = {
          ...{
            baseUrl: 'http://127.0.0.1:1',
            resources: [],
            http: HTTP,
            retries: { giveUpAfterMs: HOUR_MS },
          },
          writeBack: { 'time-entries': rule, unknownAfterMs: HOUR_MS },
        } as unknown as ConnectionSettings;
        const http = client(service.url, { retry: { attempts: 1, maxDelayMs: 5 }, giveUpAfterMs: HOUR_MS });
        await new SendAttempt({
          deps: { now, draining: () => false } as ActivityDeps,
          clock: sendClock(now),
          connection: { settings, client: http, store },
          input: { resource: 'time-entries', batchId: 'b', unknown: 'report', run: 'one' } as SendRowsInput,
          plan: await readPlan(store, PLAN),
          logs: await readLogIndex(store, PLAN),
          ...{ sending: SENDING, turn: new Turn('time-entries', null), hasAccepted: attempt > 1 },
          ...{ token: `t${attempt}`, endBefore: now() + HOUR_MS, limitedSince: null, fruitless: 0 },
        })
          .sendAll()
          .catch(() => {});
      }
      const plan = await readPlan(store, PLAN);
      const { rows, states } = await loadChunk(store, plan, 0, await readLogIndex(store, PLAN));
      const found = rows.map((row, index) => resultOf(row, states.get(index))?.outcome);
      expect([found[1], service.records.filter(({ body }) => body.n === 2).length]).toEqual([
        outcome,
        records,
      ]);
      expect(new Set(found.filter((_, index) => index !== 1))).toEqual(new Set(['created']));
    } finally {
      await service.stop();
      store.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
