import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SendAttempt } from '../../../activities/write-back/send-attempt.js';
import { loadChunk, readPlan } from '../../../activities/write-back/stored-batch.js';
import type { SendRowsInput, UnknownPolicy } from '../../../src/core/contract/write-back.js';
import { HOUR_MS } from '../../../src/core/duration.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import type { ActivityDeps } from '../../../src/run/deps.js';
import { readLogIndex } from '../../../src/write-back/chunk-logs.js';
import { Turn } from '../../../src/write-back/ledger/turn.js';
import { resultOf } from '../../../src/write-back/results.js';
import { type Answer, RowService } from '../../support/row-service.js';
import { client, HTTP } from '../api/support.js';
import { PLAN, planRows, SENDING, sendClock } from './planned-rows.js';

const ROWS = 40;

/** A service that makes a record of each request that it takes, whatever the idempotency key is. */
describe('a batch that never repeats a row in doubt', () => {
  let folder: string;
  let store: ObjectStore;
  let service: RowService;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-never-'));
    store = openStore({ url: `file://${folder}` } as Parameters<typeof openStore>[0]);
    service = await RowService.start();
    service.retentionMs = -1;
  });
  afterEach(async () => {
    await service.stop();
    store.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function attempt(
    token: string,
    on = store,
    isKilled = () => false,
    { unknown = 'report', run: of = token }: { readonly unknown?: UnknownPolicy; readonly run?: string } = {},
  ): Promise<void> {
    const rule = { idField: 'id', success: 'record', ignore: [] };
    const settings = {
      ...{ baseUrl: 'http://127.0.0.1:1', resources: [], http: HTTP, retries: { giveUpAfterMs: HOUR_MS } },
      writeBack: { 'time-entries': { path: 'time-entries', ...rule }, unknownAfterMs: HOUR_MS },
    } as unknown as ConnectionSettings;
    const run = new SendAttempt({
      deps: { now: () => Date.now(), draining: isKilled } as ActivityDeps,
      clock: sendClock(),
      connection: {
        settings,
        client: client(service.url, { retry: { attempts: 3, maxDelayMs: 2 } }),
        store: on,
      },
      input: { resource: 'time-entries', unknown, run: of } as SendRowsInput,
      plan: await readPlan(store, PLAN),
      logs: await readLogIndex(store, PLAN),
      sending: { ...SENDING, repeat: 'never' },
      turn: new Turn('time-entries', null),
      ...{ token, endBefore: Date.now() + HOUR_MS, limitedSince: null, fruitless: 0, hasAccepted: false },
    });
    await run.sendAll().catch(() => {});
  }

  async function outcomes(): Promise<(string | undefined)[]> {
    const plan = await readPlan(store, PLAN);
    const logs = await readLogIndex(store, PLAN);
    const chunks = await Promise.all(
      [...plan.file.chunks.keys()].map((one) => loadChunk(store, plan, one, logs)),
    );
    return chunks.flatMap(({ rows, states }) =>
      rows.map((row, index) => resultOf(row, states.get(index))?.outcome),
    );
  }

  it('writes each row at most once, and says which rows may be written', async () => {
    const answer = fc.constantFrom('drop', 'reset', 'error', 'limit', 'refused', 'fine', 'fine', 'fine');
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { minLength: 60, maxLength: 60 }), async (answers) => {
        await rm(folder, { recursive: true, force: true });
        service.records.length = 0;
        await planRows(store, ROWS, 10);
        let at = 0;
        service.respond = () => {
          const kind = answers[at++ % answers.length];
          if (kind === 'drop' || kind === 'reset') return kind;
          if (kind === 'error') return { status: 503, writes: at % 2 === 0 };
          if (kind === 'limit') return { status: 429, headers: { 'retry-after': '0' } };
          return kind === 'refused' ? { status: 429, writes: true } : null;
        };
        for (const token of ['one', 'two', 'three']) await attempt(token);
        service.respond = () => null;
        for (const token of ['four', 'five']) await attempt(token);
        const found = await outcomes();
        const records = (row: number) => service.records.filter(({ body }) => body.n === row).length;
        for (const [index, outcome] of found.entries()) {
          expect(records(index + 1)).toBeLessThanOrEqual(1);
          expect(['created', 'unknown']).toContain(outcome);
          if (outcome === 'created') expect(records(index + 1)).toBe(1);
        }
      }),
      { numRuns: 6 },
    );
  });

  const refusal = { status: 403, body: '{"message":"The project is closed."}' };

  it('sends a row again that was refused for a moment, because it was not written', async () => {
    await planRows(store, ROWS, 10);
    service.respond = ({ number }) => (number <= 3 ? refusal : null);
    for (const token of ['one', 'two']) await attempt(token);
    expect([new Set(await outcomes()), service.records.length]).toEqual([new Set(['created']), ROWS]);
  });

  it('sends a row in doubt once for each time that a user asks for it, although it is refused', async () => {
    await planRows(store, 6, 10, 3);
    service.respond = ({ body }) => ((body.n as number) <= 3 ? refusal : null);
    await attempt('asked', store, () => false, { unknown: 'resend' });
    expect(service.writes.map(({ body }) => body.n).sort()).toEqual([1, 2, 3, 4, 5, 6]);
    const unknown = ['unknown', 'unknown', 'unknown'];
    expect(await outcomes()).toEqual([...unknown, 'created', 'created', 'created']);
  });

  describe.each(['resend', 'skip'] as const)('a command with --unknown %s', (unknown) => {
    const inRun = (run: string, token: string) => attempt(token, store, () => false, { unknown, run });
    const sent = (row: number) => service.writes.filter(({ body }) => body.n === row).length;

    it.each<[what: string, answer: Answer | 'drop']>([
      ['a 504', { status: 504, writes: true }],
      ['a lost response', 'drop'],
      ['a 429 of a proxy', { status: 429, writes: true }],
    ])('sends a new row that gets %s once in a run, and leaves it to the user', async (_, answer) => {
      await planRows(store, 6, 10);
      service.respond = ({ body }) => ((body.n as number) <= 2 ? answer : null);
      for (const token of ['one', 'two', 'three']) await inRun('first', token);
      expect([sent(1), sent(2), service.writes.length]).toEqual([1, 1, 6]);
      expect((await outcomes()).slice(0, 3)).toEqual(['unknown', 'unknown', 'created']);
      // The user repeats the command.
      for (const token of ['four', 'five']) await inRun('second', token);
      expect([sent(1), sent(2)]).toEqual(unknown === 'resend' ? [2, 2] : [1, 1]);
      const left = unknown === 'resend' ? 'unknown' : 'skipped';
      expect((await outcomes()).slice(0, 3)).toEqual([left, left, 'created']);
    });
  });

  it('sends a row in doubt once for each time that a user asks for it, although its worker is killed', async () => {
    await planRows(store, 1, 10, 1);
    let killed = false;
    const dying: ObjectStore = new Proxy(store, {
      get: (target, name: keyof ObjectStore) =>
        killed ? () => Promise.reject(new Error('killed')) : target[name],
    });
    service.respond = () => {
      killed = true;
      return 'drop';
    };
    const asked = { unknown: 'resend', run: 'asked' } as const;
    await attempt('killed', dying, () => killed, asked);
    for (const token of ['next', 'last']) await attempt(token, store, () => false, asked);
    expect([service.writes.length, await outcomes()]).toEqual([1, ['unknown']]);
  });

  it.each([3, 11, 26, 39])(
    'leaves at most the rows in flight in doubt if it is killed after %i rows',
    async (rows) => {
      await planRows(store, ROWS, 10);
      let killed = false;
      // A killed worker writes nothing more to the lake, and sends nothing more.
      const dying: ObjectStore = new Proxy(store, {
        get: (target, name: keyof ObjectStore) =>
          killed
            ? () => Promise.reject(new Error('killed'))
            : (...given: never[]) => Reflect.apply(target[name] as () => unknown, target, given),
      });
      service.respond = () => {
        killed ||= service.writes.length >= rows;
        return killed ? 'drop' : null;
      };
      await attempt('killed', dying, () => killed);
      const found = await outcomes();
      expect(found.filter((outcome) => outcome === 'unknown').length).toBeLessThanOrEqual(
        2 * HTTP.concurrency,
      );
      service.respond = () => null;
      await attempt('next');
      for (let row = 1; row <= ROWS; row++)
        expect(service.records.filter(({ body }) => body.n === row).length).toBeLessThanOrEqual(1);
      const unknown = (await outcomes()).filter((outcome) => outcome === 'unknown').length;
      expect((await outcomes()).filter((outcome) => outcome === 'created').length).toBe(ROWS - unknown);
    },
  );
});
