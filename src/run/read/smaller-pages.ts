import type { UtcSeconds } from '../../core/brands.js';
import { HOUR_MS } from '../../core/duration.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import type { ChainPosition } from './prefetched-page.js';

/** How often a list is read again from its beginning because one of its later pages was too heavy. */
const MAX_SHRINKS = 5;
/** How much earlier than a time that is too new for the service changes are requested, in ms. */
const TOO_NEW_MS = HOUR_MS;

/**
 * A position with smaller pages. A page in the middle of the list is read again from the list's beginning, because the limit
 * stays the same within a chain of pages. What is staged is kept.
 */
function withSize(from: ChainPosition, pageSize: number): ChainPosition {
  if (from.cursor === null) return { ...from, pageSize };
  const { chain, shrinks } = from;
  return { ...from, cursor: null, pageSize, chain: chain + 1, shrinks: shrinks + 1 };
}

/** What to try in place of a page that may be too heavy: half its size, a quarter, and so on. */
export function* smallerPages(from: ChainPosition): Generator<ChainPosition, void> {
  for (let pageSize = half(from.pageSize); pageSize >= 1; pageSize = half(pageSize))
    yield withSize(from, pageSize);
}

/** Whether the list was read again with smaller pages, and cannot be read with still smaller ones. */
export function isSmallest({ cursor, pageSize, shrinks }: ChainPosition): boolean {
  return cursor !== null && shrinks > 0 && (pageSize <= 1 || shrinks >= MAX_SHRINKS);
}

/**
 * Where a call continues with smaller pages after attempts that died.
 *
 * @param halvings how often the size is halved
 * @returns `null`: there is no smaller one
 */
export function withSmallerPages(
  stage: ChainPosition & { readonly done: boolean },
  halvings: number,
): ChainPosition | null {
  const pageSize = Math.max(1, Math.floor(stage.pageSize / 2 ** halvings));
  return halvings === 0 || stage.done || pageSize === stage.pageSize ? null : withSize(stage, pageSize);
}

/** Another request for the first page. `refused`: the time of changes that the service has refused. */
interface OtherFirstPage {
  readonly at: ChainPosition;
  readonly refused?: UtcSeconds;
}

/** What a service says about a first page that it rejects. */
interface Rejection {
  readonly status: number | null;
  readonly message: string;
  /** What its body says besides the message. */
  readonly details: string;
}

/**
 * Another request for a first page that the service has rejected. A time that it refuses is not sent again: changes are
 * requested from an hour earlier, or everything is read. Otherwise the limit may be too large.
 *
 * @param orSince as in the stage
 * @param accepted the last size that the service has accepted. A larger one is the run's own trial, so it is taken back before a
 *   time is given up that has worked so far
 * @returns `null`: there is no other
 */
export function otherFirstPage(
  at: ChainPosition,
  { status, message, details }: Rejection,
  { orSince, accepted }: { readonly orSince?: UtcSeconds | undefined; readonly accepted: number },
): OtherFirstPage | null {
  const { updatedSince, pageSize, refusedSince } = at;
  const isTelling = [LIMIT_WORDS, TIME_WORDS, TOO_NEW].some((words) => words.test(message));
  const says = isTelling ? message : details;
  const [hasLimit, hasTime] = [LIMIT_WORDS.test(says), TIME_WORDS.test(says)];
  const isAboutSize = status === PAYLOAD_TOO_LARGE || (hasLimit && !hasTime);
  if (updatedSince === null || isAboutSize)
    return status === GONE || pageSize <= 1 ? null : { at: withSize(at, half(pageSize)) };
  const isAboutTime = status === GONE || ((hasTime || TOO_NEW.test(says)) && !hasLimit);
  if (pageSize > accepted && !isAboutTime) return { at: withSize(at, Math.max(accepted, half(pageSize))) };
  if (orSince !== undefined && orSince > updatedSince) return { at: { ...at, updatedSince: orSince } };
  const earlier = toUtcSeconds(Date.parse(updatedSince) - TOO_NEW_MS);
  const isNew = TOO_NEW.test(says) && refusedSince === undefined;
  return isNew
    ? { at: { ...at, updatedSince: earlier, refusedSince: 'too-new' }, refused: updatedSince }
    : { at: { ...at, updatedSince: null, refusedSince: 'too-old' }, refused: updatedSince };
}

const GONE = 410;
const PAYLOAD_TOO_LARGE = 413;
/** Words about the size of a page, in the refusal of a first page. */
const LIMIT_WORDS = /\blimit\b|page[ _-]?size|per[ _-]?page|\btoo many\b/i;
/** Words about a time, whose limit is none of a page: "updatedSince is beyond the limit of 90 days". */
const TIME_WORDS =
  /since|\b(?:hours?|days?|weeks?|months?|years?|dates?|time ?stamps?|retention|history|future|past|old)\b/i;
/** Words about a time that is too new. */
const TOO_NEW =
  /\bfuture\b|too (?:new|recent|late)|\bahead\b|(?:later|newer|after) than|in the past|not yet/i;

function half(pageSize: number): number {
  return Math.floor(pageSize / 2);
}
