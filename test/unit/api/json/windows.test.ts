import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyText } from '../../../../src/api/body.js';
import { readListPage } from '../../../../src/api/json/page.js';
import { toByteString } from '../../../../src/core/brands.js';
import type { JsonSource } from '../../../../src/json/scanner.js';
import { rounds } from '../../../support/seeds.js';
import { AllColumns, anyGaps, anyRecord, anyValue, recordsPage, spaced } from './support.js';

/** What reading a page gives: the page and its columns, or the error. */
function outcome(body: JsonSource, windowBytes: number, flatten: boolean): unknown {
  const columns = new AllColumns();
  const separator = flatten ? toByteString('.') : null;
  try {
    return { page: readListPage(body, { columns, flatten: separator, windowBytes }), columns };
  } catch (error) {
    const { name, message } = error as Error;
    return { name, message };
  }
}

function expectSame(text: string, windowBytes: number, flatten = false): void {
  const whole = outcome(toByteString(text), Number.POSITIVE_INFINITY, flatten);
  expect(outcome(toByteString(text), windowBytes, flatten)).toEqual(whole);
  expect(outcome(new BodyText(Buffer.from(text)), windowBytes, flatten)).toEqual(whole);
}

const anyWindow = fc.integer({ min: 1, max: 120 });
const anyRecords = fc.array(fc.oneof({ weight: 9, arbitrary: anyRecord }, anyValue), { maxLength: 8 });

describe('A page that is read in windows', () => {
  it('is the same as one that is read as a whole, wherever the windows end', () => {
    fc.assert(
      fc.property(anyRecords, anyGaps, anyWindow, fc.boolean(), (records, gaps, bytes, flatten) => {
        expectSame(spaced(recordsPage(records), gaps), bytes, flatten);
      }),
      { numRuns: rounds(600) },
    );
  });

  it('has the same error at the same place, whatever is wrong with it', () => {
    const wrong = fc.constantFrom(
      '',
      ' ',
      '"',
      ',',
      '}',
      ']',
      '\\',
      '\n',
      '\u0001',
      '0',
      '{"a":',
      'null',
      '﻿',
    );
    fc.assert(
      fc.property(anyRecords, anyGaps, anyWindow, wrong, fc.nat(), (records, gaps, bytes, put, at) => {
        const text = spaced(recordsPage(records), gaps);
        const place = at % text.length;
        expectSame(text.slice(0, place) + put + text.slice(place + 1), bytes);
        expectSame(text.slice(0, place) + put, bytes);
      }),
      { numRuns: rounds(600) },
    );
  });

  it.each([
    ['a second list of records', '{"data":[{"a":1},{"b":22}],"data":[{"c":333},{"a":4}],"page":{}}'],
    ['much before its records', `{"meta":{"text":"${'x'.repeat(300)}"},"data":[{"a":1}],"page":{}}`],
    ['much behind its records', `{"data":[{"a":1}],"meta":"${'x,'.repeat(300)}","page":{"nextCursor":"c"}}`],
    ['a value larger than a window', `{"data":[{"a":"${'x'.repeat(500)}"},{"a":12.5}],"page":{}}`],
    ['no comma', `{"data":[{"a":"${'x'.repeat(500)}"}]}`],
    ['commas in strings alone', `{"data":[{"a":"${',\\",'.repeat(99)}"}],"page":{}}`],
    ['records that end with numbers', '{"data":[{"a":123456},{"a":1.25},{"a":1e5},7,88,{"a":-0}],"page":{}}'],
    ['numbers instead of records', '{"data":[1234567,12345678],"page":{}}'],
    ['other envelopes', '{"data":{"items":[1,2,3,4,5,6,7,8,9]},"page":{}}'],
    ['an error instead of records', `{"error":"${'no, '.repeat(50)}","code":500}`],
    ['a failure behind its records', '{"data":[{"a":1},{"a":2},{"a":3}],"success":false,"page":{}}'],
    ['no page', '{"data":[{"a":1},{"a":2},{"a":3}]}'],
    ['a rest', '{"data":[{"a":1},{"a":2},{"a":3}],"page":{}}{}'],
    ['a lone surrogate in a record', '{"data":[{"a":"\\ud800, and more"},{"a":"\\ud800"}],"page":{}}'],
  ])('reads a body with %s as a whole one does', (_, text) => {
    for (let bytes = 1; bytes <= text.length; bytes++) expectSame(text, bytes);
  });

  it('has only windows of its text in memory, and never all of it', () => {
    const record = `{"id":"1","text":"${'x'.repeat(200)}"}`;
    const text = Buffer.from(`{"data":[${Array(5000).fill(record).join(',')}],"page":{}}`);
    let longest = 0;
    const source: JsonSource = {
      length: text.length,
      slice: (from, to) => {
        const piece = text.toString('latin1', from, to);
        longest = Math.max(longest, piece.length);
        return piece;
      },
    };
    expect(readListPage(source, { columns: new AllColumns(), flatten: null }).rows).toHaveLength(5000);
    expect(longest).toBeLessThanOrEqual(64 * 1024);
  });
});
