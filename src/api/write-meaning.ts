import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorMapping } from '../core/settings.js';
import {
  asksToWait,
  classifyResponse,
  isLimitUsedUp,
  LINKS,
  type ResponseSigns,
} from './classify-response.js';
import type { WriteMeaning } from './errors.js';

const CONFLICTS: readonly number[] = [409, 423];
const MISSING: readonly number[] = [404, 405];

/** The rule for every answer to a write. */
export function meaningOfWrite(answer: ResponseSigns, mapping: ErrorMapping): WriteMeaning {
  const meaning = firstMeaning(answer, mapping);
  const isFinal = meaning === 'success' || meaning === 'rejected' || meaning === 'exists';
  return !isFinal && meaning !== 'challenge' && isReplayed(answer.headers) ? 'stored' : meaning;
}

function firstMeaning(answer: ResponseSigns, mapping: ErrorMapping): WriteMeaning {
  const { status } = answer;
  const { kind, evidence } = classifyResponse(answer, mapping, 'write');
  if (kind === 'success') return 'success';
  if (evidence === 'challenge') return 'challenge';
  if (evidence !== 'status') return evidence === 'header' ? 'limit' : 'limit-in-words';
  if (kind === 'refused') return 'refused';
  if (status === 429) return asksToWait(answer) || isLimitUsedUp(answer) ? 'limit' : 'throttled';
  if (kind === 'transient' || kind === 'redirect') return 'failed';
  if (CONFLICTS.includes(status)) return conflictMeaning(answer);
  if (MISSING.includes(status)) return 'missing';
  return saysOneOf(EXISTS, wordsOf(answer)) ? 'exists' : 'rejected';
}

function conflictMeaning(answer: ResponseSigns): WriteMeaning {
  const words = wordsOf(answer);
  const isInProgress = IN_PROGRESS.test(words);
  if (IDEMPOTENCY.test(words) || (isInProgress && REQUEST.test(words))) return 'in-progress';
  if (asksToWait(answer) || isInProgress) return 'conflict';
  if (saysOneOf(EXISTS, words)) return 'exists';
  return answer.status === LOCKED || saysOneOf(BUSY, words) ? 'conflict' : 'rejected';
}

/** Says by itself that something is locked; HTTP/2 and some proxies send no reason phrase. */
const LOCKED = 423;
const IDEMPOTENCY = /idempoten/i;
const IN_PROGRESS =
  /in[ -]?(?:progress|flight)|(?:still|being|already)[ -]?processing|being[ -]?processed|already[ -]?(?:running|pending)/i;
/** What is in progress is a request, and not, for example, a timer. */
const REQUEST = /request|process|operation|transaction|submi|creat/i;
/**
 * A record is there, perhaps the one that an earlier request has made: also one that the row overlaps. `does not exist` and
 * `no longer exists` say the opposite.
 */
const EXISTS: readonly RegExp[] = [
  /(?<!(?:not|n't|longer|never|none)[\s-]{0,3})exist(?:s|ed)?(?![a-z])/i,
  /(?:conflict|clash|collid|coincid|match)[a-z]{0,3}[\s-]{1,3}(?:with[\s-]{1,3})?(?:(?:an?|the)[\s-]{1,3})?existing/i,
  /overlap|duplicate|\bidentical\b|(?:has|have|is|was)[\s-]{1,3}(?:been[\s-]{1,3})?taken/i,
  /already[\s-]{0,3}(?:been[\s-]{0,3})?(?:created|taken|used|registered|recorded|present|in[\s-]{0,3}use|added|submitted)/i,
  /already[\s-]{0,3}(?:been[\s-]{0,3})?(?:imported|booked|logged|entered|saved|stored|inserted|received|processed\b)/i,
  /(?:not|n't|non|must[\s-]{0,3}be)[\s-]{0,3}unique|unique(?:ness)?[\s-]{0,3}(?:constraint|violat|key|index)/i,
];
const BUSY: readonly RegExp[] = [
  /\block(?:ed|s|ing)?\b|\bbusy\b|try(?:ing)?[\s-]?again|retry|please[\s-]wait|later\b|temporar|in[\s-]?use\b/i,
  /concurren|parallel|simultaneous|contention|deadlock|serializ|optimistic|\bstale\b|(?:edit|write|update)[\s-]?conflict/i,
  /being[\s-]?(?:[a-z]{1,20}ed\b|written)|(?:changed|edited|modified|updated)[\s-](?:since|meanwhile)/i,
  /another[\s-]?(?:request|process|transaction|operation|update|change|user)/i,
];

function saysOneOf(patterns: readonly RegExp[], words: string): boolean {
  return patterns.some((pattern) => pattern.test(words));
}

/**
 * Reason phrase and body, without links: services name their documentation in each error. Codes such as `ResourceLocked` and
 * `RESOURCE_LOCKED` are words, too.
 */
function wordsOf({ reason, text }: ResponseSigns): string {
  return `${reason}\n${text}`
    .replace(LINKS, ' ')
    .replace(/([a-z])(?=[A-Z])/g, '$1 ')
    .replaceAll('_', ' ');
}

/**
 * Whether a header says that the answer is that of an earlier request: `Idempotent-Replayed: true` (Stripe) and similar ones,
 * such as `X-Idempotency-Status: replayed`.
 */
export function isReplayed(headers: IncomingHttpHeaders): boolean {
  return Object.entries(headers).some(([name, value]) => {
    const text = [value ?? ''].flat().join(' ').trim().toLowerCase();
    if (/repla(?:y|ied)/.test(name)) return !/^(?:|false|0|no|none|miss)$/.test(text);
    return name.includes('idempoten') && /repla(?:y|ied)|cached|stored|^hit$/.test(text);
  });
}

/** Whether the body of another answer would differ: it has a time, or the id of a request. */
export function isMarked(text: string): boolean {
  return MARK.test(text);
}

const MARK =
  /\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}|\b[0-9a-f]{16,64}\b|\b1[6-9]\d{8}(?:\d{3})?\b|(?:req(?:uest)?|trace|correlation|ray|error|event|log|transaction|support|incident)[\s_-]?(?:id|no|number|ref)|\b[0-7][0-9a-hjkmnp-tv-z]{25}\b|\d{1,2} [a-z]{3} \d{4} \d{2}:\d{2}|reference[^a-z0-9]{1,9}\d/i;
