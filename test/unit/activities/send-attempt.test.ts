import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ChunkFeed } from '../../../activities/write-back/chunk-feed.js';
import { OpenChunk } from '../../../activities/write-back/open-chunk.js';
import { SendAttempt } from '../../../activities/write-back/send-attempt.js';
import { SendClock } from '../../../activities/write-back/send-clock.js';
import { sendRows } from '../../../activities/write-back/send-rows.js';
import { loadChunk, readPlan } from '../../../activities/write-back/stored-batch.js';
import { WAIT_BUDGET_MS } from '../../../activities/write-back/waiting-rows.js';
import type { ObjectKey } from '../../../src/core/brands.js';
import type { SendHeartbeat, SendRowsInput } from '../../../src/core/contract/write-back.js';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/duration.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import type { ActivityDeps } from '../../../src/run/deps.js';
import { planKeys } from '../../../src/write-back/batch-layout.js';
import { readLogIndex } from '../../../src/write-back/chunk-logs.js';
import { Turn, TurnVerdicts } from '../../../src/write-back/ledger/turn.js';
import type { LoggedRow } from '../../../src/write-back/plan-file.js';
import { resultOf } from '../../../src/write-back/results.js';
import { encodeSealed } from '../../../src/write-back/sealed.js';
import type { Respond, RowService } from '../../support/row-service.js';
import { client, HTTP } from '../api/support.js';
import { clocksAt, PLAN, planRows, SENDING, sendClock } from './planned-rows.js';
import { openRowWorld, type RowWorld } from './row-world.js';

const DEPS = { now: () => Date.now(), draining: () => false } as ActivityDeps;
const FORBIDDEN = { status: 403, body: '{"message":"The project is closed."}' };

describe('an attempt at sending rows', () => {
  let world: RowWorld;
  let store: ObjectStore;
  let service: RowService;
  beforeEach(async () => {
    world = await openRowWorld();
    ({ store, service } = world);
  });
  afterEach(() => world.close());

  const plan = (rows: number, rowsAChunk: number): Promise<void> => planRows(store, rows, rowsAChunk);

  /** The log of an earlier attempt of another run. */
  function earlier(chunk: number, rows: readonly LoggedRow[], at: number): Promise<unknown> {
    const accepted = rows.filter(([, outcome]) => outcome === 'created').length;
    const log = { run: 'earlier', at: clocksAt(at), accepted, closed: true, rows };
    return store.write(planKeys(PLAN).log(chunk, `earlier-${chunk}`, 'open'), encodeSealed(log));
  }

  async function optionsOf(on: ObjectStore) {
    const rule = { idField: 'id', success: 'record', ignore: [] };
    const settings = {
      baseUrl: 'http://127.0.0.1:1',
      resources: [],
      http: HTTP,
      retries: { giveUpAfterMs: HOUR_MS },
      writeBack: { 'time-entries': { path: 'time-entries', ...rule }, unknownAfterMs: HOUR_MS },
    } as unknown as ConnectionSettings;
    const http = client(service.url, { retry: { attempts: 2, maxDelayMs: 10 }, giveUpAfterMs: HOUR_MS });
    return {
      deps: { now: () => Date.now() } as ActivityDeps,
      clock: sendClock(),
      connection: { settings, client: http, store: on },
      input: { resource: 'time-entries', batchId: 'b', unknown: 'report', run: 'run' } as SendRowsInput,
      plan: await readPlan(store, PLAN),
      logs: await readLogIndex(store, PLAN),
      sending: SENDING,
      turn: new Turn('time-entries', null),
      token: 't',
      endBefore: Date.now() + HOUR_MS,
      limitedSince: null,
      fruitless: 0,
      hasAccepted: false,
    };
  }

  /** Sends the rows. Returns whether all have an outcome, or why the attempt stopped. */
  async function attempt(
    respond: Respond,
    now = Date.now,
    token = 't',
    draining = () => false,
  ): Promise<unknown> {
    service.respond = respond;
    const options = await optionsOf(store);
    const deps = { now, draining } as ActivityDeps;
    return new SendAttempt({
      ...options,
      deps,
      clock: sendClock(now),
      token,
      endBefore: now() + 24 * HOUR_MS,
    })
      .sendAll()
      .catch((error: Error) => error.message);
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

  it('rejects no row that the service does not find before other rows were accepted after that', async () => {
    await plan(3, 10);
    await earlier(
      0,
      [
        [0, 'created', 201, 'r1', null],
        [1, 'held', 403, null, 'Closed.'],
      ],
      Date.now(),
    );
    const missing = { status: 404, body: '{"message":"No such project."}' };
    expect(await attempt(() => missing)).toContain('the service refused 2 rows with 404');
    expect(await outcomes()).toEqual(['created', undefined, undefined]);
  });

  it('stops after a few rows if the service refuses all, even if many chunks have no row to send', async () => {
    await plan(400, 10);
    // Rows of an attempt so long ago that they are not sent again: in every chunk but a few.
    const tried = Array.from({ length: 10 }, (_, index): LoggedRow => [index, 'tried', null, null, null]);
    for (let chunk = 2; chunk < 40; chunk++) if (chunk % 3 !== 0) await earlier(chunk, tried, 1);
    expect(await attempt(() => FORBIDDEN)).toContain('the service refused');
    expect(service.writes.length).toBeLessThanOrEqual(8 + 4 + 12);
  });

  it('leaves a refused row in doubt if its worker is killed after it was asked for again', async () => {
    await plan(1, 10);
    let isKilled = false;
    const dying: ObjectStore = new Proxy(store, {
      get: (target, name: keyof ObjectStore) =>
        isKilled ? () => Promise.reject(new Error('killed')) : target[name],
    });
    service.respond = ({ number }) => {
      isKilled = number === 2;
      return isKilled ? 'drop' : { status: 409, body: '{"message":"The timesheet is locked."}' };
    };
    const options = await optionsOf(dying);
    const deps = { ...options.deps, draining: () => isKilled };
    await new SendAttempt({ ...options, deps }).sendAll().catch(() => {});
    expect([service.writes.length, await outcomes()]).toEqual([2, ['unknown']]);
  });

  const turnOf = (verdicts: TurnVerdicts) => new Turn('time-entries', verdicts.file(1, [0, 1]));
  const inTurn = async (turn: Turn) =>
    new SendAttempt({ ...(await optionsOf(store)), deps: DEPS, turn })
      .sendAll()
      .catch((error: Error) => error);
  const endTurn = (turn: Turn) => store.write(turn.fence!, Buffer.from('{}'));
  const TURN_ENDED = { message: expect.stringContaining('the turn of this batch has ended') };

  it('sends no row once its turn has ended, and leaves none in doubt', async () => {
    await plan(20, 10);
    const turn = turnOf(new TurnVerdicts(20, 'b'));
    await endTurn(turn);
    expect(await inTurn(turn)).toMatchObject(TURN_ENDED);
    expect([service.writes.length, new Set(await outcomes())]).toEqual([0, new Set([undefined])]);
  });

  it('asks for no row again once its turn has ended', async () => {
    await plan(1, 10);
    const turn = turnOf(new TurnVerdicts(1, 'b'));
    service.respond = async () => {
      await endTurn(turn);
      return { status: 409, body: '{"message":"The timesheet is locked."}' };
    };
    expect(await inTurn(turn)).toMatchObject(TURN_ENDED);
    expect([service.writes.length, await outcomes()]).toEqual([1, [undefined]]);
  });

  it('sends no row that the look-up has found, whatever its finding is', async () => {
    await plan(4, 10);
    const verdicts = new TurnVerdicts(4, 'b');
    const by = { number: 1, batchId: 'other', at: 1, baseUrl: '' };
    for (const [row, finding] of (['written', 'doubtful'] as const).entries())
      verdicts.add({ row: row + 1, finding, by, wasDoubtful: false }, 'report');
    expect(await inTurn(turnOf(verdicts))).toBe(true);
    expect(service.writes.map(({ body }) => body.n).sort()).toEqual([1, 4]);
  });

  it('keeps a row in doubt if its next request is not sent', async () => {
    await plan(2, 10);
    const options = await optionsOf(store);
    const chunk = new OpenChunk(options, await loadChunk(store, options.plan, 0, options.logs));
    await chunk.begin();
    for (const row of [0, 1]) chunk.sending(row);
    chunk.note(0, 'tried', { status: 500, message: 'Failed.' });
    chunk.sending(0);
    for (const row of [0, 1]) chunk.unsent(row);
    await chunk.close();
    expect(await outcomes()).toEqual(['unknown', undefined]);
  });

  it('sends a row in doubt once if the service rejects it, and waits while it may process the earlier request', async () => {
    await plan(4, 10);
    const tried = [0, 1, 2].map((index): LoggedRow => [index, 'tried', null, null, null]);
    await earlier(0, tried, Date.now());
    let conflicts = 2;
    const respond: Respond = ({ body }) => {
      const status = [413, 410, 409, 201][(body.n as number) - 1]!;
      if (status === 201 || (status === 409 && conflicts-- <= 0)) return null;
      return { status, body: `{"message":"It is ${status}."}` };
    };
    expect(await attempt(respond)).toBe(true);
    expect(service.writes.map(({ body }) => body.n).sort()).toEqual([1, 2, 3, 3, 3, 4]);
    expect(await outcomes()).toEqual(['unknown', 'unknown', 'created', 'created']);
  });

  /** A clock that runs faster: a minute takes a tenth of a second. */
  const fast = (): (() => number) => {
    const start = Date.now();
    return () => start + (Date.now() - start) * 600;
  };

  it('rejects a refused row once it is refused again and again while others are accepted', async () => {
    await plan(400, 100);
    const respond: Respond = async ({ body }) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return body.n === 3 || body.n === 7
        ? { status: body.n === 3 ? 404 : 403, body: '{"message":"No."}' }
        : null;
    };
    expect(await attempt(respond, fast())).toBe(true);
    const found = await outcomes();
    expect([found[2], found[6], new Set(found).size]).toEqual(['rejected', 'rejected', 2]);
    for (const row of [3, 7]) {
      const asked = service.writes.filter(({ body }) => body.n === row).length;
      expect(asked).toBeGreaterThan(3);
      expect(asked).toBeLessThan(12);
    }
  });

  it.each([
    ['an old key', 401, 'Unknown key.'],
    ['an ingress', 404, 'default backend - 404'],
    ['a firewall', 405, ''],
  ])('sends all rows that %s has refused for a moment', async (_, status, body) => {
    await plan(200, 100);
    const respond: Respond = ({ number }) => (number > 60 && number <= 90 ? { status, body } : null);
    let sent = await attempt(respond);
    // What is left is not sent, and the same command continues.
    for (let token = 0; sent !== true && token < 3; token++)
      sent = await attempt(respond, Date.now, `t${token}x`);
    expect(sent).toBe(true);
    expect(new Set(await outcomes())).toEqual(new Set(['created']));
    expect(service.records.length).toBe(200);
  });

  it('sends all rows that a firewall has challenged for a moment with a status of success', async () => {
    await plan(60, 100);
    const challenge = { status: 202, headers: { 'x-amzn-waf-action': 'challenge' } };
    const respond: Respond = ({ number }) => (number > 20 && number <= 60 ? challenge : null);
    let sent = await attempt(respond);
    for (let token = 0; sent !== true && token < 5; token++)
      sent = await attempt(respond, Date.now, `t${token}x`);
    expect([sent, new Set(await outcomes())]).toEqual([true, new Set(['created'])]);
    expect(service.records.length).toBe(60);
  });

  it('does not send the last rows if the key loses its grant for them', async () => {
    await plan(100, 100);
    const sent = await attempt(({ body }) => ((body.n as number) > 95 ? FORBIDDEN : null));
    expect(sent).toContain('the service refused 5 rows with 403');
    expect((await outcomes()).slice(95)).toEqual(new Array(5).fill(undefined));
  });

  it('writes all rows of a service that locks while it writes, with less and less at the same time', async () => {
    await plan(60, 100);
    let isLocked = false;
    const locked = {
      ...{ status: 409, headers: { 'retry-after': '1' } },
      body: '{"message":"The timesheet is being changed by another request. Please try again."}',
    };
    const respond: Respond = async () => {
      if (isLocked) return locked;
      isLocked = true;
      await new Promise((resolve) => setTimeout(resolve, 5));
      isLocked = false;
      return null;
    };
    expect(await attempt(respond, fast())).toBe(true);
    expect(new Set(await outcomes())).toEqual(new Set(['created']));
    expect(service.writes.length).toBeLessThan(120);
  });

  it('sends nothing more if the service asks to wait until tomorrow, and leaves no row in doubt', async () => {
    await plan(60, 100);
    const limit = { status: 429, headers: { 'retry-after': '43200' } };
    const sent = await attempt(({ number }) => (number > 20 ? limit : null));
    expect(sent).toMatch(
      /^time-entries: the service answered 429 and asks to wait .*12h.*, until \d{4}-.*Z, .*The rest is not sent/,
    );
    const found = await outcomes();
    expect(found.filter((outcome) => outcome === 'created').length).toBe(20);
    expect(found.filter((outcome) => outcome === undefined).length).toBe(40);
    expect(service.writes.length).toBeLessThanOrEqual(20 + 2 * HTTP.concurrency);
  });

  it('stops after rejections that are alike and no accepted row, and rejects none of these rows', async () => {
    await plan(300, 100);
    const wrong: Respond = ({ body }) => ({
      status: 422,
      body: `{"message":"Unknown project \\"P${body.n}\\""}`,
    });
    expect(await attempt(wrong)).toContain('rejected rows from all over the file with 422');
    expect(new Set(await outcomes())).toEqual(new Set([undefined]));
    expect(service.writes.length).toBeLessThanOrEqual(20 + HTTP.concurrency + 12);
    expect(await attempt(() => null, Date.now, 't2')).toBe(true);
    expect(service.records.length).toBe(300);
  });

  it('rejects rows that are rejected alike if others are accepted, or if they are all of the file', async () => {
    await plan(60, 100);
    const respond: Respond = ({ body }) =>
      (body.n as number) <= 25 ? { status: 422, body: '{"message":"Too long."}' } : null;
    expect(await attempt(respond)).toBe(true);
    const found = await outcomes();
    expect(found.filter((outcome) => outcome === 'rejected').length).toBe(25);
    expect(found.filter((outcome) => outcome === 'created').length).toBe(35);
  });

  it('waits no longer for a limit in words if other rows are accepted after it', async () => {
    await plan(400, 100);
    const limit = { status: 403, body: '{"message":"The quota of this project is used up."}' };
    const sent = await attempt(({ body }) => (body.n === 7 ? limit : null));
    expect(sent).toContain('the service refused a row with 403');
    expect((await outcomes())[6]).toBeUndefined();
    expect(service.records.length).toBe(399);
  });

  it('says that a failure is stored if it is equal each time while others are accepted', async () => {
    await plan(400, 100);
    const stored = '{"message":"Internal error","request_id":"8a1f0c2e-0000-4000-8000-000000000001"}';
    const respond: Respond = async ({ body, number }) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (body.n === 3) return { status: 500, body: stored };
      if (body.n === 7) return { status: 500, body: '{"message":"Internal error"}' };
      // New each time.
      return body.n === 9 && number < 350 ? { status: 500, body: `{"request_id":"${number}"}` } : null;
    };
    await attempt(respond, fast());
    const { file } = await readPlan(store, PLAN);
    const { states } = await loadChunk(store, { key: PLAN, file }, 0, await readLogIndex(store, PLAN));
    expect(states.get(2)?.message).toMatch(
      /has stored the answer 500 under the idempotency key .* Look for the record .* resend b --rows 3 --new-key$/,
    );
    expect(states.get(6)?.message).toContain('fails for this row each time');
    expect(states.get(8)?.unclearIn ?? []).toEqual([]);
  });

  it('knows in a later attempt that a failure is the same as before, and never takes a limit for one', async () => {
    await plan(600, 100);
    const id = '8a1f0c2e-0000-4000-8000-000000000001';
    const respond: Respond = async ({ body }) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      const text = `{"message":"Row ${body.n}","request_id":"${id}"}`;
      if (body.n === 3) return { status: 500, body: text };
      if (body.n === 7) return { status: 500, body: '{"message":"Internal error"}' };
      return body.n === 9 ? { status: 429, body: text } : null;
    };
    // Two rows a second: no attempt takes a minute.
    const start = Date.now();
    const now = (): number => start + service.records.length * 500;
    for (let number = 1; number <= 10; number++) {
      const upTo = service.records.length + 40;
      await attempt(respond, now, `t${number}`, () => service.records.length >= upTo);
    }
    const { file } = await readPlan(store, PLAN);
    const { states } = await loadChunk(store, { key: PLAN, file }, 0, await readLogIndex(store, PLAN));
    expect(states.get(2)?.message).toMatch(/has stored the answer 500 .* resend b --rows 3 --new-key$/);
    expect(states.get(6)?.message).toContain('fails for this row each time');
    expect(states.get(8)?.unclearIn ?? []).toEqual([]);
    for await (const { key } of store.list('_write-back/'))
      if (key.includes('/log/')) expect((await store.read(key)).toString()).not.toContain(id);
  });

  it('does not trust that the service remembers a row if the clock was set back', async () => {
    await plan(2, 10);
    await earlier(0, [[0, 'tried', null, null, null]], Date.now() + 48 * HOUR_MS);
    expect(await attempt(() => null)).toBe(true);
    expect(await outcomes()).toEqual(['unknown', 'created']);
  });

  it('sends rows in doubt again if its worker is a second behind the last one', async () => {
    await plan(40, 10);
    const tried = Array.from({ length: 10 }, (_, index): LoggedRow => [index, 'tried', null, null, null]);
    for (let chunk = 0; chunk < 4; chunk++) await earlier(chunk, tried, Date.now() + 3_000);
    expect(await attempt(() => null)).toBe(true);
    expect(new Set(await outcomes())).toEqual(new Set(['created']));
  });

  it("does not trust a worker's clock that is behind if the attempt has waited for it longer than keys are remembered", async () => {
    await plan(1, 10);
    const then = Date.now();
    await earlier(0, [[0, 'tried', null, null, null]], then);
    service.respond = () => null;
    const waited = then + 13 * HOUR_MS;
    const clock = new SendClock({ now: () => then }, { serverTime: () => waited }, () => then + MINUTE_MS);
    const deps = { now: () => then, draining: () => false } as ActivityDeps;
    const options = { ...(await optionsOf(store)), deps, clock, endBefore: then + HOUR_MS };
    expect(await new SendAttempt(options).sendAll()).toBe(true);
    expect([await outcomes(), service.writes]).toEqual([['unknown'], []]);
  });

  it('sends nothing if its plan is one of another build', async () => {
    await plan(4, 10);
    const { connection, deps, input } = await optionsOf(store);
    await store.write(PLAN, encodeSealed((await readPlan(store, PLAN)).file, 3, '9.8.7'));
    const meter = { record: () => {} } as unknown as ActivityDeps['meter'];
    const all = { ...deps, meter, draining: () => false, connection: () => connection } as ActivityDeps;
    const sending = new MockActivityEnvironment().run(() =>
      sendRows(all, { ...input, plan: PLAN, turn: null, limitedSince: null }),
    );
    await expect(sending).rejects.toMatchObject({
      ...{ type: 'Transient', nonRetryable: false },
      message: expect.stringContaining('written by worktrack 9.8.7'),
    });
    expect(service.writes).toEqual([]);
  });

  it('waits for a limit again if an earlier attempt of the call has had a row accepted', async () => {
    await plan(1, 10);
    const limit = { status: 403, body: '{"message":"Rate limit exceeded."}' };
    service.respond = ({ number }) => (number <= 2 ? limit : null);
    const { connection, deps, input } = await optionsOf(store);
    const meter = { record: () => {} } as unknown as ActivityDeps['meter'];
    const all = { ...deps, meter, draining: () => false, connection: () => connection } as ActivityDeps;
    // The call began while the batch waited for a limit. Since then, the limit has ended.
    const heartbeat = {
      ...{ rows: 0, waitingUntil: null, limitedSince: null, fruitless: 1 },
    } satisfies SendHeartbeat;
    const env = new MockActivityEnvironment({
      ...{ attempt: 2, heartbeatDetails: heartbeat, scheduleToCloseTimeoutMs: HOUR_MS },
    });
    const limitedSince = Date.now() - WAIT_BUDGET_MS;
    const given = { ...input, plan: PLAN, turn: null, limitedSince };
    const sent = await env.run(() => sendRows(all, given));
    expect(sent).toEqual({ done: true, rows: 1, limitedSince: null });
    expect(await outcomes()).toEqual(['created']);
  });

  /** An attempt of the activity, whose first one was scheduled so long ago, ms. @param number of the attempt, from 1 */
  async function attemptAfter(
    ageMs: number,
    giveUpAfterMs: number,
    number = ageMs === 0 ? 1 : 2,
  ): Promise<unknown> {
    const { connection, deps, input } = await optionsOf(store);
    const settings = { ...connection.settings, retries: { giveUpAfterMs } };
    const meter = { record: () => {} } as unknown as ActivityDeps['meter'];
    const own = { ...connection, settings } as typeof connection;
    const all = { ...deps, meter, draining: () => false, connection: () => own } as ActivityDeps;
    const now = Date.now();
    const times = { scheduledTimestampMs: now - ageMs, currentAttemptScheduledTimestampMs: now };
    const env = new MockActivityEnvironment({ attempt: number, ...times });
    return env.run(() => sendRows(all, { ...input, plan: PLAN, turn: null, limitedSince: null }));
  }

  it('sends no row to another address than its plan says, as on a worker with another configuration', async () => {
    await plan(4, 10);
    const { connection, deps, input } = await optionsOf(store);
    const settings = { ...connection.settings, baseUrl: 'https://other.example.com' };
    const all = {
      ...{ ...deps, origin: 'worktrack.yaml', meter: { record: () => {} } },
      ...{ draining: () => false, connection: () => ({ ...connection, settings }) },
    } as unknown as ActivityDeps;
    const sending = new MockActivityEnvironment().run(() =>
      sendRows(all, { ...input, plan: PLAN, turn: null, limitedSince: null }),
    );
    await expect(sending).rejects.toMatchObject({
      ...{ type: 'Configuration', nonRetryable: true },
      message: expect.stringMatching(
        /sends its rows to http:\S+, but worktrack.yaml has the baseUrl https:\/\/other/,
      ),
    });
    expect(service.writes).toEqual([]);
  });

  it('gives up if workers are lost again and again for longer than its time, so that the lock is released', async () => {
    await plan(40, 10);
    const lost = attemptAfter(HOUR_MS + 2 * MINUTE_MS, HOUR_MS, 4);
    await expect(lost).rejects.toMatchObject({
      ...{ type: 'Transient', nonRetryable: true },
      message: expect.stringMatching(/^gave up: time-entries: workers that sent rows were lost/),
    });
    expect(service.writes).toEqual([]);
    expect(await outcomes()).toEqual(new Array(40).fill(undefined));
    // The last attempt that a failure may ask for begins up to a minute after that time.
    expect(await attemptAfter(HOUR_MS + MINUTE_MS / 2, HOUR_MS, 90)).toMatchObject({ done: true, rows: 40 });
  });

  it('passes on what it knows of earlier attempts even if it cannot read its plan', async () => {
    await plan(1, 10);
    const { connection, deps, input } = await optionsOf(store);
    const meter = { record: () => {} } as unknown as ActivityDeps['meter'];
    const slow = new Proxy(store, {
      get: (target, name: keyof ObjectStore) =>
        name === 'read'
          ? () => beaten.then(() => Promise.reject(new Error('The store is not available.')))
          : target[name],
    });
    const own = { ...connection, store: slow };
    const all = { ...deps, meter, draining: () => false, connection: () => own } as ActivityDeps;
    const before = {
      ...{ rows: 7, waitingUntil: null, limitedSince: 5, fruitless: 3 },
    } satisfies SendHeartbeat;
    const env = new MockActivityEnvironment({ attempt: 2, heartbeatDetails: before });
    const beaten = new Promise<unknown>((resolve) => env.on('heartbeat', resolve));
    const given = { ...input, plan: PLAN, turn: null, limitedSince: null };
    await expect(env.run(() => sendRows(all, given))).rejects.toThrow('The store is not available.');
    expect(await beaten).toEqual(before);
  });

  it('sends its rows however long it has waited for a worker', async () => {
    await plan(40, 10);
    expect(await attemptAfter(48 * HOUR_MS, MINUTE_MS)).toMatchObject({ done: true, rows: 40 });
  });

  it('gives up after its time with closed logs, so that rows that it has not sent do not count as sent', async () => {
    await plan(40, 10);
    service.respond = () => ({ status: 500, body: '{"message":"It is broken."}' });
    await expect(attemptAfter(0, HOUR_MS)).rejects.toMatchObject({
      ...{ type: 'Transient', nonRetryable: false },
      message: expect.stringMatching(/^time-entries: \d+ rows have no known outcome/),
    });
    await expect(attemptAfter(HOUR_MS, HOUR_MS)).rejects.toMatchObject({
      ...{ type: 'Transient', nonRetryable: true },
      message: expect.stringMatching(/^gave up: time-entries: \d+ rows have no known outcome/),
    });
    const tried = new Set(service.writes.map(({ body }) => body.n));
    expect(tried.size).toBeGreaterThan(0);
    expect(tried.size).toBeLessThan(40);
    for (const [index, outcome] of (await outcomes()).entries())
      expect(outcome, `row ${index + 1}`).toBe(tried.has(index + 1) ? 'unknown' : undefined);
  });

  it('fails if its time ends and no row has an outcome, so that a batch without responses gives up', async () => {
    await plan(40, 10);
    service.respond = () => new Promise(() => {});
    const options = await optionsOf(store);
    const settings = { ...options.connection.settings, retries: { giveUpAfterMs: 800 } };
    const connection = { ...options.connection, settings } as typeof options.connection;
    const deps = { now: Date.now, draining: () => false } as ActivityDeps;
    const hanging = new SendAttempt({ ...options, deps, connection, endBefore: Date.now() + 3000 });
    await expect(hanging.sendAll()).rejects.toThrow(/have no known outcome; see results.csv/);
    expect(service.writes.length).toBeLessThan(40);
  });

  it('says what the service last answered if rows have no outcome', async () => {
    await plan(3, 10);
    const moved = { status: 308, headers: { location: '/elsewhere' } };
    expect(await attempt(({ body }) => (body.n === 1 ? null : moved))).toBe(false);
    expect(await attempt(() => moved, Date.now, 't2')).toBe(
      'time-entries: 2 rows have no known outcome, and the service last answered 308, a redirect, which a write does not ' +
        'follow; see results.csv',
    );
  });

  it('closes the log of a chunk that is being opened when it ends, so that its rows do not count as sent', async () => {
    await plan(20, 10);
    const opening = planKeys(PLAN).log(1, 't', 'open');
    let opened: Promise<unknown> = Promise.resolve();
    const slow: ObjectStore = new Proxy(store, {
      get:
        (target, name: keyof ObjectStore) =>
        async (key: ObjectKey, ...more: never[]) => {
          const call = () => Reflect.apply(target[name] as () => unknown, target, [key, ...more]);
          if (name !== 'swap' || key !== opening) return call();
          const first = new Promise((resolve) => setTimeout(resolve, 100)).then(call);
          opened = first;
          return first;
        },
    });
    const deps = { now: Date.now, draining: () => false } as ActivityDeps;
    const run = new SendAttempt({ ...(await optionsOf(slow)), deps });
    service.respond = () => {
      run.halt(new Error('the batch was stopped'));
      return null;
    };
    await expect(run.sendAll()).rejects.toThrow('the batch was stopped');
    await opened;
    expect((await outcomes()).slice(10)).toEqual(new Array(10).fill(undefined));
  });

  it('takes no row twice, whatever opens its chunk first', async () => {
    await plan(12, 4);
    const tried = Array.from({ length: 4 }, (_, index): LoggedRow => [index, 'tried', null, null, null]);
    for (const chunk of [0, 1]) await earlier(chunk, tried, 1);
    let reads = 0;
    const reordering: ObjectStore = new Proxy(store, {
      get:
        (target, name: keyof ObjectStore) =>
        async (key: ObjectKey, ...more: never[]) => {
          // The first read of the only chunk with rows to send ends after the second one, if there is one.
          if (name === 'read' && key.endsWith('/000002.ndjson') && reads++ === 0)
            for (let turn = 0; turn < 2_000; turn++) await new Promise((resolve) => setImmediate(resolve));
          return Reflect.apply(target[name] as () => unknown, target, [key, ...more]);
        },
    });
    const options = await optionsOf(reordering);
    const feed = new ChunkFeed(options, { onOpen: () => {}, onSettled: () => {}, mustEnd: () => false });
    const [, ahead] = await Promise.all([feed.advance('any'), feed.takeAt(0)]);
    const taken = [ahead];
    for (let task = feed.take('any'); task !== null; task = feed.take('any')) taken.push(task);
    expect(taken.map((task) => task?.row.row).sort()).toEqual([10, 11, 12, 9]);
  });

  it('stops to look for rows that the service accepts if it runs into a limit', async () => {
    await plan(400, 10);
    const limit = { status: 403, body: '{"message":"Rate limit exceeded."}' };
    let now = Date.now();
    // Each look at the clock takes two seconds.
    const clock = () => {
      now += 2_000;
      return now;
    };
    const respond: Respond = ({ body }) => ((body.n as number) <= 8 ? FORBIDDEN : limit);
    expect(await attempt(respond, clock)).toContain('the service refused');
    expect(new Set(service.writes.map(({ body }) => body.n)).size).toBeLessThan(100);
  });
});
