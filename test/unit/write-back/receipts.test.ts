import { describe, expect, it } from 'vitest';
import { toByteString } from '../../../src/core/brands.js';
import {
  answeredId,
  type ChunkRow,
  decodeChunk,
  encodeChunkRow,
  mergeLogs,
  resultLines,
  resultOf,
  toRequest,
} from '../../../src/write-back/index.js';

const ROW: ChunkRow = {
  row: 7,
  key: 'r, "7"',
  idempotencyKey: 'u',
  content: '00',
  pair: null,
  body: toByteString('{"ключ":9007199254740993}'),
  verdict: null,
  receipt: null,
  sentAt: null,
};
const CREATED = { outcome: 'created', status: 201, id: 'x', message: null } as const;

describe('the logs of a chunk', () => {
  it('leave in doubt what an attempt that was killed may have sent, from its intent on', () => {
    const killed = { at: 100, closed: false, rows: [[1, 'created', 201, 'x', null]] } as const;
    const states = mergeLogs([killed], 3);
    expect(states.get(1)).toMatchObject({ receipt: CREATED });
    expect([states.get(0)?.sentAt, states.get(2)?.sentAt]).toEqual([100, 100]);
  });

  it('know of an attempt that ended in order which rows it did not send', () => {
    const ended = { at: 100, closed: true, rows: [[0, 'tried', 503, null, 'busy']] } as const;
    const states = mergeLogs([ended], 2);
    expect(states.get(0)).toEqual({ receipt: null, sentAt: 100, message: 'busy' });
    expect(states.has(1)).toBe(false);
  });

  it('let an outcome stand whatever another attempt did not hear, and the earliest doubt count', () => {
    const late = { at: 300, closed: false, rows: [] } as const;
    const early = {
      at: 200,
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
      expect(states.get(1)).toEqual({ receipt: null, sentAt: 200, message: 'lost' });
    }
  });
});

describe('a result', () => {
  it('is what is known, else that it is not known, else nothing', () => {
    expect(resultOf(ROW, undefined)).toBeNull();
    expect(resultOf(ROW, { receipt: CREATED, sentAt: null, message: null })).toEqual(CREATED);
    const doubt = resultOf({ ...ROW, sentAt: 1000 }, { receipt: null, sentAt: 2000, message: 'lost' });
    expect(doubt).toMatchObject({
      outcome: 'unknown',
      message: 'sent at 1970-01-01T00:00:01.000Z or later, and it is not known what became of it: lost',
    });
    const verdict = { outcome: 'superseded', message: 'm' } as const;
    expect(resultOf({ ...ROW, verdict }, undefined)).toMatchObject(verdict);
  });

  it('is a line with the columns of results.csv', () => {
    expect(resultLines([{ row: ROW, result: CREATED }])).toBe('7,"r, ""7""",u,created,201,x,\n');
  });
});

describe('a planned row', () => {
  it('comes back from its chunk as it was', () => {
    const other: ChunkRow = { ...ROW, pair: ['a', 'b'], receipt: CREATED, body: toByteString('{}') };
    const chunk = Buffer.concat([ROW, { ...ROW, sentAt: 5 }, other].map(encodeChunkRow));
    expect(decodeChunk(chunk)).toEqual([ROW, { ...ROW, sentAt: 5 }, other]);
  });

  it('becomes the request of its style', () => {
    const settings = (style: 'put-path' | 'put-body' | 'post-body') => ({
      'time-entries': { path: 'time-entries' },
      'calendar-entries': { path: 'calendar/entries', style },
      unknownAfterMs: 1,
    });
    const row = { pair: ['a/b', 'ключ'] as const, body: toByteString('{"t":1.50}') };
    expect(toRequest('time-entries', ROW, settings('put-path'))).toEqual({
      method: 'POST',
      path: ['time-entries'],
      body: '{"ключ":9007199254740993}',
    });
    expect(toRequest('calendar-entries', row, settings('put-path'))).toEqual({
      method: 'PUT',
      path: ['calendar', 'entries', 'a/b', 'ключ'],
      body: '{"t":1.50}',
    });
    const body = '{"source":"a/b","sourceKey":"ключ","t":1.50}';
    const path = ['calendar', 'entries'];
    expect(toRequest('calendar-entries', row, settings('put-body'))).toEqual({ method: 'PUT', path, body });
    expect(toRequest('calendar-entries', row, settings('post-body'))).toEqual({ method: 'POST', path, body });
    const bare = toRequest('calendar-entries', { ...row, body: toByteString('{}') }, settings('post-body'));
    expect(JSON.parse(bare.body)).toEqual({ source: 'a/b', sourceKey: 'ключ' });
  });

  it('gets its id from the answer, where there is one', () => {
    expect(answeredId(toByteString('{"id":"x"}'))).toBe('x');
    for (const body of ['', '{}', 'null', '[]']) expect(answeredId(toByteString(body))).toBeNull();
    expect(() => answeredId(toByteString('{"id":'))).toThrow(SyntaxError);
  });
});
