import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readBody } from '../../../src/api/body.js';
import { BrokenPromiseError } from '../../../src/api/errors.js';
import { readListPage } from '../../../src/api/json/page.js';
import { ReportedError } from '../../../src/api/service-message.js';
import { fromByteString, toByteString } from '../../../src/core/brands.js';
import { ColumnSet } from '../../../src/lake/rows/data-columns.js';

/** https://github.com/nst/JSONTestSuite, `test_parsing`: `y_` must be accepted, `n_` rejected, `i_` is left open. */
const FOLDER = new URL('./JSONTestSuite/', import.meta.url);
const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
const starting = (prefix: string): string[] => names.filter((name) => name.startsWith(prefix));
const bytesOf = (name: string): Buffer => readFileSync(new URL(encodeURIComponent(name), FOLDER));

interface Read {
  /** The first field of the only record. */
  readonly cell: string | null | undefined;
  readonly columns: readonly string[];
  /** Characters that became U+FFFD. */
  readonly replaced: number;
}

/** Reads a body as an answer of the service is read. */
async function read(body: Buffer, flatten: string | null = null): Promise<Read> {
  const { text, replaced } = await readBody([body], {}, 2 ** 20);
  const columns = new ColumnSet(['id'], []);
  const page = readListPage(text, { columns, flatten: flatten === null ? null : toByteString(flatten) });
  const cell = page.rows[0]?.[1];
  return {
    cell: typeof cell === 'string' ? fromByteString(cell) : cell,
    columns: columns.names,
    replaced: replaced + page.replaced,
  };
}

/** A list page whose one record has the file's text as a field's value. */
function asField(name: string): Buffer {
  const [before, behind] = ['{"data":[{"id":"a","field":', '}],"page":{"limit":1,"nextCursor":null}}'];
  return Buffer.concat([Buffer.from(before), bytesOf(name), Buffer.from(behind)]);
}

/** The same as the value of an unknown member, which is skipped. */
function asSkipped(name: string): Buffer {
  const behind = ',"data":[],"page":{"limit":1,"nextCursor":null}}';
  return Buffer.concat([Buffer.from('{"meta":'), bytesOf(name), Buffer.from(behind)]);
}

it('the JSON test suite is complete', () => {
  expect([starting('y_').length, starting('n_').length, starting('i_').length]).toEqual([95, 188, 35]);
});

describe('valid JSON', () => {
  it.each(starting('y_'))('%s is accepted as the value of a field and in a skipped member', async (name) => {
    await expect(read(asField(name))).resolves.toMatchObject({ replaced: 0 });
    await expect(read(asField(name), '.')).resolves.toMatchObject({ replaced: 0 });
    await expect(read(asSkipped(name))).resolves.toBeDefined();
  });

  it.each(starting('y_'))('%s keeps its value', async (name) => {
    const expected: unknown = JSON.parse(bytesOf(name).toString());
    const { cell } = await read(asField(name));
    if (typeof expected === 'string') expect(cell).toBe(expected);
    else if (expected === null) expect(cell).toBeNull();
    else expect(JSON.parse(cell ?? '')).toEqual(expected);
  });

  it.each(starting('y_'))('%s is, as a body, valid JSON that is not a list page', async (name) => {
    // A lone string is a message.
    const kind = name === 'y_structure_lonely_string.json' ? ReportedError : BrokenPromiseError;
    await expect(read(bytesOf(name))).rejects.toBeInstanceOf(kind);
  });
});

describe('invalid JSON is rejected like a truncated body, which is requested again:', () => {
  it.each(starting('n_'))('%s as the value of a field', async (name) => {
    await expect(read(asField(name))).rejects.toThrow(SyntaxError);
  });

  it.each(starting('n_'))('%s as the value of a field that is flattened', async (name) => {
    await expect(read(asField(name), '.')).rejects.toThrow(SyntaxError);
  });

  it.each(starting('n_'))('%s in a skipped member', async (name) => {
    await expect(read(asSkipped(name))).rejects.toThrow(SyntaxError);
  });

  it.each(starting('n_'))('%s as a body', async (name) => {
    await expect(read(bytesOf(name))).rejects.toThrow(SyntaxError);
  });
});

describe('what RFC 8259 leaves open:', () => {
  const open = (pattern: RegExp): string[] => starting('i_').filter((name) => pattern.test(name));
  const numbers = open(/^i_number/);
  const utf16 = open(/utf-?16/i);
  const invalidBytes = open(/utf-?8|latin_1|overlong|not_in_unicode_range/i).filter(
    (name) => !/BOM/.test(name),
  );
  const surrogates = open(/surrogate/).filter((name) => !invalidBytes.includes(name));
  const others = ['i_structure_500_nested_arrays.json', 'i_structure_UTF-8_BOM_empty_object.json'];

  it('every file has an expected result', () => {
    const decided = [...numbers, ...utf16, ...invalidBytes, ...surrogates, ...others];
    expect(decided.sort()).toEqual(starting('i_').sort());
  });

  it.each(numbers)('%s keeps its literal, however large or small', async (name) => {
    expect(await read(asField(name))).toMatchObject({ cell: bytesOf(name).toString().trim(), replaced: 0 });
  });

  it.each(invalidBytes)('%s: bytes that are not UTF-8 become U+FFFD, and are counted', async (name) => {
    const { cell, replaced } = await read(asField(name));
    expect(cell).toContain('\ufffd');
    expect(replaced).toBeGreaterThan(0);
  });

  it.each(surrogates)('%s: a nested value keeps its escapes, because they are ASCII', async (name) => {
    expect(await read(asField(name))).toMatchObject({ cell: bytesOf(name).toString().trim(), replaced: 0 });
  });

  it('a lone surrogate in a string or a name becomes U+FFFD, and is counted', async () => {
    const page = '{"data":[{"id":"a","\\uDFAA":"\\uD888"}],"page":{"nextCursor":null}}';
    const { cell, columns, replaced } = await read(Buffer.from(page));
    expect([cell, columns, replaced]).toEqual(['\ufffd', ['id', '\ufffd'], 2]);
  });

  it.each(utf16)('%s is read as a body, but not inside of UTF-8', async (name) => {
    await expect(read(asField(name))).rejects.toThrow(SyntaxError);
    await expect(read(bytesOf(name))).rejects.toBeInstanceOf(BrokenPromiseError);
  });

  it('500 levels of arrays are read; more than 1,000 throw an error without a stack overflow', async () => {
    const levels = bytesOf(others[0]!).toString().trim();
    await expect(read(asField(others[0]!))).resolves.toMatchObject({ cell: levels });
    const deep = `{"data":[{"id":"a","field":${'['.repeat(1500)}${']'.repeat(1500)}}],"page":{}}`;
    await expect(read(Buffer.from(deep))).rejects.toThrow(/nested more than 1000 levels deep at byte \d+/);
  });

  it('a byte order mark at the start of a body is ignored', async () => {
    await expect(read(bytesOf(others[1]!))).rejects.toThrow(/no "data"/);
  });
});

describe('a message about an invalid body', () => {
  it.each([
    ['"a\\x41"', 'unknown escape in a string at byte 29'],
    ['["a\\x41"]', 'unknown escape in a string at byte 30'],
    ['{"a":"\\uD8G0"}', '\\u without four hexadecimal digits at byte 35'],
    ['"tab\there"', 'a string contains an unescaped control character at byte 31'],
    ['["\\"line\nbreak"]', 'a string contains an unescaped control character at byte 35'],
  ])('names the unexpected text and its position: %j', async (json, message) => {
    const page = `{"data":[{"id":"a","field":${json}}],"page":{}}`;
    await expect(read(Buffer.from(page))).rejects.toThrow(message);
  });
});
