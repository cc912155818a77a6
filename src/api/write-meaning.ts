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
  return EXISTS.test(wordsOf(answer)) ? 'exists' : 'rejected';
}

function conflictMeaning(answer: ResponseSigns): WriteMeaning {
  const words = wordsOf(answer);
  const isInProgress = IN_PROGRESS.test(words);
  if (IDEMPOTENCY.test(words) || (isInProgress && REQUEST.test(words))) return 'in-progress';
  if (asksToWait(answer) || isInProgress) return 'conflict';
  if (EXISTS.test(words)) return 'exists';
  return BUSY.test(words) ? 'conflict' : 'rejected';
}

const IDEMPOTENCY = /idempoten/i;
const IN_PROGRESS =
  /in[\s_-]?progress|(?:still|being|already)[\s_-]?processing|being[\s_-]?processed|already[\s_-]?(?:running|pending)/i;
/** What is in progress is a request, and not, for example, a timer. */
const REQUEST = /request|process|operation|transaction|submi|creat/i;
/** A record is there. `does not exist` and `no longer exists` say the opposite. */
const EXISTS =
  /(?<!(?:not|n't|longer|never|none)[\s_-]{0,3})exist(?:s|ed)?(?![a-z])|duplicate|already[\s_-]{0,3}(?:been[\s_-]{0,3})?(?:created|taken|used|registered|recorded|present|in[\s_-]{0,3}use)|not[\s_-]{0,3}unique|must[\s_-]{0,3}be[\s_-]{0,3}unique|unique[\s_-]{0,3}(?:constraint|violation|key)/i;
const BUSY =
  /\block(?:ed|s|ing)?\b|_locked|lock_|\bbusy\b|try(?:ing)?[\s_-]?again|retry|concurren|simultaneous|contention|deadlock|serializ|being[\s_-]?(?:changed|edited|modified|updated|used|written)|another[\s_-]?(?:request|process|transaction|operation|update|user)|temporar|later\b|in[\s_-]?use\b/i;

/** Reason phrase and body, without links: services name their documentation in each error. */
function wordsOf({ reason, text }: ResponseSigns): string {
  return `${reason}\n${text}`.replace(LINKS, ' ');
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
  /\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}|\b[0-9a-f]{16,64}\b|\b1[6-9]\d{8}(?:\d{3})?\b|(?:request|trace|correlation|ray|error|incident)[\s_-]?(?:id|no|number|ref)/i;
