import { type ByteString, type Cells, type Cursor, fromByteString } from '../../core/brands.js';
import type { PageEvidence } from '../../core/list-evidence.js';
import { JsonScanner, type JsonSource } from '../../json/scanner.js';
import { type JsonValue, readValue } from '../../json/value.js';
import { BrokenPromiseError } from '../errors.js';
import { mayReport, ReportedError, reportedError, reportsFailure } from '../service-message.js';
import { EvidenceReader } from './read-evidence.js';
import { type FieldColumns, RecordReader } from './record.js';

/** One page of a list (docs/service-api.md#the-list-envelope). */
export interface ListEnvelope {
  /** One array for each record, with the columns of the given `FieldColumns`. */
  readonly rows: Cells[];
  /** The page size that the service applied; `null` if it does not report it. */
  readonly limit: number | null;
  /**
   * `null` at the end of the list, where the service writes `null`, `""`, an empty array or object, `false` or no cursor
   * (docs/explanation/guarantees.md#cursors).
   */
  readonly nextCursor: Cursor | null;
  /** Position of the first element of `data` that is not an object, such as `null`; `null`: all are. It has no cells. */
  readonly firstOther: number | null;
  /** What the body says about the list. */
  readonly evidence: PageEvidence;
  /** Number of lone surrogates replaced by U+FFFD. */
  readonly replaced: number;
}

interface PageOptions {
  readonly columns: FieldColumns;
  /** Separator between the levels of a flattened name; `null` keeps nested values as JSON text. */
  readonly flatten: ByteString | null;
  /**
   * What `"data": null` means. On the first page of an increment, services mean an empty list by it. Elsewhere it could hide
   * records, so it breaks the promise of the API. Default: `wrong`.
   */
  readonly nullData?: 'empty' | 'wrong' | undefined;
  /** How much of the body is text at a time. Default: 64 KiB. */
  readonly windowBytes?: number;
}

interface ScanOptions extends PageOptions {
  /** Receives the records in order, in batches, before the end of the page is known to be valid. */
  readonly take: (records: Cells[]) => void;
  /** The most records in a batch. It can change as columns are added. The scan yields after each batch. */
  readonly atOnce: () => number;
  /** Discards all records received so far. Called for a second `data` member, because the last one counts. */
  readonly forget: () => void;
}

/** Reads a complete list envelope. It throws the same errors as `scanListPage`. */
export function readListPage(body: JsonSource, options: PageOptions): ListEnvelope {
  const rows: Cells[] = [];
  const take = (records: Cells[]): void => void rows.push(...records);
  const forget = (): void => void rows.splice(0);
  const scan = scanListPage(body, { ...options, take, forget, atOnce: () => 1000 });
  for (;;) {
    const { done, value } = scan.next();
    if (done) return { ...value, rows };
  }
}

/**
 * Reads a list envelope from its text directly into cells, without changing a value (docs/explanation/guarantees.md#values).
 * It yields after every few records, so that the caller can let the event loop run during a large page.
 *
 * @throws SyntaxError if the text is not JSON (a truncated response, an error page). The caller can retry.
 * @throws BrokenPromiseError if it is JSON, but not the list envelope of docs/service-api.md
 * @throws ReportedError if the body reports an error
 */
export function* scanListPage(
  body: JsonSource,
  options: ScanOptions,
): Generator<void, Omit<ListEnvelope, 'rows'>> {
  const { windowBytes = WINDOW_BYTES } = options;
  if (body.length <= windowBytes) return yield* scanIn(body, options, body.length);
  try {
    return yield* scanIn(body, options, windowBytes);
  } catch (error) {
    const isOfText =
      error instanceof SyntaxError || error instanceof ReportedError || error instanceof BrokenPromiseError;
    if (!isOfText) throw error;
  }
  // What is wrong, and where, is said of the whole text. An envelope whose other members exceed a window is also read in this way.
  options.forget();
  return yield* scanIn(body, options, body.length);
}

/**
 * Text of more than 128 KiB stays in V8's old generation until that is collected, if the young one is collected while the text is read.
 * A list has hundreds of pages in between.
 */
const WINDOW_BYTES = 64 * 1024;

/** @param windowBytes how much of the records is text at a time */
function* scanIn(
  body: JsonSource,
  options: ScanOptions,
  windowBytes: number,
): Generator<void, Omit<ListEnvelope, 'rows'>> {
  const scanner = new JsonScanner(body, windowBytes);
  const records = new RecordReader(scanner, options.columns, options.flatten);
  let data: 'none' | 'null' | 'array' = 'none';
  let firstOther: number | null = null;
  let page: PageFields | null = null;
  let hasFailed = false;
  const evidence = new EvidenceReader();

  if (scanner.peek() !== OPEN_OBJECT) rejectEnvelope(body, 'the body is not an object');
  for (const [name] of scanner.members()) {
    if (name === 'data') {
      if (data === 'array') options.forget();
      data = scanner.peek() === NULL ? 'null' : 'array';
      firstOther = null;
      if (data === 'null') scanner.word('null');
      else firstOther = yield* readData(scanner, records, options);
    } else if (name === 'page' && scanner.peek() !== NULL) page = readPageFields(scanner, evidence);
    else if (mayReport(name)) hasFailed = reportsFailure(name, readValue(scanner)) || hasFailed;
    else if (!evidence.read(name, scanner)) scanner.skip();
  }
  scanner.end();

  if (hasFailed || data !== 'array') checkReport(body, hasFailed);
  if (data === 'none') rejectEnvelope(body, 'the envelope has no "data"');
  if (data === 'null' && options.nullData !== 'empty') rejectEnvelope(body, '"data" is null');
  if (data === 'null') page ??= { limit: null, nextCursor: null };
  const { limit, nextCursor } = page ?? rejectEnvelope(body, 'the envelope has no "page"');
  if (nextCursor === null && evidence.isMore)
    rejectEnvelope(body, 'it says that the list continues, but has no "nextCursor"');
  return { limit, nextCursor, replaced: scanner.replaced, firstOther, evidence: evidence.found };
}

/** Throws the error that the body reports, if it reports one. */
function checkReport(body: JsonSource, hasFailed: boolean): void {
  const reported = reportedError(fromByteString(body.slice(0) as ByteString));
  if (reported !== null) throw reported;
  // The body is not quoted, because it may have records.
  if (hasFailed) throw new ReportedError('');
}

const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;
/** The first character of `null`. */
const NULL = 0x6e;

type PageFields = Pick<ListEnvelope, 'limit' | 'nextCursor'>;

/** Reads the records. Returns the position of the first element that is none. */
function* readData(
  scanner: JsonScanner,
  records: RecordReader,
  { take, atOnce }: ScanOptions,
): Generator<void, number | null> {
  let read: Cells[] = [];
  let firstOther: number | null = null;
  if (scanner.peek() !== OPEN_ARRAY) rejectEnvelope(scanner.text, '"data" is not an array');
  const readItem = (at: number): Cells => {
    if (scanner.peek() === OPEN_OBJECT) return records.read();
    scanner.skip();
    firstOther ??= at;
    return [];
  };
  for (const cells of scanner.itemsInWindows(readItem)) {
    read.push(cells);
    if (read.length < atOnce()) continue;
    take(read);
    read = [];
    yield;
  }
  if (read.length > 0) take(read);
  return firstOther;
}

function readPageFields(scanner: JsonScanner, evidence: EvidenceReader): PageFields {
  let limit: number | null = null;
  let nextCursor: Cursor | null = null;
  // PHP writes an empty map as an empty array.
  if (scanner.peek() === OPEN_ARRAY && isEmpty(readValue(scanner))) {
    evidence.oddEnd('"page": []');
    return { limit, nextCursor };
  }
  if (scanner.peek() !== OPEN_OBJECT) rejectEnvelope(scanner.text, '"page" is not an object');
  for (const [name] of scanner.members()) {
    const code = scanner.peek();
    if (name === 'nextCursor') nextCursor = readCursor(scanner, code, evidence);
    else if (name === 'limit' && code >= 0x30 && code <= 0x39) limit = Number(scanner.number());
    else if (!evidence.read(name, scanner, 1)) scanner.skip();
  }
  return { limit, nextCursor };
}

function readCursor(scanner: JsonScanner, code: number, evidence: EvidenceReader): Cursor | null {
  // The API (docs/service-api.md) requires a string, but a number that is sent back as written also continues the list.
  if (code === 0x2d || (code >= 0x30 && code <= 0x39)) return scanner.number() as string as Cursor;
  const value = readValue(scanner);
  if (value.kind === 'null') return null;
  if (value.kind === 'string') return value.text === '' ? null : (value.text as Cursor);
  if (!isEmpty(value)) rejectEnvelope(scanner.text, '"page.nextCursor" is neither a string nor null');
  evidence.oddEnd(`"nextCursor": ${EMPTY_TEXTS[value.kind]}`);
  return null;
}

const EMPTY_TEXTS = { array: '[]', object: '{}', false: 'false', true: '', number: '' } as const;

function isEmpty(value: JsonValue): boolean {
  if (value.kind === 'array') return value.items.length === 0;
  return value.kind === 'false' || (value.kind === 'object' && value.members.size === 0);
}

/**
 * Throws BrokenPromiseError for a well-formed body, SyntaxError for a truncated or malformed one, and ReportedError for one
 * that is only a text.
 */
function rejectEnvelope(body: JsonSource, what: string, row: number | null = null): never {
  const scanner = new JsonScanner(body);
  const isText = scanner.peek() === 0x22;
  scanner.skip();
  scanner.end();
  if (isText) checkReport(body, false);
  throw new BrokenPromiseError(`the service's response is not the list envelope of the API: ${what}`, {
    row,
  });
}

/** Number of characters to search at the end of the body: `page` follows `data` in the envelope. */
const TAIL = 4096;

/** Matches a `nextCursor` without escapes, followed by simple members up to the end of the envelope. */
const AT_THE_END =
  /^"nextCursor"\s*:\s*"([\x20\x21\x23-\x5b\x5d-\x7e]+)"\s*(?:,\s*"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[\w.+-]+)\s*)*\}\s*\}\s*$/;

/**
 * Guesses the next cursor without reading the page, so that the next page can be requested immediately. Only
 * `readListPage` returns the actual cursor. `null` if no cursor is found.
 */
export function peekNextCursor(body: JsonSource): Cursor | null {
  const tail = body.slice(-TAIL);
  const at = tail.lastIndexOf('"nextCursor"');
  return at === -1 ? null : ((AT_THE_END.exec(tail.slice(at))?.[1] as Cursor | undefined) ?? null);
}
