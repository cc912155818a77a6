import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { peekNextCursor } from '../../../../src/api/json/page.js';
import { toByteString } from '../../../../src/core/brands.js';
import { rounds } from '../../../support/seeds.js';
import { anyGaps, anyRecord, readText, recordsPage, spaced } from './support.js';

const peek = (text: string) => peekNextCursor(toByteString(text));

describe('the cursor at the end of a body', () => {
  it.each([
    ['{"data":[{"id":1}],"page":{"limit":100,"nextCursor":"eyJpZCI6MX0="}}', 'eyJpZCI6MX0='],
    ['{"data":[],"page":{"nextCursor":"a b","limit":100,"hasMore":true,"total":-1.5e3,"x":"y"}}\n', 'a b'],
    ['{ "data" : [ ] , "page" : { "nextCursor" : "a" } }', 'a'],
    ['{"data":[],"page":{"nextCursor":null}}', null],
    ['{"data":[],"page":{"nextCursor":""}}', null],
    ['{"data":[],"page":{}}', null],
    // Escapes and what is no plain text are left to the reader.
    ['{"data":[],"page":{"nextCursor":"a\\u0062"}}', null],
    ['{"data":[],"page":{"nextCursor":"ä"}}', null],
    // Truncated, or not at the end.
    ['{"data":[],"page":{"nextCursor":"a"}', null],
    ['{"page":{"nextCursor":"a"},"data":[{"id":1}]}', null],
    ['', null],
  ])('the cursor at the end of a body of %s is %s', (text, cursor) => {
    expect(peek(text)).toBe(cursor);
  });

  it('is the cursor that reading the page returns, or none, whatever the content', () => {
    let found = 0;
    fc.assert(
      fc.property(fc.array(anyRecord, { maxLength: 3 }), fc.string(), anyGaps, (records, cursor, gaps) => {
        const data = recordsPage(records);
        const end = [
          '"page"',
          ':',
          '{',
          '"nextCursor"',
          ':',
          JSON.stringify(cursor),
          ',',
          '"limit"',
          ':',
          '5',
          '}',
          '}',
        ];
        const text = spaced([...data.slice(0, data.lastIndexOf('"page"')), ...end], gaps);
        const guess = peek(text);
        if (guess !== null) found++;
        expect([null, readText(text).nextCursor]).toContain(guess);
      }),
      { numRuns: rounds(300) },
    );
    expect(found).toBeGreaterThan(100);
  });

  it('is searched only at the end, so a hostile body does not take longer', () => {
    expect(peek(`{"data":[],"page":{"nextCursor":"a"${',"a":1'.repeat(500_000)}`)).toBeNull();
    expect(peek('"nextCursor":"'.repeat(500_000))).toBeNull();
    expect(peek('"nextCursor":"a",'.repeat(500_000))).toBeNull();
  });
});
