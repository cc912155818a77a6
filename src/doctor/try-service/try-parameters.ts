import { dateSpan } from '../../core/date-span.js';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../core/duration.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import { hasId } from '../../lake/rows/profile.js';
import type { ProbedPage, ResourceProbe } from './service-probe.js';

/** What the service makes of `updatedSince`. */
export type UpdatedSince =
  /** The list has no record to test it with. */
  | { readonly kind: 'empty-list' }
  /** The same records, whatever the time. */
  | { readonly kind: 'ignored' }
  /** No record even since 1990. */
  | { readonly kind: 'returns-nothing' }
  | { readonly kind: 'rejected'; readonly message: string }
  | {
      readonly kind: 'honoured';
      /**
       * How far the service's reading of a time is from UTC, in ms: negative if it takes the time as local time west of Greenwich
       * and so leaves out changes. `null`: no field shows when a record changed.
       */
      readonly zoneMs: number | null;
      /** The field that shows it. */
      readonly field: string | null;
    };

const LONG_AGO = Date.UTC(1990, 0);
/** Local time is at most 14 hours ahead of UTC. */
const LATER_MS = 15 * HOUR_MS;
/** The search ends here: zones differ by quarters of an hour. */
const PRECISION_MS = 30 * SECOND_MS;
const ZONE_STEP_MS = 15 * MINUTE_MS;
const MAX_ZONE_MS = 14 * HOUR_MS;

/**
 * Finds out whether the service honours `updatedSince`, and the time zone that it reads it in. The list becomes empty for times after
 * the newest change. A search finds that time to half a minute; compared with the time in the record that changed last, it shows
 * the zone. About 25 requests.
 *
 * @param now the service's clock, milliseconds since 1970
 */
export async function tryUpdatedSince(probe: ResourceProbe, now: number): Promise<UpdatedSince> {
  let rejection: string | null = null;
  const isListed = async (at: number): Promise<boolean> => {
    const page = await probe.page({ limit: 1, updatedSince: toUtcSeconds(at) });
    if (page.kind === 'page') return page.rows.length > 0;
    rejection = page.message;
    return false;
  };
  const rejected = (): UpdatedSince | null =>
    rejection === null ? null : { kind: 'rejected', message: rejection };
  const all = await probe.page({ limit: 1 });
  if (all.kind !== 'page') return { kind: 'rejected', message: all.message };
  if (all.rows.length === 0) return { kind: 'empty-list' };
  if (await isListed(now + 2 * DAY_MS)) return { kind: 'ignored' };
  if (!(await isListed(LONG_AGO))) return rejected() ?? { kind: 'returns-nothing' };
  const newest = await newestChange(isListed, now);
  const page = await probe.page({ limit: 100, updatedSince: toUtcSeconds(newest - PRECISION_MS) });
  const zone = page.kind === 'page' ? zoneOf(page, newest) : null;
  return rejected() ?? { kind: 'honoured', zoneMs: zone?.zoneMs ?? null, field: zone?.field ?? null };
}

/** The latest time, as the service reads it, with a list that is not empty. */
async function newestChange(isListed: (at: number) => Promise<boolean>, now: number): Promise<number> {
  let after = now + LATER_MS;
  let step = LATER_MS + HOUR_MS;
  let at = after - step;
  while (!(await isListed(at))) {
    after = at;
    step *= 2;
    at -= step;
    if (at < LONG_AGO) {
      at = LONG_AGO;
      break;
    }
  }
  while (after - at > PRECISION_MS) {
    const between = Math.floor((at + after) / 2);
    if (await isListed(between)) at = between;
    else after = between;
  }
  return at;
}

/** The field whose newest time is a whole number of quarters of an hour from the newest change. */
function zoneOf({ rows }: ProbedPage, newest: number): { zoneMs: number; field: string } | null {
  const fields = new Set(rows.flatMap((row) => [...row.keys()]));
  const found = [...fields].flatMap((field) => {
    const times = rows.map((row) => exactTime(row.get(field)));
    const latest = Math.max(...times.filter((time) => time !== null));
    if (!Number.isFinite(latest)) return [];
    const zoneMs = Math.round((newest - latest) / ZONE_STEP_MS) * ZONE_STEP_MS;
    const isNear = Math.abs(newest - latest - zoneMs) <= 2 * PRECISION_MS;
    return isNear && Math.abs(zoneMs) <= MAX_ZONE_MS ? [{ field, zoneMs: zoneMs === 0 ? 0 : zoneMs }] : [];
  });
  const named = found.filter(({ field }) => /updat|modif|chang/i.test(field));
  const candidates = named.length > 0 ? named : found;
  const [first] = candidates;
  return first !== undefined && candidates.every(({ zoneMs }) => zoneMs === first.zoneMs) ? first : null;
}

/** A time with its zone, or an epoch number. */
function exactTime(text: string | undefined): number | null {
  const span = text === undefined ? null : dateSpan(text);
  return span !== null && span.to - span.from < SECOND_MS ? span.from : null;
}

/**
 * What GET by id can prove. `works`: it finds a listed record, and not one that cannot exist; `none`: it does not find a listed
 * record; `accepts-all`: it answers with success for a record that cannot exist; `refused`: the key may not use it; `untested`: the
 * list is empty, the key has several fields, or the service did not answer.
 */
export type ById = 'works' | 'none' | 'accepts-all' | 'refused' | 'untested';

/** Requests up to three listed records, because each may just have been deleted, and one that cannot exist. */
export async function tryById(probe: ResourceProbe): Promise<ById> {
  if (!hasId(probe.resource)) return 'untested';
  const page = await probe.page({ limit: 3 });
  if (page.kind !== 'page') return 'untested';
  const ids = page.rows.flatMap((row) => row.get(probe.resource.key[0]!) ?? []).slice(0, 3);
  let answer: ById = 'untested';
  for (const id of ids) {
    const found = await probe.record(id);
    if (found === 'found') return afterFound(probe, id, new Set(ids));
    answer = found === 'gone' || found === 'other' ? 'none' : found === 'refused' ? 'refused' : answer;
  }
  return answer;
}

/** The form of the id stays, so that the service does not reject it. */
async function afterFound(probe: ResourceProbe, id: string, known: ReadonlySet<string>): Promise<ById> {
  const other = id.replace(/[0-9A-Za-z]/g, (one) =>
    one >= '0' && one <= '9' ? '9' : one === one.toLowerCase() ? 'z' : 'Z',
  );
  const absent = known.has(other) ? `${other}9` : other;
  const answer = await probe.record(absent);
  return answer === 'found' || answer === 'other' ? 'accepts-all' : 'works';
}

/**
 * What the service makes of `cursor`. `ignored`: the second page is the first one again; `one-page`: the list has no second page
 * even with one record per page.
 */
type CursorUse =
  | { readonly kind: 'honoured' }
  | { readonly kind: 'ignored' }
  | { readonly kind: 'one-page' }
  | { readonly kind: 'rejected'; readonly message: string };

/** Requests two pages of one record. */
export async function tryCursor(probe: ResourceProbe): Promise<CursorUse> {
  const first = await probe.page({ limit: 1 });
  if (first.kind !== 'page') return { kind: 'rejected', message: first.message };
  if (first.nextCursor === null) return { kind: 'one-page' };
  const second = await probe.page({ limit: 1, cursor: first.nextCursor });
  if (second.kind !== 'page') return { kind: 'rejected', message: second.message };
  if (second.rows.length === 0)
    return second.nextCursor === null ? { kind: 'one-page' } : { kind: 'honoured' };
  return second.keys.every((key) => first.keys.includes(key)) ? { kind: 'ignored' } : { kind: 'honoured' };
}
