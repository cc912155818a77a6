import type { ByteString, Cursor } from '../../core/brands.js';
import { fromByteString } from '../../core/brands.js';
import type { Cells } from '../../core/cells.js';
import { BrokenPromiseError } from '../errors/broken-promise-error.js';
import type { FieldColumns } from './record.js';
import { RecordReader } from './record.js';
import { JsonScanner } from './scanner.js';

/** One page of a list (spec, "List envelope"). */
export interface ListEnvelope {
  /** One array a record; the columns are those of the `FieldColumns` it was read into. */
  readonly rows: Cells[];
  /** The page size that the service applied; `null` where it does not say. */
  readonly limit: number | null;
  /** `null` at the end of the list: the service writes `null`, `""` or nothing (DESIGN 3.6). */
  readonly nextCursor: Cursor | null;
  /** Lone surrogates that became U+FFFD. */
  readonly replaced: number;
}

export interface PageOptions {
  readonly columns: FieldColumns;
  /** Between the levels of a flattened name; `null` keeps nested values as their JSON text. */
  readonly flatten: ByteString | null;
}

export interface ScanOptions extends PageOptions {
  /** Given the records in their order, some at a time, before it is known whether the page is whole. */
  readonly take: (records: Cells[]) => void;
  /** The most that are given at a time. */
  readonly atOnce: number;
  /** The records that were given so far are not those of the page: of two lists the last one counts. */
  readonly forget: () => void;
}

/** Reads a list envelope whole; for its errors see `scanListPage`. */
export function readListPage(body: ByteString, options: PageOptions): ListEnvelope {
  const rows: Cells[] = [];
  const take = (records: Cells[]): void => void rows.push(...records);
  const forget = (): void => void rows.splice(0);
  return { ...scanListPage(body, { ...options, take, forget, atOnce: 1000 }), rows };
}

/**
 * Reads a list envelope straight from its text into cells, changing no value (DESIGN 3.8).
 *
 * @throws SyntaxError when the text is no JSON (a truncated answer, an error page): worth another try
 * @throws BrokenPromiseError when it is JSON but not the envelope that the spec promises
 */
export function scanListPage(body: ByteString, options: ScanOptions): Omit<ListEnvelope, 'rows'> {
  const scanner = new JsonScanner(body);
  const records = new RecordReader(scanner, options.columns, options.flatten);
  let hasData = false;
  let page: PageFields | null = null;

  if (scanner.peek() !== OPEN_OBJECT) breakPromise(body, 'the body is not an object');
  eachMember(scanner, (name) => {
    if (name === 'data') {
      if (hasData) options.forget();
      hasData = true;
      readData(scanner, records, options);
    } else if (name === 'page') page = readPageFields(scanner);
    else scanner.skip();
  });
  if (scanner.peek() !== -1) scanner.fail('text follows the end of the value');

  if (!hasData) breakPromise(body, 'the envelope has no "data"');
  const { limit, nextCursor } =
    (page as PageFields | null) ?? breakPromise(body, 'the envelope has no "page"');
  return { limit, nextCursor, replaced: scanner.replaced };
}

const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;

interface PageFields {
  limit: number | null;
  nextCursor: Cursor | null;
}

function readData(scanner: JsonScanner, records: RecordReader, { take, atOnce }: ScanOptions): void {
  let read: Cells[] = [];
  let taken = 0;
  if (scanner.peek() !== OPEN_ARRAY) breakPromise(scanner.text, '"data" is not an array');
  scanner.pos++;
  if (scanner.peek() === 0x5d) {
    scanner.pos++;
    return;
  }
  for (;;) {
    if (scanner.peek() !== OPEN_OBJECT) {
      const at = taken + read.length;
      breakPromise(scanner.text, `data[${at}] is not an object`, at);
    }
    read.push(records.read());
    if (read.length === atOnce) {
      take(read);
      taken += read.length;
      read = [];
    }
    const code = scanner.peek();
    scanner.pos++;
    if (code === 0x5d) {
      if (read.length > 0) take(read);
      return;
    }
    if (code !== 0x2c) {
      scanner.pos--;
      scanner.fail('expected "," or "]"');
    }
  }
}

function readPageFields(scanner: JsonScanner): PageFields {
  const fields: PageFields = { limit: null, nextCursor: null };
  if (scanner.peek() !== OPEN_OBJECT) breakPromise(scanner.text, '"page" is not an object');
  eachMember(scanner, (name) => {
    const code = scanner.peek();
    if (name === 'nextCursor') fields.nextCursor = readCursor(scanner, code);
    else if (name === 'limit' && code >= 0x30 && code <= 0x39) fields.limit = Number(scanner.number());
    else scanner.skip();
  });
  return fields;
}

function readCursor(scanner: JsonScanner, code: number): Cursor | null {
  if (code === 0x22) {
    const cursor = fromByteString(scanner.string());
    return cursor === '' ? null : (cursor as Cursor);
  }
  if (code === 0x6e) {
    scanner.word('null');
    return null;
  }
  // A number is no string, but it continues the list all the same when it is passed back as it was written.
  if (code === 0x2d || (code >= 0x30 && code <= 0x39)) return scanner.number() as string as Cursor;
  return breakPromise(scanner.text, '"page.nextCursor" is neither a string nor null');
}

/** Calls `visit` for each member of the object at `pos`; it must read the member's value. */
function eachMember(scanner: JsonScanner, visit: (name: ByteString) => void): void {
  scanner.pos++;
  if (scanner.peek() === 0x7d) {
    scanner.pos++;
    return;
  }
  for (;;) {
    scanner.peek();
    const name = scanner.string();
    scanner.expect(0x3a);
    scanner.peek();
    visit(name);
    const code = scanner.peek();
    if (code === 0x7d) {
      scanner.pos++;
      return;
    }
    scanner.expect(0x2c);
  }
}

/** Only a well-formed body can break a promise: any other is a torn answer, wherever its first oddity stands. */
function breakPromise(body: ByteString, what: string, row: number | null = null): never {
  const scanner = new JsonScanner(body);
  scanner.peek();
  scanner.skip();
  if (scanner.peek() !== -1) scanner.fail('text follows the end of the value');
  throw new BrokenPromiseError(
    `the service's answer is not the list envelope of the specification: ${what}`,
    { row },
  );
}
