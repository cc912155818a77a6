import type { EpochMs, Millis } from '../../core/brands.js';
import { dateSpan } from '../../core/date-span.js';
import { DAY_MS, formatDuration, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../core/duration.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import { keyIsId } from '../../lake/rows/profile.js';
import { type Finding, ok, problem, warning } from '../finding.js';
import type { ProbedPage, ResourceProbe } from './service-probe.js';

/** Larger pages take longer and gain nothing (docs/internals/benchmarks.md). */
const MAX_PAGE_SIZE = 10_000;

interface PageSizeTrial {
  readonly finding: Finding;
  /** The largest accepted size up to `MAX_PAGE_SIZE`; `null`: no size is accepted. */
  readonly size: number | null;
}

/**
 * Finds the largest accepted page. A service may apply a smaller size than requested, and say so in `page.limit`, or reject the
 * request, which a search between an accepted and a rejected size finds: at most 15 requests.
 */
export async function tryPageSize(probe: ResourceProbe, configured: number): Promise<PageSizeTrial> {
  const check = 'page size';
  const { name } = probe.resource;
  const found = (size: number, rejects: boolean): PageSizeTrial => {
    const reduced = size < MAX_PAGE_SIZE ? ' and reduces larger ones to that' : ' or more';
    const beyond = rejects ? ' and rejects larger ones' : reduced;
    const message = `${name}: the service accepts pages of ${size} records${beyond}`;
    const fits = size >= configured || !rejects;
    const finding = fits ? ok(check, message) : warning(check, message, `Set \`sync.pageSize: ${size}\`.`);
    return { size, finding };
  };
  const first = await probe.page({ limit: MAX_PAGE_SIZE });
  if (first.kind === 'page') return found(appliedSize(first, MAX_PAGE_SIZE), false);
  let accepted = 0;
  let rejected = MAX_PAGE_SIZE;
  while (rejected - accepted > 1) {
    const limit = Math.floor((accepted + rejected) / 2);
    const page = await probe.page({ limit });
    if (page.kind === 'refused' || page.kind === 'not-found') break;
    if (page.kind !== 'page') rejected = limit;
    else {
      accepted = limit;
      const applied = appliedSize(page, limit);
      // It rejects some sizes and reduces others.
      if (applied < limit) return found(applied, true);
    }
  }
  if (accepted > 0) return found(accepted, true);
  const remedy = 'Ask the service which sizes it accepts.';
  return { size: null, finding: problem(check, 'other', `${name}: the service accepts no size`, remedy) };
}

/** Without `page.limit`, a full page that has a next one shows the applied size. */
function appliedSize({ limit, rows, nextCursor }: ProbedPage, requested: number): number {
  if (limit !== null && limit > 0) return Math.min(limit, requested);
  return nextCursor !== null && rows.length > 0 ? Math.min(rows.length, requested) : requested;
}

/** Requests two pages of one record. */
export async function tryCursor(probe: ResourceProbe): Promise<Finding> {
  const { name } = probe.resource;
  const honoured = ok('cursor', `${name}: \`cursor\` continues the list`);
  const onePage = ok('cursor', `${name}: the list has one page, so it needs no cursor`);
  const broken = (why: string): Finding => {
    const remedy =
      'A list that is longer than one page cannot be read. Ask the service how its pages continue.';
    return problem('cursor', 'other', `${name}: ${why}`, remedy);
  };
  const first = await probe.page({ limit: 1 });
  if (first.kind !== 'page') return broken(`the service does not accept its own cursor: ${first.message}`);
  if (first.nextCursor === null) return onePage;
  const second = await probe.page({ limit: 1, cursor: first.nextCursor });
  if (second.kind !== 'page') return broken(`the service does not accept its own cursor: ${second.message}`);
  if (second.rows.length === 0) return second.nextCursor === null ? onePage : honoured;
  const isIgnored = second.keys.every((key) => first.keys.includes(key));
  return isIgnored ? broken('`cursor` has no effect: the second page is the first one again') : honoured;
}

interface SinceTrial {
  readonly finding: Finding;
  /** `sync.overlap` that keeps changes from being lost; `null`: the configured one does. */
  readonly overlapMs: Millis | null;
  /** The field whose newest time fits `updatedSince`; `null`: none is known. */
  readonly field: string | null;
}

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
 * @param now the service's clock
 * @param overlapMs the configured `sync.overlap`
 */
export async function tryUpdatedSince(
  probe: ResourceProbe,
  now: EpochMs,
  overlapMs: number,
): Promise<SinceTrial> {
  const { name } = probe.resource;
  const unusable = (what: string, effect: string): SinceTrial => {
    const remedy = `${effect} Export with --full, and ask the service how changes are listed.`;
    return {
      finding: problem('updatedSince', 'other', `${name}: ${what}`, remedy),
      overlapMs: null,
      field: null,
    };
  };
  const rejected = (why: string): SinceTrial =>
    unusable(`the service rejects \`updatedSince\`: ${why}`, 'Increments cannot work.');
  const rejections: string[] = [];
  const isListed = async (at: number): Promise<boolean> => {
    const page = await probe.page({ limit: 1, updatedSince: toUtcSeconds(at) });
    if (page.kind === 'page') return page.rows.length > 0;
    rejections.push(page.message);
    return false;
  };
  const all = await probe.page({ limit: 1 });
  if (all.kind !== 'page') return rejected(all.message);
  if (all.rows.length === 0) {
    const message = `${name}: not tested, because the list is empty`;
    return { finding: ok('updatedSince', message), overlapMs: null, field: null };
  }
  if (await isListed(now + 2 * DAY_MS)) {
    const message = `${name}: \`updatedSince\` has no effect, so every increment reads the whole list`;
    const remedy = 'Nothing is lost. If the list is long, export it less often.';
    return { finding: warning('updatedSince', message, remedy), overlapMs: null, field: null };
  }
  if (!(await isListed(LONG_AGO)))
    return rejections.length > 0
      ? rejected(rejections.at(-1)!)
      : unusable(
          'with `updatedSince`, the service returns no record, even since 1990',
          'Increments would miss every change.',
        );
  const newest = await newestChange(isListed, now);
  const page = await probe.page({ limit: 100, updatedSince: toUtcSeconds(newest - PRECISION_MS) });
  if (rejections.length > 0) return rejected(rejections.at(-1)!);
  return honoured(name, page.kind === 'page' ? zoneOf(page, newest) : null, overlapMs);
}

/** What follows from the zone that the service reads a time in. */
function honoured(name: string, found: ReturnType<typeof zoneOf>, overlapMs: number): SinceTrial {
  const good = (text: string): SinceTrial => ({
    finding: ok('updatedSince', `${name}: \`updatedSince\` is honoured${text}`),
    overlapMs: null,
    field: found?.field ?? null,
  });
  if (found === null) return good('; no field shows a time to find its time zone with');
  const { zoneMs, field } = found;
  if (zoneMs === 0) return good(` and read as UTC (compared with "${field}")`);
  const zone = `UTC${zoneMs < 0 ? '-' : '+'}${formatDuration(Math.abs(zoneMs))}`;
  const local = `, but read as local time (${zone}, compared with "${field}")`;
  if (zoneMs > 0) return good(`${local}; increments read more than they need, and nothing is lost`);
  // An hour more, for a change to daylight saving time.
  const behind = HOUR_MS - zoneMs;
  if (overlapMs > behind) return good(`${local}; \`sync.overlap\` covers that`);
  const needed = overlapMs + behind;
  const finding = warning(
    'updatedSince',
    `${name}: \`updatedSince\` is honoured${local}, so each increment misses the changes of ${formatDuration(-zoneMs)}`,
    `Set \`sync.overlap: ${formatDuration(needed)}\`, which covers that and a change to daylight saving time.`,
  );
  return { finding, overlapMs: needed, field };
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

/**
 * The field whose newest time is a whole number of quarters of an hour from the newest change. `zoneMs`: how far the service's
 * reading of a time is from UTC; negative if it takes it as local time west of Greenwich.
 */
function zoneOf({ rows }: ProbedPage, newest: number) {
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
 * record; `accepts-all`: it answers with success for a record that cannot exist; `shows-others`: it shows another record for one that the
 * list no longer has; `refused`: the key may not use it; `untested`: the list is empty, the key has several fields, or the service did not answer.
 */
type ById = 'works' | 'none' | 'accepts-all' | 'shows-others' | 'refused' | 'untested';

const USELESS = {
  none: 'GET by id does not find a record that the list shows',
  'accepts-all': 'GET by id answers with success for a record that cannot exist, so it proves nothing',
  'shows-others':
    'GET by id shows another record in place of one that the list no longer has, so it proves nothing',
  refused: 'the API key may not use GET by id',
};
/** The same if the configuration does not use it, which is right. */
const UNUSED = {
  none: 'not used, and the service does not offer it',
  'accepts-all': 'not used, and of no use: the service answers with success for any id',
  'shows-others': 'not used, and of no use: the service answers with another record for one that is gone',
  refused: 'not used, and outside the rights of the API key',
};

/**
 * Finds out whether GET by id proves that a record is deleted.
 *
 * @param unlisted ids of rows that the list no longer has. The probe notes what GET by id shows of them
 * @returns the value of `fetchById` that follows
 */
export async function tryById(
  probe: ResourceProbe,
  unlisted: readonly string[] = [],
): Promise<{ readonly finding: Finding; readonly fetchById: boolean }> {
  const check = 'fetch by id';
  const { name, fetchById: isUsed } = probe.resource;
  const byId = await whatByIdProves(probe, unlisted);
  if (byId === 'untested') {
    const message = `${name}: ${isUsed ? 'used' : 'not used'}; there is no listed record with a single field as its key to test it with`;
    return { finding: ok(check, message), fetchById: isUsed };
  }
  if (byId !== 'works') {
    const remedy = `Set \`fetchById: false\` for ${name}.`;
    const finding = isUsed
      ? warning(check, `${name}: ${USELESS[byId]}`, remedy)
      : ok(check, `${name}: ${UNUSED[byId]}`);
    return { finding, fetchById: false };
  }
  const finding = isUsed
    ? ok(check, `${name}: GET by id finds a listed record, and no other`)
    : warning(
        check,
        `${name}: GET by id works, and the configuration does not use it`,
        `Set \`fetchById: true\` for ${name}, so that it proves deletes.`,
      );
  return { finding, fetchById: true };
}

/** Requests up to three listed records, because each may just have been deleted, and one that cannot exist. */
async function whatByIdProves(probe: ResourceProbe, unlisted: readonly string[]): Promise<ById> {
  if (!keyIsId(probe.resource)) return 'untested';
  const page = await probe.page({ limit: 3 });
  if (page.kind !== 'page') return 'untested';
  const ids = page.rows.flatMap((row) => row.get(probe.resource.key[0]!) ?? []).slice(0, 3);
  let answer: ById = 'untested';
  for (const id of ids) {
    const found = await probe.record(id);
    if (found === 'found') {
      const proves = await afterFound(probe, id, new Set(ids));
      return proves === 'works' ? afterWorks(probe, unlisted) : proves;
    }
    answer = found === 'gone' || found === 'other' ? 'none' : found === 'refused' ? 'refused' : answer;
  }
  return answer;
}

/** Requests records that the list no longer has. Only some of them may be deleted. */
async function afterWorks(probe: ResourceProbe, unlisted: readonly string[]): Promise<ById> {
  const answers = new Set<string>();
  for (const id of unlisted) answers.add(await probe.record(id));
  return answers.has('other') && !answers.has('gone') ? 'shows-others' : 'works';
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
