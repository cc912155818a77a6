import { describe, expect, it, test } from 'vitest';
import { likenessOf } from '../../../activities/write-back/alike-rejections.js';
import { type RequestOutcome, sendRowRequest } from '../../../activities/write-back/row-request.js';
import { WaitingRows } from '../../../activities/write-back/waiting-rows.js';
import type { SentBefore } from '../../../src/api/index.js';
import { isMarked } from '../../../src/api/write-meaning.js';
import { toByteString } from '../../../src/core/brands.js';
import type { SendRowsInput } from '../../../src/core/contract/write-back.js';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/duration.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import { SENDING, sendClock } from '../activities/planned-rows.js';
import { client, service } from '../api/support.js';

/** Whether an earlier request may have written the row: no, yes, and so long ago that its key may be forgotten. */
const BEFORE = { '-': 'never', earlier: 'remembered', forgotten: 'forgotten' } as const satisfies Record<
  string,
  SentBefore
>;

/**
 * `rejected`, `unknown`: the outcome. `refused`, `limit`, `conflict`, `failing`: the row is asked for again, as described in the
 * guarantees. `not sent`: nothing was written. `doubt`: it may have been. `; stop`: no other row is sent. `, doubt`: an earlier request may have
 * written the row, so it is never rejected.
 */
type Meaning = string;
type Case = readonly [
  before: keyof typeof BEFORE,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
  meaning: Meaning,
];

const says = (message: string): string => JSON.stringify({ message });
const WAIT = { 'retry-after': '1' };
const TOMORROW = { 'retry-after': '43200' };
const REPLAYED = { 'idempotent-replayed': 'true' };
const PAGE = '<html><head><title>404</title></head><body>default backend - 404</body></html>';
const CAPTCHA = '<html><title>Just a moment...</title><body>Checking your browser</body></html>';

const CASES: readonly Case[] = [
  // Conflicts that pass.
  ['-', 409, WAIT, says('The timesheet is being changed by another request. Please try again.'), 'conflict'],
  ['-', 409, {}, says('The timesheet is locked.'), 'conflict'],
  ['-', 423, {}, '', 'conflict'],
  ['-', 423, {}, says('Locked by another user'), 'conflict'],
  ['-', 409, {}, says('database is busy'), 'conflict'],
  ['-', 409, {}, says('deadlock detected'), 'conflict'],
  ['-', 409, {}, says('could not serialize access due to concurrent update'), 'conflict'],
  ['-', 409, {}, '{"code":"RESOURCE_LOCKED"}', 'conflict'],
  ['-', 409, {}, says('Version conflict, retry the operation'), 'conflict'],
  ['-', 409, {}, says('Temporarily unavailable'), 'conflict'],
  ['-', 409, {}, says('Please try again later.'), 'conflict'],
  ['-', 409, {}, '{"code":"ResourceLocked"}', 'conflict'],
  ['-', 409, {}, '{"code":"OptimisticLockException"}', 'conflict'],
  ['-', 409, {}, '{"error":"lockTimeout"}', 'conflict'],
  ['-', 409, {}, '{"error":"WriteConflict"}', 'conflict'],
  ['-', 409, {}, says('The timesheet was changed since it was read.'), 'conflict'],
  ['-', 409, {}, says('The timesheet is being recalculated.'), 'conflict'],
  ['-', 409, {}, says('Another change is in flight.'), 'conflict'],
  ['-', 409, {}, says('Too many parallel changes. Please wait.'), 'conflict'],
  ['-', 423, {}, says('The week is approved.'), 'conflict'],
  ['-', 409, WAIT, '', 'conflict'],
  ['-', 409, {}, says('A timer is in progress.'), 'conflict'],
  ['-', 409, WAIT, says('The record already exists.'), 'conflict'],
  ['-', 423, TOMORROW, says('The week is locked.'), 'conflict'],
  ['earlier', 409, {}, says('The timesheet is locked.'), 'conflict, doubt'],
  ['forgotten', 409, {}, says('The timesheet is locked.'), 'conflict, doubt'],
  // Another request with the same key decides.
  ['-', 409, {}, says('A request with this Idempotency-Key is in progress.'), 'conflict, doubt'],
  ['-', 409, {}, says('Idempotency key already used.'), 'conflict, doubt'],
  ['-', 409, {}, says('The request is still processing.'), 'conflict, doubt'],
  ['-', 409, {}, '{"error":"idempotency_key_in_use"}', 'conflict, doubt'],
  ['earlier', 409, WAIT, says('Request in progress'), 'conflict, doubt'],
  ['earlier', 423, {}, says('being processed'), 'conflict, doubt'],
  // It exists: perhaps because an earlier request has written it.
  ['-', 409, {}, says('The entry already exists.'), 'rejected'],
  ['-', 409, {}, '{"code":"ALREADY_EXISTS"}', 'rejected'],
  ['-', 409, {}, says('duplicate key value violates unique constraint'), 'rejected'],
  ['-', 422, {}, says('Reference has already been taken'), 'rejected'],
  ['-', 400, {}, says('Duplicate entry'), 'rejected'],
  ['earlier', 409, {}, says('The entry already exists.'), 'unknown'],
  ['earlier', 409, {}, '{"code":"AlreadyExists"}', 'unknown'],
  ['earlier', 409, {}, says('Duplicate entry'), 'unknown'],
  ['earlier', 422, {}, says('Reference has already been taken'), 'unknown'],
  ['earlier', 400, {}, says('reference must be unique'), 'unknown'],
  ['forgotten', 422, {}, says('Reference has already been taken'), 'unknown'],
  ['earlier', 422, {}, says('The entry overlaps an existing entry.'), 'unknown'],
  ['earlier', 409, {}, says('It conflicts with an existing entry.'), 'unknown'],
  ['earlier', 422, {}, says('Reference has been taken'), 'unknown'],
  ['earlier', 422, {}, says('You have already logged this time.'), 'unknown'],
  ['earlier', 422, {}, says('This entry has already been submitted.'), 'unknown'],
  ['earlier', 422, {}, says("The reference isn't unique."), 'unknown'],
  ['earlier', 400, {}, '{"code":"UniquenessViolated"}', 'unknown'],
  ['earlier', 422, {}, says('An identical entry was found.'), 'unknown'],
  ['-', 422, {}, says('The entry overlaps an existing entry.'), 'rejected'],
  // No such record: the opposite.
  ['-', 409, {}, says('The project does not exist.'), 'rejected'],
  ['-', 409, {}, says('The project no longer exists.'), 'rejected'],
  ['earlier', 422, {}, says("The project doesn't exist."), 'rejected'],
  ['earlier', 422, {}, '{"code":"DOES_NOT_EXIST"}', 'rejected'],
  ['earlier', 422, {}, '{"code":"DoesNotExist"}', 'rejected'],
  ['earlier', 422, {}, says('The project must be an existing one.'), 'rejected'],
  // Other conflicts and contents.
  ['-', 409, {}, says('It lies on a holiday.'), 'rejected'],
  ['-', 409, {}, '', 'rejected'],
  ['earlier', 409, {}, says('It lies on a holiday.'), 'conflict, doubt'],
  ['-', 400, {}, says('Too long.'), 'rejected'],
  ['-', 422, {}, says('Rate limit of the week.'), 'rejected'],
  ['earlier', 422, {}, says('Too long.'), 'rejected'],
  ['forgotten', 422, {}, says('Too long.'), 'unknown'],
  ['-', 410, {}, '', 'rejected'],
  ['-', 412, {}, '', 'rejected'],
  ['-', 413, {}, '', 'rejected'],
  ['earlier', 410, {}, '', 'unknown'],
  ['earlier', 413, {}, '', 'unknown'],
  // Refusals, and places that are not found.
  ['-', 401, {}, says('Unknown key.'), 'refused'],
  ['-', 402, {}, says('Upgrade the plan.'), 'refused'],
  ['-', 403, {}, says('The project is closed.'), 'refused'],
  ['-', 404, {}, says('No such project.'), 'refused'],
  ['-', 404, {}, PAGE, 'refused'],
  ['-', 405, {}, '', 'refused'],
  ['earlier', 401, {}, says('Unknown key.'), 'refused, doubt'],
  ['earlier', 403, {}, says('The project is closed.'), 'refused, doubt'],
  ['earlier', 404, {}, PAGE, 'refused, doubt'],
  ['forgotten', 403, {}, '', 'refused, doubt'],
  // Limits.
  ['-', 403, {}, says('Rate limit exceeded.'), 'limit'],
  ['-', 402, {}, says('Quota exceeded.'), 'limit'],
  ['-', 402, {}, says('The credits are exhausted.'), 'limit'],
  ['-', 403, {}, says('Maximum number of API calls reached.'), 'limit'],
  ['-', 403, {}, says('You are sending requests too fast.'), 'limit'],
  ['earlier', 403, {}, says('Rate limit exceeded.'), 'limit, doubt'],
  ['-', 403, WAIT, '', 'not sent'],
  ['-', 403, { 'x-ratelimit-remaining': '0' }, '', 'not sent'],
  ['-', 420, WAIT, '', 'not sent'],
  ['-', 429, WAIT, '', 'not sent'],
  ['-', 429, { 'x-ratelimit-remaining': '0' }, '', 'not sent'],
  ['-', 429, { ratelimit: '"default";r=0;t=5' }, '', 'not sent'],
  ['-', 429, { ratelimit: '"default";r=0;t=30' }, '', 'not sent; stop'],
  ['-', 429, {}, '', 'doubt'],
  ['-', 429, {}, says('Daily quota exceeded'), 'doubt'],
  ['earlier', 429, WAIT, '', 'doubt'],
  ['earlier', 403, WAIT, '', 'doubt'],
  ['-', 429, TOMORROW, '', 'not sent; stop'],
  ['-', 403, TOMORROW, says('Daily quota'), 'not sent; stop'],
  ['-', 429, { 'retry-after': '3600' }, '', 'not sent; stop'],
  ['earlier', 429, TOMORROW, '', 'doubt; stop'],
  // Failures of the service, and of what is in front of it.
  ['-', 500, {}, says('Internal error'), 'failing'],
  ['-', 502, {}, '', 'failing'],
  ['-', 503, {}, '', 'failing'],
  ['-', 503, WAIT, '', 'failing'],
  ['-', 503, TOMORROW, '', 'doubt; stop'],
  ['-', 504, {}, '', 'failing'],
  ['earlier', 500, {}, '', 'failing'],
  ['-', 408, {}, '', 'doubt'],
  ['-', 425, {}, '', 'doubt'],
  ['-', 302, { location: '/login' }, '', 'doubt'],
  ['-', 403, { 'cf-mitigated': 'challenge' }, CAPTCHA, 'not sent'],
  ['-', 503, {}, CAPTCHA, 'doubt'],
  ['-', 202, { 'x-amzn-waf-action': 'challenge' }, '', 'doubt'],
  ['-', 200, { 'cf-mitigated': 'challenge' }, '{"id":"r1"}', 'doubt'],
  ['-', 200, {}, CAPTCHA, 'doubt'],
  ['-', 201, { location: '/time-entries/r1' }, CAPTCHA, 'doubt'],
  ['earlier', 200, {}, CAPTCHA, 'doubt'],
  ['-', 200, {}, PAGE, 'unknown'],
  ['-', 201, {}, '{"id":"r1","note":"<html>captcha-delivery.com, just a moment"}', 'created'],
  // Stored answers.
  ['-', 500, REPLAYED, says('Internal error'), 'unknown'],
  ['earlier', 500, REPLAYED, '', 'unknown'],
  ['earlier', 503, { 'idempotency-replayed': '1' }, '', 'unknown'],
  ['earlier', 500, { 'x-idempotent-replay': 'yes' }, '', 'unknown'],
  ['earlier', 500, { 'idempotency-status': 'replayed' }, '', 'unknown'],
  ['earlier', 500, { 'idempotency-key-status': 'cached' }, '', 'unknown'],
  ['-', 500, { 'idempotent-replayed': 'false' }, '', 'failing'],
  ['-', 403, REPLAYED, '', 'unknown'],
  ['-', 404, REPLAYED, '', 'unknown'],
  ['-', 409, REPLAYED, says('The timesheet is locked.'), 'unknown'],
  ['-', 429, REPLAYED, '', 'unknown'],
  ['-', 422, REPLAYED, says('Too long.'), 'rejected'],
  ['earlier', 422, REPLAYED, says('Too long.'), 'rejected'],
  ['earlier', 201, REPLAYED, '{"id":"r1"}', 'created'],
];

async function meaningOf(one: Case): Promise<Meaning> {
  return (await sendOne(one)).meaning;
}

/** @param notAfter when the service may have forgotten the key */
async function sendOne(
  [before, status, headers, body]: Case,
  notAfter = Number.MAX_SAFE_INTEGER,
): Promise<{ readonly meaning: Meaning; readonly requests: number }> {
  const { url, seen } = await service((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body);
  });
  const rule = { path: 'time-entries', idField: 'id', success: 'record', ignore: [] };
  const writeBack = { 'time-entries': rule, unknownAfterMs: HOUR_MS };
  const settings = { writeBack, resources: [] } as unknown as ConnectionSettings;
  const http = client(url, { retry: { attempts: 2, maxDelayMs: 10 }, giveUpAfterMs: 6 * HOUR_MS });
  const row = {
    ...{
      row: 1,
      line: 2,
      key: 'k',
      idempotencyKey: 'u-1',
      content: '',
      pair: null,
      body: toByteString('{}'),
    },
    ...{ verdict: null, receipt: null, sentAt: null },
  };
  const task = { chunk: null as never, index: 0, row, failing: null, notAfter };
  const sent = await sendRowRequest(
    { ...task, before: BEFORE[before] } as Parameters<typeof sendRowRequest>[0],
    {
      connection: { settings, client: http, store: null as never },
      clock: sendClock(),
      sending: SENDING,
      input: { resource: 'time-entries' } as SendRowsInput,
    },
    { signal: new AbortController().signal, onWait: () => undefined, onLimit: () => undefined },
  );
  return { meaning: meaningOfOutcome(sent), requests: seen.length };
}

function meaningOfOutcome(sent: RequestOutcome): Meaning {
  switch (sent.kind) {
    case 'settled':
      return sent.receipt.outcome;
    case 'unclear':
      return 'unknown';
    case 'failing':
      return 'failing';
    case 'unsent':
      return sent.stop === null ? 'not sent' : 'not sent; stop';
    case 'in-doubt':
      return sent.stop === null ? 'doubt' : 'doubt; stop';
    default:
      return `${sent.kind === 'limited' ? 'limit' : sent.kind}${sent.refusal.inDoubt ? ', doubt' : ''}`;
  }
}

describe('an answer to a write', () => {
  test.for(
    CASES.map((one) => {
      const [before, status, headers, body, meaning] = one;
      const header = Object.entries(headers).map(([name, value]) => ` ${name}: ${value}`);
      const earlier =
        before === '-' ? '' : ` after ${before === 'earlier' ? 'an earlier' : 'a forgotten'} request`;
      return [
        `${status}${header.join('')}${earlier}: ${body.slice(0, 60) || 'empty'} -> ${meaning}`,
        one,
      ] as const;
    }),
  )('%s', async ([, one]) => {
    expect(await meaningOf(one)).toBe(one[4]);
  });
});

describe('a row whose key the service may forget', () => {
  it.each<[what: string, leftMs: number, before: Case[0], requests: number]>([
    ['is not sent after that time', -1, 'earlier', 0],
    ['is not sent for the first time either', -1, '-', 0],
    ['is sent, and sent again, before that time', HOUR_MS, 'earlier', 2],
  ])('%s', async (_, leftMs, before, requests) => {
    const limit: Case = [before, 429, { 'retry-after': '0' }, '', 'not sent'];
    expect((await sendOne(limit, Date.now() + leftMs)).requests).toBe(requests);
  });
});

describe('a row whose answer may pass', () => {
  /** Asks for the row at these times, s, with a row accepted before each time that is not in `alone`. Returns when it is settled. */
  function settledAt(
    times: readonly number[],
    { accepts = true, same = true, counts = true } = {},
  ): number | null {
    const rows = new WaitingRows<string>(null);
    let order = 0;
    for (const [at, time] of times.entries()) {
      if (accepts && at > 0) rows.accepted('other', ++order);
      const sameness = same ? '403' : `${at}`;
      if (rows.answered('row', { now: time * 1000, order: ++order, sameness, counts })) return time;
    }
    return null;
  }

  it.each<[string, readonly number[], Parameters<typeof settledAt>[1], number | null]>([
    ['three repetitions over a minute', [0, 20, 40, 60], {}, 60],
    ['more repetitions in less time', [0, 1, 2, 3, 4, 59, 61], {}, 61],
    ['repetitions within a minute', [0, 10, 20, 30, 40, 50, 59], {}, null],
    ['two repetitions over an hour', [0, 1800, 3600], {}, null],
    ['no accepted row between them', [0, 20, 40, 60, 600], { accepts: false }, null],
    ['other answers each time', [0, 20, 40, 60, 80], { same: false }, null],
    ['other requests in flight each time', [0, 20, 40, 60, 80], { counts: false }, null],
  ])('is settled by %s', (_, times, options, at) => {
    expect(settledAt(times, options)).toBe(at);
  });

  it('is settled by the same answers if an attempt ends between any two of them', () => {
    const times = [0, 20, 40, 60];
    for (let end = 1; end < times.length; end++)
      for (const isPassed of [true, false]) {
        let rows = new WaitingRows<string>(null);
        let order = 0;
        const settled = times.map((time, at) => {
          if (at === end) {
            const failure = rows.failureOf('row');
            const next = new WaitingRows<string>(null);
            next.resume('row', isPassed ? { ...failure, isPassed } : failure);
            [rows, order] = [next, 0];
          }
          // The next attempt accepts none itself before it asks again.
          if (at > 0 && at !== end) rows.accepted('other', ++order);
          const answer = { now: time * 1000, order: ++order, sameness: '500', counts: true };
          return rows.answered('row', answer);
        });
        expect(settled.at(-1), `after ${end} answers`).toBe(isPassed);
      }
  });

  it('waits longer each time, and is asked for again soon after a row was accepted', () => {
    const rows = new WaitingRows<string>(null);
    const ask = (now: number, order: number): number => {
      rows.answered('row', { now, order, sameness: '409', counts: true });
      expect(rows.wait('row', 'conflict', now)).toBe(true);
      const due = rows.nextDue!;
      expect(rows.takeDue(due - 1)).toBeNull();
      expect(rows.takeDue(due)).toBe('row');
      return due - now;
    };
    expect([ask(0, 1), ask(1000, 2), ask(3000, 3), ask(7000, 4)]).toEqual([1000, 2000, 4000, 8000]);
    rows.answered('row', { now: 20_000, order: 5, sameness: '409', counts: true });
    rows.wait('row', 'conflict', 20_000);
    rows.accepted('other', 6);
    expect(rows.nextDue).toBe(21_000);
  });

  it('waits no longer if no row was accepted for 15 minutes, over all attempts', () => {
    const rows = new WaitingRows<string>(null);
    const ask = (of: WaitingRows<string>, now: number): boolean => {
      of.answered('row', { now, order: now, sameness: '409', counts: true });
      return of.wait('row', 'conflict', now);
    };
    expect([ask(rows, 0), ask(rows, 15 * MINUTE_MS - 1), ask(rows, 15 * MINUTE_MS)]).toEqual([
      true,
      true,
      false,
    ]);
    const next = new WaitingRows<string>(rows.since);
    expect(ask(next, 15 * MINUTE_MS)).toBe(false);
    next.accepted('other', 1);
    expect(ask(next, 15 * MINUTE_MS)).toBe(true);
    // The worker that began to wait had another clock.
    expect(ask(new WaitingRows<string>(HOUR_MS), 0)).toBe(true);
  });
});

describe('rows that wait for a limit in words', () => {
  it('let new rows follow slowly, so that few of them run into the limit', () => {
    const rows = new WaitingRows<number>(null);
    let sent = 0;
    for (let now = 0; now < 15 * MINUTE_MS; now += 100) {
      if (!rows.mayTakeNew(now)) continue;
      rows.tookNew(now);
      rows.answered(sent, { now, order: sent + 1, sameness: '403', counts: true });
      rows.wait(sent++, 'words', now);
    }
    expect(sent).toBeGreaterThan(10);
    expect(sent).toBeLessThan(40);
  });
});

describe('rejections', () => {
  it.each([
    [422, 'Project "P1" is unknown in row 7', 'Project "P200" is unknown in row 300'],
    [400, "durationSeconds '90' is too long", "durationSeconds '100000' is too long"],
    [400, 'Überstunden: 12,5 h', 'Überstunden: 9 h'],
  ])('are alike without digits and quoted parts: %i %s', (status, one, other) => {
    expect(likenessOf({ status, message: one })).toBe(likenessOf({ status, message: other }));
    expect(likenessOf({ status: status + 1, message: one })).not.toBe(likenessOf({ status, message: one }));
    expect(likenessOf({ status, message: `${one} now` })).not.toBe(likenessOf({ status, message: one }));
  });
});

describe('an error of the service', () => {
  it.each([
    ['{"error":"Failed.","request_id":"r1"}', true],
    ['{"error":"Failed.","reqId":"r1"}', true],
    ['{"error":"Failed.","eventId":"7"}', true],
    ['{"error":"Failed.","at":"2026-11-28T10:00:00Z"}', true],
    ['{"error":"Failed.","at":"Sat, 28 Nov 2026 10:00:00 GMT"}', true],
    ['{"error":"Failed.","ref":"01HXYZ3KQ9V1T8N4W6A7B2C3D4"}', true],
    ['<p>Internal error. Reference #18.2f3c1f60</p>', true],
    ['{"error":"Failed."}', false],
    ['{"error":"Failed.","error_code":"INTERNAL"}', false],
  ])('is stored if it comes again with the same time or id: %s -> %s', (body, expected) => {
    expect(isMarked(body)).toBe(expected);
  });
});
