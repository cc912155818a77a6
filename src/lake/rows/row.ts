import type { ByteString, RunId, UtcSeconds } from '../../core/brands.js';
import { cellEnd, RowScanner, readCell } from './csv.js';

/**
 * A row's text begins with `<runId>,<syncedAt>,<deletedAt>,`. Run ids and times have a fixed length, so the offset of the
 * *payload* (the service's data, from the first key column) can be computed without parsing a cell.
 */
const RUN_ID_LENGTH = 25;
const TIME_LENGTH = 20;
const DELETED_AT = RUN_ID_LENGTH + 1 + TIME_LENGTH + 1;

/** Whether `_deleted_at` is set. A live row has a delimiter at that offset. */
export function isTombstone(row: string, at = 0): boolean {
  const code = row.charCodeAt(at + DELETED_AT);
  return code >= 0x30 && code <= 0x39;
}

/** Offset of the payload of the row that starts at `at`. */
export function payloadAt(row: string, at = 0): number {
  return at + DELETED_AT + (isTombstone(row, at) ? TIME_LENGTH : 0) + 1;
}

/** Whether both rows have the same values and the same deleted state. */
export function isSame(a: ByteString, b: ByteString): boolean {
  const from = payloadAt(a);
  return (
    isTombstone(a) === isTombstone(b) &&
    a.length - from === b.length - payloadAt(b) &&
    a.endsWith(b.slice(payloadAt(b)))
  );
}

/** The three metadata cells, each followed by the delimiter. */
export function rowPrefix(
  runId: RunId,
  syncedAt: UtcSeconds,
  deletedAt: UtcSeconds | null,
  delimiter: string,
): string {
  return `${runId}${delimiter}${syncedAt}${delimiter}${deletedAt ?? ''}${delimiter}`;
}

/** The same row with another `_run_id`. */
export function withRunId(row: ByteString, runId: RunId): ByteString {
  return (runId + row.slice(RUN_ID_LENGTH)) as ByteString;
}

/** The same row as another run's: with its `_run_id` and `_synced_at`, and the same `_deleted_at`. */
export function restamped(row: ByteString, runId: RunId, syncedAt: UtcSeconds): ByteString {
  const delimiter = row[RUN_ID_LENGTH]!;
  return (runId + delimiter + syncedAt + row.slice(RUN_ID_LENGTH + 1 + TIME_LENGTH)) as ByteString;
}

/** The `_synced_at` of a row: when its cells were fetched. */
export function syncedAtOf(row: string): UtcSeconds {
  return row.slice(RUN_ID_LENGTH + 1, RUN_ID_LENGTH + 1 + TIME_LENGTH) as UtcSeconds;
}

/** The `_deleted_at` of a tombstone; `null`: the row is live. */
export function deletedAtOf(row: string): UtcSeconds | null {
  return isTombstone(row) ? (row.slice(DELETED_AT, DELETED_AT + TIME_LENGTH) as UtcSeconds) : null;
}

/** Makes a tombstone of a row: sets `_run_id` and `_deleted_at`. `_synced_at` is kept, because the row was not read again. */
export function toTombstone(
  row: ByteString,
  runId: RunId,
  deletedAt: UtcSeconds,
  delimiter: string,
): ByteString {
  return (rowPrefix(runId, syncedAtOf(row), deletedAt, delimiter) + row.slice(payloadAt(row))) as ByteString;
}

/** The cell of a field that a staged tombstone does not have. No other cell is in quotes without need. */
export const ABSENT_CELL = '"-"';

/** A tombstone whose absent fields have the values of an older version of the record. */
export function withValuesOf(tombstone: ByteString, older: ByteString, delimiter: string): ByteString {
  const from = payloadAt(tombstone);
  if (!tombstone.includes(ABSENT_CELL, from)) return tombstone;
  const cells: string[] = [];
  for (let [at, to] = [from, payloadAt(older)]; at < tombstone.length; ) {
    const [end, olderEnd] = [cellEnd(tombstone, at, delimiter), cellEnd(older, to, delimiter)];
    const cell = tombstone.slice(at, end);
    cells.push(cell === ABSENT_CELL ? older.slice(to, olderEnd) : cell);
    if (tombstone.charCodeAt(end) === LINE_FEED) break;
    [at, to] = [end + 1, olderEnd + 1];
  }
  return `${tombstone.slice(0, from)}${cells.join(delimiter)}\n` as ByteString;
}

const LINE_FEED = 0x0a;

/** The sort key of a row: the values of the key columns, in their order. */
export type SortKey = ByteString & { readonly sortKey: true };

/** Builds a sort key. One value is used as is. Several are joined with NULs so that different lists give different keys. */
export function sortKey(values: readonly string[]): SortKey {
  if (values.length === 1) return values[0] as SortKey;
  return values.map((value) => value.replaceAll('\0', '\0\x01')).join('\0\0') as SortKey;
}

/** Copies a key. In V8 a slice keeps its whole parent string in memory. */
export function detached(key: SortKey): SortKey {
  return Buffer.from(key, 'latin1').toString('latin1') as SortKey;
}

/** The sort key of the row whose payload starts at `at`. */
export function rowKey(text: string, at: number, keyColumns: number, delimiter: string): SortKey {
  const first = cellEnd(text, at, delimiter);
  const value = readCell(text.slice(at, first)) ?? '';
  if (keyColumns === 1) return value as SortKey;
  const values: string[] = [value];
  for (let start = first + 1; values.length < keyColumns; ) {
    const end = cellEnd(text, start, delimiter);
    values.push(readCell(text.slice(start, end)) ?? '');
    start = end + 1;
  }
  return sortKey(values);
}

/** Sort keys of all rows of a text, in order. @param which `live` excludes tombstones */
export function rowKeys(
  text: string,
  keyColumns: number,
  delimiter: string,
  which: 'all' | 'live',
): SortKey[] {
  const scanner = new RowScanner(text);
  const keys: SortKey[] = [];
  for (let at = 0; at < text.length; at = scanner.end(at)) {
    if (which === 'live' && isTombstone(text, at)) continue;
    keys.push(rowKey(text, payloadAt(text, at), keyColumns, delimiter));
  }
  return keys;
}
