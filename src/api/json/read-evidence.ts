import type { ByteString } from '../../core/brands.js';
import { NO_EVIDENCE, type PageEvidence, type PartSign, type RecordRange } from '../../core/list-evidence.js';
import type { JsonScanner } from '../../json/scanner.js';
import { type JsonValue, readValue } from '../../json/value.js';
import type { ResponseFacts } from '../service-client.js';
import { incompleteness, MAX_TEXT } from './incomplete-words.js';

/** What a member is about, if its name says so. */
const OF = '(?:list|results?|records?|rows|items|data|response|search|query|content)?';
/** A member that says by `true` that a list is incomplete, by its plain name. */
const SIGN = new RegExp(
  `^(?:is|are|was|has|had)?${OF}(?:is|are|was|has)?(?:(?:incomplete|partial)${OF}|timedout|timeout|terminatedearly|degraded)$`,
);
/** Of these, those that may mean the page, as status 206 does. */
const PART_SIGN =
  /^(?:is|are|was|has|had)?(?:list|response|content)?(?:is|are|was|has)?(?:incomplete|partial)(?:list|response|content)?$/;
/** A member that says by `true` that a list continues. Without a cursor, the rest of it cannot be read. */
const MORE = new RegExp(
  `^(?:is|was|are|has)?${OF}(?:is|are|was)?(?:truncated${OF}|cutoff|capped|next(?:page)?|more(?:pages|available)?${OF})$`,
);
/** A member that says by `false` that a list continues. */
const LAST = /^(?:is)?lastpage$|^islast$/;
/** Members that count parts of a service which have not answered; and objects with such a count in `failed`. */
const FAILED_PARTS =
  /^(?:(?:num|number|count)?(?:of)?(?:failed|unavailable)(?:shards?|partitions?|clusters?|nodes?)|(?:shards?|partitions?|clusters?|nodes?)(?:failed|failures))(?:count)?$/;
const PARTS: readonly string[] = ['shards', 'clusters', 'partitions', 'nodes'];
const FAILED: readonly string[] = ['failed', 'failures'];
/** Members with words for people. */
const TEXTS =
  /^(?:(?:status|warning|result|info)?messages?|statustext|(?:warn|warning|notice|note|alert|remark|diagnostic|info)s?|msg|information)$/;
const COUNTED =
  '(?:count|records?|items?|results?|elements?|rows?|entry|entries|hits?|matches|objects?|documents?|resources?)';
/** A member with the number of records in the whole list. */
const TOTAL = new RegExp(
  [
    `^(?:grand|overall|full|list|result)?total(?:size|(?:num|number|count)?(?:of)?${COUNTED}{0,2})$`,
    `^(?:overall|full|list|result)?${COUNTED}(?:total|count)$`,
    `^(?:num|number|nb)(?:of)?(?:found|total|${COUNTED})$`,
    '^(?:odata)?count$',
  ].join('|'),
);
/** Objects next to `data` that describe the list, as `page` does. */
const ABOUT_LIST =
  /^(?:(?:response|results?|list|page|paging|pagination|search|query)(?:meta|metadata|info)|meta|metadata|page|pagination|paging)$/;

/** Longest text that is quoted, in characters. */
const MAX_WORDS = 200;
/** Texts of one member that are looked at. */
const MAX_TEXTS = 20;
const MAX_DEPTH = 3;
/** Longest name of a member that is looked at, in characters. */
const MAX_NAME = 64;

/** Collects what the members of an envelope say about the list, while it is scanned. */
export class EvidenceReader {
  #found: PageEvidence = NO_EVIDENCE;

  get found(): PageEvidence {
    return this.#found;
  }

  /** Whether a member says that the list continues. */
  isMore = false;

  /**
   * Reads a member next to `data`, or one of `page`, if it says something about the list. Returns false if it does not: nothing is
   * read.
   *
   * @param depth of objects that describe the list, such as `{"meta": {"page": {"total": 12}}}`
   */
  read(name: ByteString, scanner: JsonScanner, depth = 2): boolean {
    const plain = name.length > MAX_NAME ? '' : namePlainly(name);
    if (depth > 0 && ABOUT_LIST.test(plain) && scanner.peek() === OPEN_OBJECT) {
      for (const [inner] of scanner.members()) if (!this.read(inner, scanner, depth - 1)) scanner.skip();
      return true;
    }
    if (!mayTell(plain)) return false;
    this.#note(name, plain, readValue(scanner));
    return true;
  }

  /** Notes an end of the list that may be a mistake. @param shown as the service wrote it, such as `"page": []` */
  oddEnd(shown: string): void {
    this.#found = { ...this.#found, oddEnd: shown };
  }

  #note(name: string, plain: string, value: JsonValue): void {
    const { incomplete, part, total } = this.#found;
    const said = signIn(name, plain, value);
    const counted = total ?? (TOTAL.test(plain) ? totalOf(value) : null);
    this.isMore ||= value.kind === 'true' ? MORE.test(plain) : value.kind === 'false' && LAST.test(plain);
    this.#found = {
      ...this.#found,
      incomplete: incomplete ?? (said?.of === 'list' ? said.words : null),
      part: part ?? (said?.of === 'page' ? { words: said.words, range: null } : null),
      total: counted,
    };
  }
}

const OPEN_OBJECT = 0x7b;

/** A name without its case and signs, such as `incompleteresults` of `_incomplete-Results`. */
function namePlainly(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

function mayTell(plain: string): boolean {
  return (
    PARTS.includes(plain) || [SIGN, MORE, LAST, FAILED_PARTS, TEXTS, TOTAL].some((names) => names.test(plain))
  );
}

/** Words that say that a list is incomplete, or that a page is not the whole list, which may only mean that others follow. */
interface Sign {
  readonly of: 'list' | 'page';
  readonly words: string;
}

/** What a member says about the list being incomplete; `null`: nothing. */
function signIn(name: string, plain: string, value: JsonValue): Sign | null {
  if (TEXTS.test(plain)) return signInTexts(textsIn(value));
  if (isSign(plain, value))
    return { of: PART_SIGN.test(plain) ? 'page' : 'list', words: `"${name}": ${textOf(value)}` };
  const words = failedPartsIn(name, plain, value);
  return words === null ? null : { of: 'list', words };
}

/** The first text that says that the list is incomplete, or else one that says so of the page. */
function signInTexts(texts: readonly string[]): Sign | null {
  const signs = texts.flatMap((words): Sign[] => {
    const of = incompleteness(words);
    return of === null ? [] : [{ of, words }];
  });
  return signs.find(({ of }) => of === 'list') ?? signs[0] ?? null;
}

function failedPartsIn(name: string, plain: string, value: JsonValue): string | null {
  if (FAILED_PARTS.test(plain) && isSome(value)) return `"${name}": ${textOf(value)}`;
  if (PARTS.includes(plain) && value.kind === 'object') {
    const failed = [...value.members].find(
      ([inner, one]) => FAILED.includes(namePlainly(inner)) && isSome(one),
    );
    return failed === undefined ? null : `"${name}": { "${failed[0]}": ${textOf(failed[1])} }`;
  }
  return null;
}

/** Some services write a yes as 1 or in quotation marks. A `timeout` of 1 is a setting. */
function isSign(plain: string, value: JsonValue): boolean {
  if (!SIGN.test(plain)) return false;
  if (value.kind === 'true') return true;
  const text = value.kind === 'string' ? value.text.trim() : value.kind === 'number' ? value.literal : '';
  return plain.endsWith('timeout') ? /^true$/i.test(text) : /^(?:true|yes|1)$/i.test(text);
}

/** Whether a count is above zero, or a list of failures has one. */
function isSome(value: JsonValue): boolean {
  if (value.kind === 'array') return value.items.length > 0;
  const text = value.kind === 'number' ? value.literal : value.kind === 'string' ? value.text : '';
  return /^[1-9]\d{0,8}$/.test(text);
}

function textOf(value: JsonValue): string {
  if (value.kind === 'number') return value.literal;
  if (value.kind === 'string') return JSON.stringify(value.text);
  return value.kind === 'array' ? `[${value.items.length}]` : value.kind;
}

function textsIn(value: JsonValue, depth = MAX_DEPTH): string[] {
  if (value.kind === 'string') return [value.text];
  if (depth === 0) return [];
  const inner =
    value.kind === 'array' ? value.items : value.kind === 'object' ? [...value.members.values()] : [];
  return inner
    .slice(0, MAX_TEXTS)
    .flatMap((one) => textsIn(one, depth - 1))
    .slice(0, MAX_TEXTS);
}

/** A number of records, also as text or as `{"value": 12}`. */
function totalOf(value: JsonValue): number | null {
  if (value.kind === 'object') {
    const inner = value.members.get('value');
    return inner === undefined || inner.kind === 'object' ? null : totalOf(inner);
  }
  if (value.kind === 'number') return count(value.literal);
  return value.kind === 'string' ? count(value.text.trim()) : null;
}

function count(text: string): number | null {
  return /^\d{1,12}$/.test(text) ? Number(text) : null;
}

/** The evidence of a page: what its body says, then its status and its headers. The words are redacted and cut. */
export function withResponse(
  body: PageEvidence,
  { status, headers, shown }: Pick<ResponseFacts, 'status' | 'headers' | 'shown'>,
): PageEvidence {
  let { incomplete, part, total } = body;
  let counted: number | null = null;
  let range: RecordRange | null = null;
  let isWholeBody = false;
  for (const [name, value] of Object.entries(headers)) {
    const plain = namePlainly(name).replace(/^x?(?:pagination|wp)?(?=.)/, '');
    const text = String(value ?? '').trim();
    const sign = signInHeader(plain, text);
    if (sign === 'list') incomplete ??= `${name}: ${text}`;
    if (sign === 'page') part ??= { words: `${name}: ${text}`, range: null };
    if (TOTAL.test(plain)) counted ??= count(text);
    if (plain === 'contentrange') range ??= rangeIn(text);
    if (plain === 'contentrange') isWholeBody ||= isAllBytes(text);
    if (/^x-paginat(?:ion|or)$/.test(name)) counted ??= totalIn(text);
  }
  if (status === 206 && !isWholeBody)
    part = partOf206(part, range ?? (counted === null ? null : { from: null, to: null, total: counted }));
  total ??= counted ?? range?.total ?? null;
  const short = (words: string): string => shown(words.slice(0, MAX_TEXT)).slice(0, MAX_WORDS);
  return {
    ...body,
    incomplete: incomplete === null ? null : short(incomplete),
    part: part === null ? null : { ...part, words: short(part.words) },
    total,
  };
}

/** What a header says about the list or the page being incomplete; `null`: nothing. */
function signInHeader(plain: string, text: string): Sign['of'] | null {
  if (plain === 'warning') return incompleteness(text);
  if (!isSign(plain, { kind: 'string', text })) return null;
  return PART_SIGN.test(plain) ? 'page' : 'list';
}

/** The sign of a page with status 206. @param said what else says so: words like "Partial Content" only repeat the status */
function partOf206(said: PartSign | null, range: RecordRange | null): PartSign {
  const isOther = said !== null && !/partial/i.test(said.words);
  return isOther ? said : { words: 'status 206 (Partial Content)', range };
}

/** Longest `Content-Range` that is read, in characters. */
const MAX_RANGE = 128;

/**
 * The records of a page, by a `Content-Range` such as `items 0-9/120` or `0-9/*` (RFC 9110 section 14.4). `null`: it counts bytes or
 * pages, or has another form.
 */
function rangeIn(header: string): RecordRange | null {
  const [, unit = '', from = '', to = '', total = ''] =
    /^([^\d*]{0,32})(?:(\d{1,12})\s?-\s?(\d{1,12})|\*)?\s?\/\s?(\d{1,12}|\*)$/.exec(
      header.slice(0, MAX_RANGE),
    ) ?? [];
  if (total === '' || /^(?:bytes?|octets?|pages?)\b/i.test(unit)) return null;
  return { from: count(from), to: count(to), total: count(total) };
}

/** Whether a `Content-Range` of bytes is that of a whole body. */
function isAllBytes(header: string): boolean {
  const [, last, length] = /^bytes 0-(\d{1,12})\/(\d{1,12})$/i.exec(header.slice(0, MAX_RANGE)) ?? [];
  return last !== undefined && Number(last) + 1 === Number(length);
}

/** The total in a header that is JSON, such as `{"totalCount": 12, "pageSize": 10}`. */
function totalIn(header: string): number | null {
  const pairs = header.slice(0, MAX_TEXT).matchAll(/"([\w-]{1,64})":\s?"?(\d{1,12})\b/g);
  const [, , digits] = [...pairs].find(([, name = '']) => TOTAL.test(namePlainly(name))) ?? [];
  return digits === undefined ? null : count(digits);
}
