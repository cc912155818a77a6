import type { EpochMs } from '../../core/brands.js';
import { type DateSpan, dateSpan, formOf } from '../../core/date-span.js';
import { DAY_MS } from '../../core/duration.js';
import { type Finding, ok, warning } from '../finding.js';
import type { ResourceProbe } from './service-probe.js';

/** Clocks and zones differ, and a service may count whole days. */
const TOLERANCE_MS = 2 * DAY_MS;
/** A time of creation or of a change often lies close to the date of an entry, but does not decide what the list shows. */
const CHANGE_TIME = /creat|insert|updat|modif|chang|sync/i;
/** The oldest value of the field lies this close to the window's edge, as a share of the window. */
const NEAR_EDGE = 0.2;

/** Why a field that fits is not proposed. If it is configured, it stays. */
const FITS_BY_CHANCE = 'has only dates inside the window, but seems to be the time of a change';

/** Why a field cannot be judged: the account may be younger than the window. */
const NOT_NEAR_EDGE = 'has no date near the edge of the window, so the list may be too short to tell';

/** What the values of a column say about its being the date of the window. */
interface ColumnSummary {
  /** Rows with a value. */
  filled: number;
  /** The first value that is no date, as a form; `null`: all are dates. */
  otherForm: string | null;
  oldest: DateSpan;
  newest: DateSpan;
}

/** A row of the lake: values as text, by field. */
type KnownRow = Readonly<Record<string, string | null>>;

function addRow(columns: Map<string, ColumnSummary>, row: ReadonlyMap<string, string>): void {
  for (const [field, text] of row) {
    if (text === '') continue;
    const none = { from: Number.POSITIVE_INFINITY, to: Number.NEGATIVE_INFINITY };
    const column = columns.get(field) ?? { filled: 0, otherForm: null, oldest: none, newest: none };
    columns.set(field, column);
    column.filled++;
    const span = column.otherForm === null ? dateSpan(text) : null;
    if (span === null) column.otherForm ??= formOf(text);
    else {
      if (span.from < column.oldest.from) column.oldest = span;
      if (span.to > column.newest.to) column.newest = span;
    }
  }
}

/**
 * Finds the columns that are filled in all rows, hold only dates, and have no value outside of the window while their oldest value
 * lies near its edge.
 *
 * @param now the service's clock
 * @returns `fields`: the one with its oldest value nearest to the edge first; `rejected`: why others were left out, by field
 */
function judgeColumns(
  columns: ReadonlyMap<string, ColumnSummary>,
  rows: number,
  now: EpochMs,
  windowMs: number,
) {
  const edge = now - windowMs;
  const rejected = new Map<string, string>();
  const found: { field: string; distance: number }[] = [];
  for (const [field, { filled, otherForm, oldest, newest }] of columns) {
    const distance = (oldest.from + oldest.to) / 2 - edge;
    if (otherForm !== null) rejected.set(field, `has a value of the form "${otherForm}", which is no date`);
    else if (filled < rows) rejected.set(field, `has no value in ${rows - filled} of ${rows} rows`);
    else if (oldest.to < edge - TOLERANCE_MS) rejected.set(field, 'has dates before the window');
    else if (newest.from > now + TOLERANCE_MS) rejected.set(field, 'has dates in the future');
    else if (distance > Math.max(TOLERANCE_MS, NEAR_EDGE * windowMs)) rejected.set(field, NOT_NEAR_EDGE);
    else if (CHANGE_TIME.test(field)) rejected.set(field, FITS_BY_CHANCE);
    else found.push({ field, distance: Math.abs(distance) });
  }
  const fields = found.sort((a, b) => a.distance - b.distance).map(({ field }) => field);
  return { fields, rejected };
}

/**
 * For each field, how many rows that the mirror has once read and the list no longer shows are well inside the window by this field.
 * They have left the window, so the field that dates it has only those that were deleted. This compares the list with earlier
 * readings of it.
 */
function insideByField(
  fields: readonly string[],
  unlisted: Iterable<KnownRow>,
  { now, windowMs }: { readonly now: number; readonly windowMs: number },
): Map<string, number> {
  const inside = new Map(fields.map((field) => [field, 0]));
  for (const row of unlisted) {
    for (const field of fields) {
      const span = dateSpan(row[field] ?? '');
      if (span !== null && span.from > now - windowMs + TOLERANCE_MS && span.to <= now)
        inside.set(field, inside.get(field)! + 1);
    }
  }
  return inside;
}

/** More pages take too long for someone who waits. */
const MAX_PAGES = 100;

export interface WindowInput {
  readonly probe: ResourceProbe;
  /** Size of the pages for reading the whole list, in rows. */
  readonly pageSize: number;
  /** The service's clock. */
  readonly now: EpochMs;
  /** Rows that the mirror has read so far and not marked as deleted, with their keys; `null`: the lake has none. */
  readonly known: (() => AsyncIterable<{ readonly key: string; readonly row: KnownRow }>) | null;
}

interface FoundWindow {
  readonly field: string | null;
  readonly findings: readonly Finding[];
}

/** Reads the whole list for the field that dates its window, and compares it with what the mirror has read before. */
export async function findWindowField(
  { probe, pageSize, now, known }: WindowInput,
  windowMs: number,
): Promise<FoundWindow> {
  const { name, windowField: configured } = probe.resource;
  const columns = new Map<string, ColumnSummary>();
  let rows = 0;
  const listed = new Set<string>();
  let cursor: Parameters<ResourceProbe['page']>[0]['cursor'] = null;
  for (let pages = 0; ; pages++) {
    const page = await probe.page({ limit: pageSize, cursor });
    if (page.kind !== 'page' || (pages === MAX_PAGES && page.nextCursor !== null))
      return noField(`${name}: the date field was not searched for: the list is too long or cannot be read`);
    rows += page.rows.length;
    for (const row of page.rows) addRow(columns, row);
    const before = listed.size;
    for (const key of page.keys) listed.add(key);
    // A service that ignores the cursor returns the same page again.
    if (page.nextCursor === null || (page.rows.length > 0 && listed.size === before)) break;
    cursor = page.nextCursor;
  }
  const { fields, rejected } = judgeColumns(columns, rows, now, windowMs);
  const unlisted: KnownRow[] = [];
  if (known !== null) for await (const { key, row } of known()) if (!listed.has(key)) unlisted.push(row);
  const inside = insideByField(fields, unlisted, { now, windowMs });
  const [field = null] = [...fields].sort((a, b) => inside.get(a)! - inside.get(b)!);
  const reason = configured === null ? undefined : rejected.get(configured);
  const isUnclear = reason === FITS_BY_CHANCE || reason === NOT_NEAR_EDGE;
  const fits =
    configured !== null && fields.includes(configured) && inside.get(configured) === inside.get(field!);
  if (fits || isUnclear) {
    const how = isUnclear ? `may be right: it ${reason}` : `fits the window in ${rows} rows`;
    return { field: configured, findings: [ok('window', `${name}: "${configured}" ${how}`)] };
  }
  const correction = 'Set `windowField` to the field that dates the window, or remove it.';
  const wrong = `${name}: \`windowField\` "${configured}" ${reason}`;
  const suspicious = reason === undefined ? [] : [warning('window', wrong, correction)];
  if (field === null) {
    const near = [...rejected].filter(([, why]) => why === FITS_BY_CHANCE || why === NOT_NEAR_EDGE);
    const but = near.map(([one, why]) => `; "${one}" ${why}`).join('');
    const message = `${name}: \`windowField\` stays unset, because no field of ${rows} rows dates the window${but}`;
    return noField(message, suspicious);
  }
  const others = fields.filter((one) => one !== field);
  const compared =
    known === null
      ? ''
      : `; of ${unlisted.length} rows that are no longer listed, ${inside.get(field)} would count as deleted`;
  const also =
    others.length === 0
      ? ''
      : `; ${others.map((one) => `"${one}"`).join(', ')} would fit as well, but less closely`;
  const message = `${name}: "${field}" seems to date the window: each of ${rows} rows has a date inside it, the oldest near its edge${compared}${also}`;
  const remedy = `Check that this field decides what the list shows, and set \`windowField: ${field}\` for ${name}.`;
  return { field, findings: [...suspicious, warning('window', message, remedy)] };
}

function noField(message: string, before: readonly Finding[] = []): FoundWindow {
  return { field: null, findings: [...before, ok('window', message)] };
}
