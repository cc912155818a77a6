import type { ByteString } from '../../core/brands.js';
import { NO_EVIDENCE, type PageEvidence } from '../../core/list-evidence.js';
import type { JsonScanner } from '../../json/scanner.js';
import { type JsonValue, readValue } from '../../json/value.js';
import type { ResponseFacts } from '../service-client.js';
import { plainName } from '../service-message.js';

/** Members that say by `true` that a list is incomplete, by their plain names. */
const SIGNS: readonly string[] = [
  ...['incomplete', 'isincomplete', 'incompleteresults', 'incompleteresult', 'resultsincomplete'],
  ...['partial', 'ispartial', 'partialresults', 'partialresult', 'partialdata', 'resultspartial'],
  ...['timedout', 'istimedout', 'hastimedout', 'terminatedearly'],
];
/** Members that count parts of a service which have not answered; and objects with such a count in `failed`. */
const FAILED_PARTS: readonly string[] = [
  'failedshards',
  'shardsfailed',
  'failedpartitions',
  'unavailableshards',
];
const PARTS: readonly string[] = ['shards', 'clusters', 'partitions'];
const FAILED: readonly string[] = ['failed', 'failures'];
/** Members with words for people. */
const TEXTS: readonly string[] = [
  ...['warning', 'warnings', 'message', 'messages', 'notice', 'notices', 'note', 'notes', 'info', 'msg'],
];
/** Members with the number of records in the whole list. */
const TOTALS: readonly string[] = [
  ...['total', 'totalcount', 'totalrecords', 'totalitems', 'totalresults', 'totalelements', 'totalrows'],
  ...['totalentries', 'totalhits', 'totalsize', 'recordstotal', 'resultcount', 'count', '@odata.count'],
];
const TOTAL_HEADERS: readonly string[] = [
  ...['totalcount', 'total', 'totalrecords', 'totalitems', 'totalresults', 'paginationtotalcount'],
  ...['paginationtotal', 'wptotal', 'recordcount', 'resultcount'],
];
/** Objects next to `data` that describe the list, as `page` does. */
const ABOUT_LIST: readonly string[] = ['meta', 'metadata', 'pagination', 'paging', 'pageinfo'];

/** Longest text that is looked at for words, and longest one that is quoted, in characters. */
const MAX_TEXT = 1000;
const MAX_WORDS = 200;
/** Texts of one member that are looked at. */
const MAX_TEXTS = 20;
const MAX_DEPTH = 3;

/** Collects what the members of an envelope say about the list, while it is scanned. */
export class EvidenceReader {
  #found: PageEvidence = NO_EVIDENCE;

  get found(): PageEvidence {
    return this.#found;
  }

  /** Reads a member next to `data`, or one of `page`, if it says something about the list. Returns false if it does not: nothing is read. */
  read(name: ByteString, scanner: JsonScanner, where: 'envelope' | 'page'): boolean {
    const plain = plainName(name).replace(/^_+/, '');
    if (where === 'envelope' && ABOUT_LIST.includes(plain) && scanner.peek() === OPEN_OBJECT) {
      for (const [inner] of scanner.members()) if (!this.read(inner, scanner, 'page')) scanner.skip();
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
    const { incomplete, total } = this.#found;
    const words = incomplete ?? wordsOf(name, plain, value);
    const counted = total ?? (TOTALS.includes(plain) ? totalOf(value) : null);
    this.#found = { ...this.#found, incomplete: words, total: counted };
  }
}

const OPEN_OBJECT = 0x7b;

function mayTell(plain: string): boolean {
  return [SIGNS, FAILED_PARTS, PARTS, TEXTS, TOTALS].some((names) => names.includes(plain));
}

/** What a member says about the list being incomplete; `null`: nothing. */
function wordsOf(name: string, plain: string, value: JsonValue): string | null {
  if (SIGNS.includes(plain) && isTrue(value)) return `"${name}": ${textOf(value)}`;
  if (FAILED_PARTS.includes(plain) && isSome(value)) return `"${name}": ${textOf(value)}`;
  if (PARTS.includes(plain) && value.kind === 'object') {
    const failed = [...value.members].find(
      ([inner, one]) => FAILED.includes(plainName(inner)) && isSome(one),
    );
    return failed === undefined ? null : `"${name}": { "${failed[0]}": ${textOf(failed[1])} }`;
  }
  return TEXTS.includes(plain) ? (textsIn(value).find(saysIncomplete) ?? null) : null;
}

/** Some services write a yes as 1 or in quotation marks. */
function isTrue(value: JsonValue): boolean {
  if (value.kind === 'string') return /^(?:true|yes|1)$/i.test(value.text.trim());
  return value.kind === 'true' || (value.kind === 'number' && value.literal === '1');
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

const LIST =
  '(?:results?|result sets?|records?|rows|items|entries|hits|lists?|data|responses?|answers?|output|pages?)';
const LACKS = '(?:incomplete|partial|truncated|cut off|missing|omitted|skipped|dropped|left out|lost)';
const IS = '(?:is|are|was|were|be|been|being|may|might|could|can|not|have|has|had|only)';
const READ = '(?:loaded|read|fetched|returned|included|searched|retrieved|reached|queried|shown|listed)';
/** A sentence that says that records are missing, in lower case and with single spaces. */
const INCOMPLETE = [
  /^(?:incomplete|partial|truncated|timed out|time ?out)$/,
  new RegExp(`\\b(?:incomplete|partial|truncated|missing|omitted|capped) ${LIST}\\b`),
  new RegExp(`\\b${LIST} (?:${IS} ){1,4}${LACKS}\\b`),
  new RegExp(
    `\\b(?:some|many|several|[1-9][\\d,]*) (?:of the )?(?:\\w+ )?\\w+ (?:${IS} ){1,4}(?:missing|omitted|skipped|left out|lost)\\b`,
  ),
  new RegExp(`\\b(?:not|cannot|t) (?:be )?${READ}\\b`),
  /\b(?:could not|cannot|can not|unable to|failed to) (?:load|read|fetch|search|return|include|reach|query|retrieve)\b/,
  new RegExp(
    `\\b(?:not all|only (?:the )?(?:first|top|newest|latest|last)|limited to(?: the)?(?: first| top)?) (?:[\\d,]+ )?(?:of )?(?:the )?(?:matching )?${LIST}\\b`,
  ),
  /\bpartial(?:ly)? (?:success|failure|content|outage|loaded|returned|available)\b/,
  /\b(?:timed out|time ?out (?:exceeded|reached|occurred|while|after|during)|(?:due to|because of) (?:an? |the )?time ?out)\b/,
  /\b(?:shards?|nodes?|partitions?|replicas?|regions?) (?:failed|(?:is|are|was|were) (?:down|unavailable|unreachable|not available))\b/,
];
/** A sentence about something else, or that says that nothing is missing. */
const OTHER = [
  /\b(?:deprecat\w*|sunset|obsolete|will be|upgrade|migrate|parameters?|arguments?|headers?|fields?|attributes?|values?|per page|page size)\b/,
  /\b(?:no|not|never|without|isn t|aren t|wasn t|weren t) (?:\w+ ){0,2}(?:incomplete|partial|truncated|timed out|missing|omitted|skipped)\b/,
];

/** Whether a text for people says that the list is incomplete. One about something else does not, for example about a deprecated parameter. */
export function saysIncomplete(text: string): boolean {
  const sentences = text.slice(0, MAX_TEXT).split(/[.;!?\n](?=\s|$)/);
  return sentences.some((sentence) => {
    const plain = sentence
      .toLowerCase()
      .replaceAll(/[^a-z0-9,]+/g, ' ')
      .trim();
    return INCOMPLETE.some((one) => one.test(plain)) && !OTHER.some((one) => one.test(plain));
  });
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
  let { incomplete, total } = body;
  if (status === 206) incomplete ??= 'status 206 (Partial Content)';
  for (const [name, value] of Object.entries(headers)) {
    const plain = plainName(name).replace(/^x/, '');
    const text = String(value ?? '').trim();
    if (SIGNS.includes(plain) && isTrue({ kind: 'string', text })) incomplete ??= `${name}: ${text}`;
    if (plain === 'warning' && saysIncomplete(text)) incomplete ??= `${name}: ${text}`;
    if (TOTAL_HEADERS.includes(plain)) total ??= count(text);
    if (plain === 'contentrange') total ??= count(text.slice(text.lastIndexOf('/') + 1));
  }
  if (incomplete !== null) incomplete = shown(incomplete.slice(0, MAX_TEXT)).slice(0, MAX_WORDS);
  return incomplete === body.incomplete && total === body.total ? body : { ...body, incomplete, total };
}
