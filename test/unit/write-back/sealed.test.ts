import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { errorMessage } from '../../../src/core/errors.js';
import { parseStored } from '../../../src/core/stored-json.js';
import { DamagedError } from '../../../src/lake/damaged-error.js';
import {
  type ChunkRow,
  decodeChunk,
  encodeChunk,
  encodeChunkRow,
} from '../../../src/write-back/plan-file.js';
import { decodeSealed, encodeSealed } from '../../../src/write-back/sealed.js';

const KEY = '_write-back/b/_batch/plans/p/plan.json' as ObjectKey;
const SECRET = 'Секрет-91c7';
const row = (n: number): ChunkRow => ({
  row: n,
  line: 2,
  key: `${SECRET}-${n}`,
  idempotencyKey: 'u',
  content: '00',
  pair: null,
  body: `{"note":"${SECRET}"}`,
  verdict: null,
  receipt: null,
  sentAt: null,
});

/** Every way to damage a few bytes: each byte flipped, left out or doubled, and each end cut off. */
function* damaged(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at++) {
    for (const bit of [0x01, 0x20, 0x80]) {
      const flipped = Buffer.from(body);
      flipped[at]! ^= bit;
      yield flipped;
    }
    yield Buffer.concat([body.subarray(0, at), body.subarray(at + 1)]);
    yield Buffer.concat([body.subarray(0, at), body.subarray(at, at + 1), body.subarray(at)]);
    yield body.subarray(0, at);
  }
  yield Buffer.concat([body, Buffer.from('\n')]);
  for (const text of ['{}', 'null', '[]', '""', '{"rows":[]}', SECRET]) yield Buffer.from(text);
}

function expectNamed(read: () => unknown): void {
  let thrown: unknown;
  try {
    read();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(DamagedError);
  const message = errorMessage(thrown);
  expect(message).toContain(KEY);
  expect(message).not.toMatch(/Секрет|91c7/);
}

describe('a document of a batch', () => {
  it('is read as it was written', () => {
    const content = { rows: [[1, 'created', 201, SECRET, null]], at: 5 };
    expect(decodeSealed(KEY, encodeSealed(content))).toEqual(content);
  });

  it('is not read at all if any byte differs, and the error quotes nothing of it', () => {
    for (const body of damaged(encodeSealed({ rows: [[0, 'tried', 503, null, SECRET]], closed: true })))
      expectNamed(() => decodeSealed(KEY, body));
  });

  it('is read only in the layout of this build, and another build is named in an error that can be retried', () => {
    expect(decodeSealed(KEY, encodeSealed({ a: 1 }))).toEqual({ a: 1 });
    for (const layout of [1, 3])
      expect(() => decodeSealed(KEY, encodeSealed({ a: 1 }, layout, '9.8.7'))).toThrow(
        expect.objectContaining({
          ...{ code: 'LAKE_LAYOUT', retryable: true },
          message: expect.stringMatching(
            new RegExp(`^${KEY} has layout ${layout} of a batch, written by worktrack 9.8.7`),
          ),
        }),
      );
  });

  it('counts as damaged if its layout or its build is changed', () => {
    const body = encodeSealed({ a: 1 }).toString();
    for (const changed of [body.replace('"layout":2', '"layout":3'), body.replace('"build":"', '"build":"x')])
      expect(() => decodeSealed(KEY, Buffer.from(changed))).toThrow('does not match its checksum');
  });
});

describe('a chunk of a plan', () => {
  const chunk = encodeChunk([row(1), row(2)].map(encodeChunkRow));

  it('is not read at all if any byte differs, and the error quotes nothing of it', () => {
    for (const body of damaged(chunk)) expectNamed(() => decodeChunk(KEY, body, 2));
  });

  it('is not read if it has another number of rows than the plan says', () => {
    for (const rows of [0, 1, 3]) expectNamed(() => decodeChunk(KEY, chunk, rows));
    expect(decodeChunk(KEY, chunk, 2)).toEqual([row(1), row(2)]);
    expect(decodeChunk(KEY, encodeChunk([]), 0)).toEqual([]);
  });
});

it('an error of stored JSON quotes nothing of it', () => {
  for (const text of [`{"a":${SECRET}`, `${SECRET}`, `{"a":"${SECRET}`, `[1,2,"${SECRET}" 3]`, '']) {
    expect(() => parseStored(text)).toThrow(new SyntaxError('it is not valid JSON'));
    expect(() => parseStored(Buffer.from(text))).toThrow(new SyntaxError('it is not valid JSON'));
  }
  expect(parseStored(Buffer.from('{"a":1}'))).toEqual({ a: 1 });
});
