import type { ByteString, RunId, UtcSeconds } from '../core/brands.js';
import { cellEnd, RowScanner, readCell } from './csv.js';

/**
 * A row's text begins with `<runId>,<syncedAt>,<deletedAt>,`. Run ids and times have a fixed length, so what the
 * service sent (the *payload*, from the first key column on) is found by arithmetic, without reading a cell.
 */
const RUN_ID_LENGTH = 25;
const TIME_LENGTH = 20;
const DELETED_AT = RUN_ID_LENGTH + 1 + TIME_LENGTH + 1;

/** Whether `_deleted_at` is set: a live row has a delimiter there. */
export function isTombstone(row: string, at = 0): boolean {
  const code = row.charCodeAt(at + DELETED_AT);
  return code >= 0x30 && code <= 0x39;
}

/** Offset of the payload of the row that starts at `at`. */
export function payloadAt(row: string, at = 0): number {
  return at + DELETED_AT + (isTombstone(row, at) ? TIME_LENGTH : 0) + 1;
}

/** The first three cells with the delimiter behind each. */
export function rowPrefix(
  runId: RunId,
  syncedAt: UtcSeconds,
  deletedAt: UtcSeconds | null,
  delimiter: string,
): string {
  return `${runId}${delimiter}${syncedAt}${delimiter}${deletedAt ?? ''}${delimiter}`;
}

/** The same row under another run's name. */
export function withRunId(row: ByteString, runId: RunId): ByteString {
  return (runId + row.slice(RUN_ID_LENGTH)) as ByteString;
}

/** The same row with `_run_id` and `_deleted_at` set; `_synced_at` stays, for nothing newer was read. */
export function entomb(row: ByteString, runId: RunId, deletedAt: UtcSeconds, delimiter: string): ByteString {
  const syncedAt = row.slice(RUN_ID_LENGTH + 1, RUN_ID_LENGTH + 1 + TIME_LENGTH) as UtcSeconds;
  return (rowPrefix(runId, syncedAt, deletedAt, delimiter) + row.slice(payloadAt(row))) as ByteString;
}

/** What rows are sorted by: the key's values, in the order of the key's columns. */
export type SortKey = ByteString & { readonly sortKey: true };

/** One value stands for itself; several are joined so that no two different lists give the same text. */
export function sortKey(values: readonly string[]): SortKey {
  if (values.length === 1) return values[0] as SortKey;
  return values.map((value) => value.replaceAll('\0', '\0\x01')).join('\0\0') as SortKey;
}

/** The same key in memory of its own: V8 lets a part of a string hold on to the whole. */
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

/** Sort keys of all rows of a text, in their order. @param which `live` leaves tombstones out */
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
