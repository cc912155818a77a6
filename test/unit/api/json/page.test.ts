import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BrokenPromiseError } from '../../../../src/api/errors.js';
import { readListPage } from '../../../../src/api/json/page.js';
import { ReportedError } from '../../../../src/api/service-message.js';
import { toByteString } from '../../../../src/core/brands.js';
import { JsonType } from '../../../../src/core/value-facts.js';
import { rounds } from '../../../support/seeds.js';
import {
  AllColumns,
  anyGaps,
  anyRecord,
  anyValue,
  pageOf,
  readRecord,
  readText,
  recordsPage,
  spaced,
  type Tokens,
} from './support.js';

function lonely(text: string): number {
  return [...text].filter((point) => !point.isWellFormed()).length;
}

/** Compares a record with the result of `JSON.parse`. Numbers are compared by value here; other tests compare literals. */
function assertSame(cells: Map<string, string | null>, parsed: object): void {
  const fields = new Map(
    Object.entries(parsed).map(([name, value]) => [name.toWellFormed(), value as unknown]),
  );
  // Names that differ only in a lone surrogate become one column. The last value wins, as for any repeated field.
  deepStrictEqual(new Set(cells.keys()), new Set(fields.keys()));
  if (fields.size !== Object.keys(parsed).length) return;
  for (const [name, value] of fields) {
    const cell = cells.get(name);
    if (typeof value === 'string') expect(cell).toBe(value.toWellFormed());
    else if (value === null) expect(cell).toBeNull();
    else if (typeof value === 'number') deepStrictEqual(Number(cell), value);
    else deepStrictEqual(JSON.parse(cell!), value);
  }
}

/** Whether reading a page throws SyntaxError. Cheaper than `expect` where a test reads thousands of pages. */
function isInvalid(text: string): boolean {
  try {
    readText(text);
    return false;
  } catch (error) {
    if (error instanceof SyntaxError) return true;
    throw error;
  }
}

describe('A list page', () => {
  it('has the records that JSON.parse sees, whatever their shape, white space and escapes', () => {
    fc.assert(
      fc.property(fc.array(anyRecord, { maxLength: 5 }), anyGaps, (records, gaps) => {
        const text = spaced(recordsPage(records), gaps);
        const parsed = JSON.parse(text) as { data: object[] };
        const read = readText(text);
        expect(read.records).toHaveLength(parsed.data.length);
        for (const [at, record] of parsed.data.entries()) assertSame(read.records[at]!, record);
      }),
      { numRuns: rounds(400) },
    );
  });

  it('keeps every number as it was written and every nested value as its text without white space', () => {
    fc.assert(
      fc.property(anyValue, anyGaps, (tokens: Tokens, gaps) => {
        const cell = readRecord(spaced(['{', '"field"', ':', ...tokens, '}'], gaps)).get('field');
        const [first] = tokens;
        if (first === 'null') expect(cell).toBeNull();
        else if (first!.startsWith('"')) expect(cell).toBe((JSON.parse(first!) as string).toWellFormed());
        else expect(cell).toBe(tokens.join(''));
      }),
      { numRuns: rounds(400) },
    );
  });

  it.each(['9007199254740993', '12.50', '1e21', '-0', '0.1e-7', '1E+400', '0.0', '-1e-0'])(
    'keeps the number %s',
    (number) => {
      expect(readRecord(`{"n":${number}}`).get('n')).toBe(number);
      expect(readRecord(`{"n":[${number}]}`).get('n')).toBe(`[${number}]`);
    },
  );

  it('throws SyntaxError when truncated at any byte, whatever its content', () => {
    fc.assert(
      fc.property(fc.array(anyRecord, { maxLength: 2 }), anyGaps, (records, gaps) => {
        const text = spaced(recordsPage(records), gaps).trimEnd();
        const bytes = Buffer.from(text);
        const accepted = [...bytes.keys()].filter((cut) => !isInvalid(bytes.toString('utf8', 0, cut)));
        expect(accepted, text).toEqual([]);
      }),
      { numRuns: rounds(20) },
    );
  });

  it.each([
    '{"data":{"id":1},"page":{}}',
    '{"data":[],"page":[{"x":"y"}]}',
    '{"data":[],"page":{"nextCursor":{"a":true}}}',
    '{"items":[{"id":"1"}]}',
    '[{"id":1}]',
  ])(
    'A list page that contradicts docs/service-api.md throws SyntaxError when truncated, so it is requested again: %s',
    (text) => {
      expect(() => readText(text)).toThrow(BrokenPromiseError);
      for (let cut = 0; cut < text.length; cut++)
        expect(() => readText(text.slice(0, cut)), `${cut}`).toThrow(SyntaxError);
    },
  );

  it('is accepted if and only if JSON.parse accepts it, after any character is inserted or removed', () => {
    const base =
      '{"data":[{"a":1,"b":"x","c":[1,{"d":null}],"e":true},{"b":-2.5e3}],"page":{"limit":5,"nextCursor":"n"}}';
    const typed = fc.constantFrom(...'{}[],:" 0123456789.eE+-tfnul\t\n');
    fc.assert(
      fc.property(
        fc.nat(base.length),
        fc.nat(2),
        fc.string({ unit: typed, maxLength: 2 }),
        (at, less, more) => {
          const text = base.slice(0, at) + more + base.slice(at + less);
          // Control characters inside strings have their own test below.
          fc.pre(!/"[^"]*[\t\n][^"]*"/.test(text));
          let parsed: unknown;
          try {
            parsed = JSON.parse(text);
          } catch {
            if (!isInvalid(text)) expect.fail(`accepts ${text}`);
            return;
          }
          try {
            const { records } = readText(text);
            for (const [row, record] of (parsed as { data: object[] }).data.entries())
              assertSame(records[row]!, record);
          } catch (error) {
            expect(error, text).toBeInstanceOf(BrokenPromiseError);
          }
        },
      ),
      { numRuns: rounds(2000) },
    );
  });

  it.each([
    '{"data":[,]',
    '{"data":[{},]',
    '{"data":[{"a":1,}]',
    '{"data":[{"a":01}]',
    '{"data":[{"a":1.}]',
    '{"data":[{"a":+1}]',
    '{"data":[{"a":-}]',
    '{"data":[{"a":.5}]',
    '{"data":[{"a":1e}]',
    '{"data":[{"a":nul}]',
    '{"data":[{a:1}]',
    '{"data":[{\'a\':1}]',
    '{"data":[{"a":"\\x"}]',
    '{"data":[{"a":"\\u12g4"}]',
    '{"data":[{"a" 1}]',
    '{"data":[{"a":NaN}]',
    '{"data":[{"a":[1,]}]',
    '{"data":[{"a":{"b":}}]',
    '{"data":[{"a":1}{"a":2}]',
    '{"data":[{"a":truefalse}]',
  ])('is not valid JSON with %s', (start) => {
    expect(() => readText(`${start},"page":{"nextCursor":null}}`)).toThrow(SyntaxError);
  });

  it.each(['x', '}', '{}', '"', ',', '\u0000', 'null'])('is rejected with %j after its end', (garbage) => {
    expect(() => readText(pageOf('{"a":1}') + garbage)).toThrow(SyntaxError);
    expect(() => readText(`${pageOf('{"a":1}')} \n${garbage}`)).toThrow(SyntaxError);
  });

  it.each(['\t', '\n', '\r', '\u0000', '\u001f'])(
    'is not valid JSON with an unescaped %j in a string or a name',
    (control) => {
      for (const json of [`"x${control}y"`, `{"n":["x${control}y"]}`, `{"x${control}y":1}`]) {
        expect(() => readText(pageOf(`{"a":${json}}`))).toThrow(/unescaped control character/);
      }
      expect(() => readText(pageOf(`{"a":1,"x${control}":1},{"a":1,"x${control}":1}`))).toThrow(SyntaxError);
    },
  );

  it.each([' ', '\n', '\r\n\t'])('may have %j between any two tokens, in any number of records', (gap) => {
    const tokens = [
      '{',
      '"a"',
      ':',
      '[',
      '{',
      '}',
      ',',
      '1',
      ']',
      ',',
      '"n"',
      ':',
      '{',
      '}',
      ',',
      '"m"',
      ':',
    ];
    const record = [...tokens, '{', '"x"', ':', '"\\n"', '}', '}'].join(gap);
    const body = pageOf([record, record, record].join(`${gap},${gap}`));
    for (const flatten of [null, '.']) expect(readText(body, flatten).rows).toHaveLength(3);
  });

  it('does not decode strings inside nested values: their escapes stay as the service wrote them', () => {
    const read = readText(pageOf('{"a":["\\ud800 \\u00e9\\/", "x  y"]}'));
    expect(read.records[0]!.get('a')).toBe('["\\ud800 \\u00e9\\/","x  y"]');
    expect(read.replaced).toBe(0);
  });

  it('turns each lone surrogate into U+FFFD and counts it, and leaves pairs alone', () => {
    const read = readText(
      pageOf(
        '{"a":"\\ud83d\\ude00","b":"\\ud83dx","c":"\\ude00\\ud83d","d":"\\ud83d\\ud83d\\ude00","e":"\\ud83d\\n"}',
      ),
    );
    expect(Object.fromEntries(read.records[0]!)).toEqual({
      a: '😀',
      b: '\ufffdx',
      c: '\ufffd\ufffd',
      d: '\ufffd😀',
      e: '\ufffd\n',
    });
    expect(read.replaced).toBe(5);
  });

  it('counts the lone surrogates of all top-level strings', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0xd7fe, max: 0xe001 }), { maxLength: 12 }), (units) => {
        const text = String.fromCharCode(...units);
        const json = `"${units.map((unit) => `\\u${unit.toString(16)}`).join('')}"`;
        const read = readText(pageOf(`{"a":${json}}`));
        expect(read.records[0]!.get('a')).toBe(text.toWellFormed());
        expect(read.replaced).toBe(lonely(text));
      }),
    );
  });

  it('keeps the last value of a repeated field, however its name is escaped', () => {
    expect(Object.fromEntries(readRecord('{"a":1,"b":2,"\\u0061":3,"b":null}'))).toEqual({ a: '3', b: null });
  });

  it('assigns every value to its own field when records change their shape', () => {
    const { records } = readText(
      pageOf(
        '{"a":1,"b":2,"c":3}',
        '{"b":4,"a":5}',
        '{"a":6,"ab":7,"c":8}',
        '{}',
        '{"c":9,"b":10,"a":11,"d":12}',
        '{ "a" :13,"b":14}',
        '{"a":15,"b" : 16}',
      ),
    );
    expect(records.map((record) => Object.fromEntries(record))).toEqual([
      { a: '1', b: '2', c: '3' },
      { b: '4', a: '5' },
      { a: '6', ab: '7', c: '8' },
      {},
      { c: '9', b: '10', a: '11', d: '12' },
      { a: '13', b: '14' },
      { a: '15', b: '16' },
    ]);
  });

  it('records every JSON type of a column', () => {
    const { columns } = readText(
      pageOf('{"a":1,"b":"x","c":{},"d":null}', '{"a":1.0,"b":true,"c":[],"d":-1e2}', '{"a":-0}'),
    );
    const types = Object.fromEntries(columns.names.map((name, at) => [name, columns.types[at]]));
    expect(types).toEqual({
      a: JsonType.integer | JsonType.number,
      b: JsonType.string | JsonType.boolean,
      c: JsonType.object | JsonType.array,
      d: JsonType.null | JsonType.number,
    });
  });

  it.each([30, 900])('reads a value that is nested %i levels deep', (levels) => {
    const json = `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;
    expect(readRecord(`{"deep":${json}}`).get('deep')).toBe(json);
    expect(() => readText(`{"x":${json},"data":[],"page":{}}`)).not.toThrow();
  });

  it('throws SyntaxError for excessive nesting instead of overflowing the stack', () => {
    for (const json of [
      '['.repeat(5000) + ']'.repeat(5000),
      `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
      '['.repeat(200_000),
    ]) {
      expect(() => readRecord(`{"deep":${json}}`)).toThrow(SyntaxError);
      expect(() => readRecord(`{"deep":${json}}`, '.')).toThrow(SyntaxError);
      expect(() => readText(`{"x":${json},"data":[],"page":{}}`)).toThrow(SyntaxError);
      expect(() => readText(json)).toThrow(SyntaxError);
    }
  });
});

describe('The list envelope', () => {
  it.each([
    ['"page":[]', '"page": []'],
    ['"page":{"nextCursor":[ ]}', '"nextCursor": []'],
    ['"page":{"nextCursor":{}}', '"nextCursor": {}'],
    ['"page":{"nextCursor":false}', '"nextCursor": false'],
    ['"page":{"nextCursor":null}', null],
  ])('ends with %s, which may be a mistake', (page, oddEnd) => {
    const { nextCursor, evidence } = readText(`{"data":[{"id":1}],${page}}`);
    expect(nextCursor).toBeNull();
    expect(evidence.oddEnd).toBe(oddEnd);
  });

  it('may have elements that are no records, which have no cells', () => {
    const { rows, firstOther } = readText('{"data":[{"id":1},null,"x",[],7,{"id":2}],"page":{}}');
    expect(rows.map((row) => row.length)).toEqual([1, 0, 0, 0, 0, 1]);
    expect(firstOther).toBe(1);
    expect(readText('{"data":[{"id":1}],"page":{}}').firstOther).toBeNull();
  });

  it.each([
    ['{"page":{"nextCursor":null}}', 'no "data"'],
    ['{"data":null,"page":{}}', '"data" is null'],
    ['{"data":{"id":1},"page":{}}', '"data" is not an array'],
    ['{"data":[]}', 'no "page"'],
    ['{"data":[],"page":null}', 'no "page"'],
    ['{"data":[],"page":[1]}', '"page" is not an object'],
    ['{"data":[],"page":{"nextCursor":true}}', '"page.nextCursor"'],
    ['{"data":[],"page":{"nextCursor":{"a":1}}}', '"page.nextCursor"'],
    ['{"data":[],"page":{"nextCursor":["c"]}}', '"page.nextCursor"'],
    ['{"data":[],"page":{"nextCursor":null,"hasMore":true}}', 'the list continues'],
    ['{"data":[],"page":{"has_next_page":true,"nextCursor":""}}', 'the list continues'],
    ['{"data":[],"page":{},"HasMore":true}', 'the list continues'],
    ['{"isTruncated":true,"data":[],"page":{}}', 'the list continues'],
    ['[]', 'not an object'],
    ['null', 'not an object'],
    ['42', 'not an object'],
    ['{}', 'no "data"'],
  ])('is rejected as contradicting docs/service-api.md: %s', (text, what) => {
    expect(() => readText(text)).toThrow(BrokenPromiseError);
    expect(() => readText(` ${text}\n`)).toThrow(what);
  });

  it('may say that the list continues if it has a cursor', () => {
    expect(readText('{"data":[],"page":{"nextCursor":"c","hasMore":true}}').nextCursor).toBe('c');
  });

  describe('an error with status 2xx', () => {
    it.each([
      ['{"error":"No such list"}', 'No such list'],
      ['{"errors":[{"message":"Database timeout"}]}', 'Database timeout'],
      ['{"errors":["one","two"],"data":null}', 'one'],
      ['{"error":{"code":500,"message":"Failed"}}', 'Failed'],
      ['{"message":"Try again"}', 'Try again'],
      ['{"msg":"fail","code":500,"data":null}', 'fail'],
      ['{"detail":"Request was throttled."}', 'Request was throttled.'],
      ['{"success":false,"data":[],"page":{},"message":"week locked"}', 'week locked'],
      ['{"ok":false}', ''],
      ['{"status":"error","data":null}', ''],
      ['{"status":503,"data":[],"page":{}}', ''],
      ['{"data":[],"page":{"nextCursor":null},"errors":[{"message":"shard lost"}]}', 'shard lost'],
      ['{"data":[{"id":1}],"page":{"nextCursor":null},"error":"partial"}', 'partial'],
      ['{"data":[],"page":{"nextCursor":null},"error":{"code":0,"message":"No access"}}', 'No access'],
      ['{"data":[],"page":{"nextCursor":null},"error":{"code":17,"message":""}}', ''],
      ['{"data":[],"page":{"nextCursor":null},"errors":{"count":1}}', ''],
      ['{"data":[],"page":{"nextCursor":null},"Errors":["shard lost"]}', 'shard lost'],
      ['{"data":[],"page":{"nextCursor":null},"error_message":"Budget exhausted"}', 'Budget exhausted'],
      ['{"data":[],"page":{"nextCursor":null},"ErrorCode":"E17","Message":"No access"}', 'No access'],
      ['{"data":[],"page":{"nextCursor":null},"status_code":429}', ''],
      ['{"data":[],"page":{"nextCursor":null},"IsSuccess":false}', ''],
      ['{"data":[],"page":{"nextCursor":null},"success":0}', ''],
      ['{"data":[],"page":{"nextCursor":null},"ok":"false"}', ''],
      ['"Internal error"', 'Internal error'],
    ])('throws the text of the service: %s', (text, message) => {
      expect(() => readText(text)).toThrow(new ReportedError(message));
    });

    it.each([
      '"error":null',
      '"errors":[ ]',
      '"errors":{}',
      '"error":false',
      '"error":""',
      '"error":0',
      '"error":"null"',
      '"error":{"code":0,"message":""}',
      '"error":{"code":"0","message":"success","details":[]}',
      '"errors":[null]',
      '"errors":{"count":0,"items":[]}',
      '"success":true',
      '"ok":true,"message":"all right"',
      '"status":"ok"',
      '"status":200',
      '"Success":true,"StatusCode":200,"errorCode":"00000","error_message":null',
      '"errorCode":200',
      '"error":{"code":"200","message":"OK"}',
      '"message":"OK","detail":"1 record"',
      '"hasMore":false,"truncated":null',
    ])('is not %s', (member) => {
      expect(readText(`{"data":[],${member},"page":{"nextCursor":null}}`).rows).toEqual([]);
    });
  });

  describe('"data": null', () => {
    const read = (text: string, nullData: 'empty' | 'wrong') =>
      readListPage(toByteString(text), { columns: new AllColumns(), flatten: null, nullData });

    it.each([
      '{"data":null,"page":{"limit":5,"nextCursor":null}}',
      '{"data":null,"page":null}',
      '{"data":null}',
    ])('is an empty list only where it may be: %s', (text) => {
      expect(read(text, 'empty')).toMatchObject({ rows: [], nextCursor: null });
      expect(() => read(text, 'wrong')).toThrow('"data" is null');
    });

    it('continues the list if it has a cursor', () => {
      expect(read('{"data":null,"page":{"nextCursor":"c"}}', 'empty').nextCursor).toBe('c');
    });

    it.each(['{"data":null,"message":"Database timeout"}', '{"errors":["no"],"data":null,"page":{}}'])(
      'hides no error: %s',
      (text) => {
        expect(() => read(text, 'empty')).toThrow(ReportedError);
      },
    );

    it.each(['OK', 'success', 'No records found.'])('may have the message %s', (message) => {
      expect(read(JSON.stringify({ data: null, message }), 'empty').rows).toEqual([]);
    });

    it('replaces earlier records, because the last member counts', () => {
      expect(read('{"data":[{"id":1}],"data":null}', 'empty').rows).toEqual([]);
    });
  });

  it.each(['{"nextCursor":null}', '{"nextCursor":""}', '{}', '{"limit":3}'])(
    'ends the list with the page %s',
    (page) => {
      expect(readText(`{"data":[],"page":${page}}`).nextCursor).toBeNull();
    },
  );

  it.each([
    ['"abc"', 'abc'],
    ['"a\\u0062\\/=="', 'ab/=='],
    ['"日本"', '日本'],
    ['" "', ' '],
    ['0', '0'],
    ['9007199254740993', '9007199254740993'],
    ['-1', '-1'],
  ])('continues with the cursor %s as it was written', (cursor, expected) => {
    expect(readText(`{"data":[],"page":{"nextCursor":${cursor}}}`).nextCursor).toBe(expected);
  });

  it('continues after an empty page', () => {
    const { rows, nextCursor } = readText('{"data":[],"page":{"nextCursor":"more"}}');
    expect(rows).toEqual([]);
    expect(nextCursor).toBe('more');
  });

  it.each([
    ['{"limit":250}', 250],
    ['{"limit":null}', null],
    ['{"limit":"250"}', null],
    ['{"limit":-1}', null],
    ['{}', null],
  ])('"data": null with the page %s has the limit %j', (page, limit) => {
    expect(readText(`{"data":[],"page":${page}}`).limit).toBe(limit);
  });

  it('accepts members in any order and unknown members, and uses the last of repeated ones', () => {
    const { records, nextCursor } = readText(
      ' { "page" : {"total":[1,{"data":[]}],"nextCursor":"a","nextCursor":"b"} , "meta":{"data":3}, "data":[{"x":0}], "d\\u0061ta" : [ {"x":1} , {"x":2} ] } ',
    );
    expect(records.map((record) => record.get('x'))).toEqual(['1', '2']);
    expect(nextCursor).toBe('b');
  });
});

describe('Flattening', () => {
  it('reads objects into several columns, and keeps arrays and empty objects as cells', () => {
    const record = readRecord('{"id":1,"a":{"b":{"c":"x","d":null},"e":[{"f":1}],"g":{}},"h":2}', '.');
    expect(Object.fromEntries(record)).toEqual({
      id: '1',
      'a.b.c': 'x',
      'a.b.d': null,
      'a.e': '[{"f":1}]',
      'a.g': '{}',
      h: '2',
    });
  });

  it('keeps objects as cells when it is off', () => {
    expect(Object.fromEntries(readRecord('{"a":{"b": 1}}'))).toEqual({ a: '{"b":1}' });
  });

  it('keeps white space, escapes and unusual separators', () => {
    const record = readRecord('{ "a" : { "\\u0062" : { "__proto__" : "\\ud800" } , "c" : true } }', '__');
    expect([...record]).toEqual([
      ['a__b____proto__', '\ufffd'],
      ['a__c', 'true'],
    ]);
  });

  it('stops at 32 levels: a deeper object is one cell', () => {
    const json = `${'{"k":'.repeat(900)}1${'}'.repeat(900)}`;
    const [[name, cell]] = [...readRecord(json, '.')] as [[string, string]];
    expect(name.split('.')).toHaveLength(33);
    expect(JSON.parse(cell)).toBeTypeOf('object');
    expect(name.split('.').length + cell.split('"k"').length - 1).toBe(900);
  });

  it('throws SyntaxError when truncated at any byte', () => {
    const text = pageOf('{"a":{"b":{"c":"x"},"d":{ }},"e":{"f":[1]}}');
    for (let cut = 0; cut < text.length; cut++)
      expect(() => readText(text.slice(0, cut), '.')).toThrow(SyntaxError);
  });

  it('returns the same leaves as a walk of the parsed value', () => {
    fc.assert(
      fc.property(anyRecord, anyGaps, (tokens, gaps) => {
        const text = spaced(tokens, gaps);
        const leaves = new Map<string, unknown>();
        const names = new Set<string>();
        let clash = false;
        const walk = (value: object, path: string): void => {
          for (const [name, item] of Object.entries(value)) {
            const full = path === '' ? `/${name}` : `${path}>${name}`;
            const inner =
              item !== null &&
              typeof item === 'object' &&
              !Array.isArray(item) &&
              Object.keys(item).length > 0;
            if (inner) walk(item as object, full);
            else {
              clash ||= names.has(full.toWellFormed());
              names.add(full.toWellFormed());
              leaves.set(full.slice(1).toWellFormed(), item);
            }
          }
        };
        walk(JSON.parse(text) as object, '');
        // A field that comes twice with objects of different shape leaves the columns of both.
        fc.pre(
          !clash &&
            JSON.stringify(JSON.parse(text)).length === JSON.stringify(JSON.parse(tokens.join(''))).length,
        );
        fc.pre(!hasRepeatedName(tokens));
        const cells = readRecord(text, '>');
        deepStrictEqual(new Set(cells.keys()), new Set(leaves.keys()));
        for (const [name, value] of leaves) {
          if (typeof value === 'string') expect(cells.get(name)).toBe(value.toWellFormed());
          else if (value === null) expect(cells.get(name)).toBeNull();
          else deepStrictEqual(JSON.parse(cells.get(name)!), value);
        }
      }),
      { numRuns: rounds(200) },
    );
  });
});

/** Whether any object, at any level, has a repeated field. */
function hasRepeatedName(tokens: Tokens): boolean {
  const open: Set<string>[] = [];
  for (const [at, token] of tokens.entries()) {
    if (token === '{' || token === '[') open.push(new Set());
    else if (token === '}' || token === ']') open.pop();
    else if (tokens[at + 1] === ':') {
      const name = JSON.parse(token) as string;
      if (open.at(-1)!.has(name)) return true;
      open.at(-1)!.add(name);
    }
  }
  return false;
}
