import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import type { RunClocks } from '../../../src/lake/documents/run-file.js';
import { readRow } from '../../../src/lake/rows/csv.js';
import { openStore } from '../../../src/lake/store/index.js';
import { batchKeys, planKey, planKeys, planName } from '../../../src/write-back/batch-layout.js';
import {
  type ChunkLog,
  type ChunkRow,
  decodeChunk,
  encodeChunk,
  encodeChunkRow,
  type LoggedRow,
  mergeLogs,
} from '../../../src/write-back/plan-file.js';
import {
  readReceipts,
  resultLines,
  resultOf,
  resultsHeader,
  type Summary,
  writtenBatch,
} from '../../../src/write-back/results.js';
import { encodeSealed } from '../../../src/write-back/sealed.js';
import { TargetSystem } from '../../../src/write-back/system.js';
import { toRequest } from '../../../src/write-back/write-request.js';

const ROW: ChunkRow = {
  row: 7,
  line: 2,
  key: 'r, "7"',
  idempotencyKey: 'u',
  content: '00',
  pair: null,
  body: '{"ключ":9007199254740993}',
  verdict: null,
  receipt: null,
  sentAt: null,
};
const NOTHING = {
  ...{ receipt: null, sentAt: null, status: null, message: null, held: null, failing: null },
  ...{ unclearIn: [], sentIn: [] },
} as const;
const clocksAt = (at: number): RunClocks => ({ temporal: at, worker: at, store: null });
const CREATED = { outcome: 'created', status: 201, id: 'x', message: null } as const;

describe('the logs of a chunk', () => {
  it('mark rows that a killed attempt may have sent as unknown, from the time of its intent', () => {
    const killed = {
      run: 'r',
      accepted: 1,
      at: clocksAt(100),
      closed: false,
      rows: [[1, 'created', 201, 'x', null]],
    } as const;
    const states = mergeLogs([killed], 3);
    expect(states.get(1)).toMatchObject({ receipt: CREATED });
    expect([states.get(0)?.sentAt, states.get(2)?.sentAt]).toEqual([100, 100]);
  });

  it('show which rows a completed attempt did not send', () => {
    const ended = {
      run: 'r',
      accepted: 0,
      at: clocksAt(100),
      closed: true,
      rows: [[0, 'tried', 503, null, 'busy']],
    } as const;
    const states = mergeLogs([ended], 2);
    expect(states.get(0)).toMatchObject({ receipt: null, sentAt: 100, status: 503, message: 'busy' });
    expect(states.has(1)).toBe(false);
  });

  it('keep an outcome whatever another attempt did not receive, and the earliest unknown time', () => {
    const late = { run: 'r', accepted: 0, at: clocksAt(300), closed: false, rows: [] } as const;
    const early = {
      run: 'q',
      accepted: 1,
      at: clocksAt(200),
      closed: true,
      rows: [
        [0, 'created', 201, 'x', null],
        [1, 'tried', null, null, 'lost'],
      ],
    } as const;
    for (const logs of [
      [late, early],
      [early, late],
    ]) {
      const states = mergeLogs(logs, 2);
      expect(states.get(0)?.receipt).toEqual(CREATED);
      expect(states.get(1)).toMatchObject({ receipt: null, sentAt: 200, message: 'lost' });
    }
  });
});

describe('the logs of a chunk, for rows that a run does not finish', () => {
  const log = (row: LoggedRow, more: Partial<ChunkLog> = {}): ChunkLog => ({
    ...{ run: 'r', accepted: 0, at: clocksAt(100), closed: true, rows: [row] },
    ...more,
  });
  const held = [0, 'held', 403, null, 'closed'] as const;

  it('keep a refusal, which is not a request in doubt', () => {
    const [state] = mergeLogs([log(held)], 1).values();
    expect(state).toMatchObject({ receipt: null, sentAt: null, held: { run: 'r', status: 403 } });
    expect(resultOf(ROW, state)).toBeNull();
    expect(mergeLogs([log(held, { closed: false })], 1).get(0)?.sentAt).toBeNull();
  });

  it('keep a request in doubt, whatever a refusal of a later request says', () => {
    const tried = log([0, 'tried', null, null, null], { at: clocksAt(50) });
    for (const logs of [
      [tried, log(held)],
      [log(held), tried],
    ])
      expect(mergeLogs(logs, 1).get(0)?.sentAt).toBe(50);
  });

  it('keep the run whose complete response left the outcome unknown', () => {
    const [state] = mergeLogs([log([0, 'unclear', 200, null, 'odd'])], 1).values();
    expect(state).toMatchObject({ sentAt: 100, unclearIn: ['r'], sentIn: [] });
    expect(resultOf(ROW, state)).toMatchObject({ outcome: 'unknown', status: 200 });
  });

  it('keep each run that left the outcome unknown, in whatever order the logs come', () => {
    const unclear = [0, 'unclear', 200, null, 'odd'] as const;
    for (const runs of [
      ['one', 'two'],
      ['two', 'one'],
    ]) {
      const logs = runs.map((run) => log(unclear, { run }));
      expect(mergeLogs(logs, 1).get(0)?.unclearIn.toSorted()).toEqual(['one', 'two']);
    }
  });

  it('keep the runs that may have sent a row to a service that ignores keys', () => {
    const runOf = (row: LoggedRow, more: Partial<ChunkLog> = { isNamed: true }) =>
      mergeLogs([log(row, { closed: false, ...more })], 1).get(0);
    const tried = [0, 'tried', null, null, null] as const;
    expect(runOf(tried)).toMatchObject({ sentAt: 100, sentIn: ['r'], unclearIn: [] });
    expect(runOf([0, 'unclear', 200, null, 'odd'])).toMatchObject({ sentIn: ['r'], unclearIn: ['r'] });
    expect(runOf(held)).toMatchObject({ sentAt: null, sentIn: [] });
    expect(runOf(tried, {})).toMatchObject({ sentAt: 100, sentIn: [] });
  });
});

describe('a result', () => {
  it('is the receipt if there is one, or unknown if it may have been sent, or null', () => {
    expect(resultOf(ROW, undefined)).toBeNull();
    expect(resultOf(ROW, { ...NOTHING, receipt: CREATED })).toEqual(CREATED);
    const doubt = resultOf({ ...ROW, sentAt: 1000 }, { ...NOTHING, sentAt: 2000, message: 'lost' });
    expect(doubt).toMatchObject({
      outcome: 'unknown',
      message: 'sent at 1970-01-01T00:00:01.000Z or later; the outcome is unknown: lost',
    });
    const verdict = { outcome: 'superseded', message: 'm' } as const;
    expect(resultOf({ ...ROW, verdict }, undefined)).toMatchObject(verdict);
  });

  it('is a line with the columns of results.csv', () => {
    const line = resultLines([{ row: ROW, result: CREATED }], { escapeFormulas: false });
    expect(line).toBe('7,"r, ""7""",u,created,201,x,\n');
  });

  it('escapes formulas in messages and in ids that are not plain, and in all texts if csv.escapeFormulas is on', () => {
    const row = { ...ROW, key: '=HYPERLINK("http://x")' };
    const result = { outcome: 'rejected', status: 422, id: '-7', message: '@SUM(A1)' } as const;
    const lines = (escapeFormulas: boolean) => resultLines([{ row, result }], { escapeFormulas });
    expect(lines(true)).toBe(`7,"'=HYPERLINK(""http://x"")",u,rejected,422,'-7,'@SUM(A1)\n`);
    expect(lines(false)).toBe(`7,"'=HYPERLINK(""http://x"")",u,rejected,422,-7,'@SUM(A1)\n`);
  });
});

describe('a receipt', () => {
  it('reads as it was written, whatever ids and messages contain', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'worktrack-receipts-'));
    const store = openStore({ url: pathToFileURL(folder).href });
    const text = fc.string({
      unit: fc.constantFrom(...`'=+-@\t\r"a1.:_,\uff1d`),
      minLength: 1,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(text, text, text, fc.boolean(), async (key, id, message, escapeFormulas) => {
        const row = { ...ROW, row: 1, key };
        const result = { outcome: 'rejected', status: 422, id, message } as const;
        const lines = resultLines([{ row, result }], { escapeFormulas });
        await store.write(batchKeys('b').results, Buffer.from(resultsHeader() + lines, 'latin1'));
        for await (const receipt of readReceipts(store, 'b', {}))
          expect(receipt).toMatchObject({ key, id, message });
        for (const cell of readRow(lines.slice(0, -1), ',')) expect(cell ?? '').not.toMatch(/^[=+@\t\r]/);
      }),
      { numRuns: 100 },
    );
    store.close();
    await rm(folder, { recursive: true });
  });
});

describe('the results of a batch', () => {
  const input = '_write-back/b/input-1.csv' as ObjectKey;
  const plan = planKey('b', planName(1, input, 10));
  const ALL = { plan, baseUrl: 'https://a.example', complete: true, found: 0 };

  it.each<[what: string, summary: Partial<Summary>, policy: 'skip' | 'again' | undefined, isFinal: boolean]>([
    ['if all rows have an outcome', {}, undefined, true],
    ['if it wrote all rows, although it is asked to write them again', {}, 'again', true],
    ['not while a row has no outcome', { complete: false }, undefined, false],
    ['if other batches have written rows', { found: 2 }, 'skip', true],
    ['not if rows of other batches are to be written again', { found: 2 }, 'again', false],
    ['not at another address', { baseUrl: 'https://b.example' }, undefined, false],
  ])('are final %s', async (_, summary, policy, isFinal) => {
    const folder = await mkdtemp(join(tmpdir(), 'worktrack-receipts-'));
    const store = openStore({ url: pathToFileURL(folder).href });
    await store.write(batchKeys('b').summary, encodeSealed({ ...ALL, ...summary }));
    const system = new TargetSystem('https://a.example');
    expect((await writtenBatch(store, 'b', [input], { policy, system })) !== null).toBe(isFinal);
    store.close();
    await rm(folder, { recursive: true });
  });
});

describe('a planned row', () => {
  it('survives the round trip through its chunk', () => {
    const other: ChunkRow = { ...ROW, pair: ['a', 'b'], receipt: CREATED, body: '{}' };
    const rows = [ROW, { ...ROW, sentAt: 5 }, other];
    const chunk = encodeChunk(rows.map(encodeChunkRow));
    expect(decodeChunk(planKeys('p/plan.json' as ObjectKey).chunk('w', 0), chunk, 3)).toEqual(rows);
  });

  it('becomes a request in the configured style', () => {
    const settings = (style: 'put-path' | 'put-body' | 'post-body') => ({ path: 'calendar/entries', style });
    const row = { pair: ['a/b', 'ключ'] as const, body: '{"t":1.50}' };
    expect(toRequest(ROW, { path: 'time-entries', style: null })).toEqual({
      method: 'POST',
      path: ['time-entries'],
      body: '{"ключ":9007199254740993}',
    });
    expect(toRequest(row, settings('put-path'))).toEqual({
      method: 'PUT',
      path: [
        'calendar',
        'entries',
        { value: 'a/b', shown: '<source>' },
        { value: 'ключ', shown: '<sourceKey>' },
      ],
      body: '{"t":1.50}',
    });
    const body = '{"source":"a/b","sourceKey":"ключ","t":1.50}';
    const path = ['calendar', 'entries'];
    expect(toRequest(row, settings('put-body'))).toEqual({ method: 'PUT', path, body });
    expect(toRequest(row, settings('post-body'))).toEqual({ method: 'POST', path, body });
    const bare = toRequest({ ...row, body: '{}' }, settings('post-body'));
    expect(JSON.parse(bare.body)).toEqual({ source: 'a/b', sourceKey: 'ключ' });
  });
});
