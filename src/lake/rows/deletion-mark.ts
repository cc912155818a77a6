import type { EpochMs } from '../../core/brands.js';
import { type ByteString, type Cells, fromByteString } from '../../core/brands.js';
import { dateSpan } from '../../core/date-span.js';
import { MINUTE_MS } from '../../core/duration.js';
import type { ResourceSettings } from '../../core/settings.js';
import { columnName } from './data-columns.js';

/** How a record of a resource says that it is deleted; `null`: not known. */
export type DeletedRule = ResourceSettings['deleted'];

/** Times before it stand for no time, such as 0 and 0001-01-01. */
const FIRST_TIME = Date.UTC(1971, 0);
/** Clocks differ, so a time that is only just in the future has come. */
const CLOCKS_MS = 5 * MINUTE_MS;
/** Milliseconds in the units of epoch numbers. */
const EPOCH_UNITS = [1000, 1, 0.001] as const;

/** Numbers of seconds in the year 9999, which stands for never. As milliseconds, they would be in January 1978. */
const NEVER = { from: Date.UTC(9999, 0) / 1000, to: Date.UTC(10_000, 0) / 1000 };

const NOTHING: readonly string[] = [
  ...['', 'false', 'null', 'none', 'no', 'n', 'never', '[]', '{}', 'off', '-', 'n/a', 'na', 'nan', 'nil'],
  ...['undefined', 'active', 'live', 'not deleted', 'not_deleted', 'undeleted'],
];
const NUMBER = /^[+-]?\d{1,40}(?:\.\d{1,40})?(?:e[+-]?\d{1,3})?$/;

/**
 * Whether the value of a deletion field says that the record is deleted (docs/explanation/guarantees.md#records-that-say-that-they-are-deleted).
 * Without `values`, these do not: null, false, 0, an empty value, and a time before 1971 or in the future.
 */
export function saysDeleted(
  cell: ByteString | null | undefined,
  values: readonly string[] | null,
  now: EpochMs,
): boolean {
  if (cell === null || cell === undefined) return false;
  const text = fromByteString(cell);
  if (values !== null) return values.includes(text);
  const plain = text.slice(0, 100).trim().toLowerCase();
  if (NOTHING.includes(plain)) return false;
  const isPast = (from: number, to = from): boolean => to >= FIRST_TIME && from <= now + CLOCKS_MS;
  const span = dateSpan(plain) ?? dateSpan(plain.replace(/^(\d{8})(\d{4}(?:\d\d)?)$/, '$1T$2'));
  if (span !== null) return isPast(span.from, span.to);
  if (NUMBER.test(plain)) return Number(plain) === 1 || isPastNumber(Number(plain), isPast);
  // Any other form of a time, such as that of HTTP, or a text.
  const at = /^0[0\s:.tz-]*$/.test(plain) ? 0 : Date.parse(plain);
  return Number.isNaN(at) || isPast(at);
}

function isPastNumber(value: number, isPast: (at: number) => boolean): boolean {
  const isNever = [1, 1000, 1_000_000].some((unit) => {
    const seconds = value / unit;
    return seconds >= NEVER.from && seconds <= NEVER.to;
  });
  return !isNever && EPOCH_UNITS.some((unit) => isPast(value * unit));
}

/** Names of fields that mark a deletion, and values of states that do. */
const MARK =
  /^(?:is|was|hasbeen|soft|issoft|entity|record)?(?:deleted|removed|trashed|destroyed|erased|purged|tombstone)(?:at|on|by|date|time|datetime|timestamp|utc|atutc)?$|^(?:is)?intrash$|^(?:dateof)?deletion(?:date|time|timestamp)?$|^(?:date|time)(?:deleted|removed)$/;
const STATE =
  /^(?:entity|object|record|item|lifecycle)?(?:status|state)$|^lifecycle$|^(?:op|operation|changetype)$/;
const DELETED_STATES: readonly string[] = [
  ...['deleted', 'removed', 'trashed', 'destroyed', 'trash', 'delete', 'remove', 'destroy'],
];

const plainName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/**
 * Whether a field looks like one that marks deleted records, and its value says so.
 *
 * @returns the setting that names it; `null`: it does not
 */
export function markIn(name: string, cell: ByteString | null | undefined, now: number): DeletedRule {
  const plain = plainName(name);
  if (MARK.test(plain)) return saysDeleted(cell, null, now) ? { field: name, values: null } : null;
  if (!STATE.test(plain) || cell === null || cell === undefined) return null;
  const value = fromByteString(cell);
  return DELETED_STATES.includes(value.toLowerCase()) ? { field: name, values: [value] } : null;
}

/** Fields besides its key and marks that a record about a deletion alone may have, such as its type and a time. */
const FEW = 3;

/** What a record says about itself. A rule: it has a mark of deletion without the setting that it needs. */
export type RecordState = 'live' | 'deleted' | NonNullable<DeletedRule>;

/**
 * Returns a function that judges records, as cells by column before they are masked. Without a setting, a mark of deletion counts in a
 * record that has only its key besides it, and in any record that its list does not show.
 *
 * @param keys number of key columns
 */
export function recordJudge(
  rule: DeletedRule,
  keys: number,
  now: () => number,
  from: 'list' | 'by-id' = 'list',
): (cells: Cells, names: readonly string[]) => RecordState {
  let known = 0;
  let at = -1;
  const marks: number[] = [];
  const ruleOf = (cells: Cells, names: readonly string[]): DeletedRule => {
    for (const one of marks) {
      const cell = cells[one];
      const rule = cell && cell !== 'false' ? markIn(names[one]!, cell, now()) : null;
      if (rule !== null) return rule;
    }
    return null;
  };
  return (cells, names) => {
    for (; known < names.length; known++) {
      const name = names[known]!;
      const plain = plainName(name);
      if (rule !== null && name === columnName(rule.field)) at = known;
      if (known >= keys && (MARK.test(plain) || STATE.test(plain))) marks.push(known);
    }
    if (at !== -1 && saysDeleted(cells[at], rule!.values, now())) return 'deleted';
    const missing = ruleOf(cells, names);
    if (missing === null) return 'live';
    if (from === 'by-id' && rule === null) return missing;
    const present = marks.filter((one) => cells[one] !== undefined).length;
    const found = Object.keys(cells).length - keys - present;
    // Where records are small, such a record may be a complete one.
    return found <= FEW && 2 * found < names.length - keys - marks.length ? missing : 'live';
  };
}
