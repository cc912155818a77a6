import { hash } from 'node:crypto';
import { type ByteString, type ObjectKey, type RunId, toByteString } from '../../core/brands.js';
import { groupBy } from '../../core/group-by.js';
import { inParallel } from '../../core/in-parallel.js';
import { beganAfter, isRunId } from '../../core/run-id.js';
import { parseStored } from '../../core/stored-json.js';
import { folderOf, nameOf, quarantinePrefix } from '../documents/lake-layout.js';
import { RowScanner, readRow } from '../rows/csv.js';
import { columnName } from '../rows/data-columns.js';
import { restoreFormula } from '../rows/escaping.js';
import type { ReadyProfile } from '../rows/profile.js';
import { type SortKey, sortKey } from '../rows/row.js';
import { ALL_REMOVED, addRemovals, collected, type ObjectStore, type Removal } from '../store/index.js';
import { AMONG_OTHERS } from './foreign-files.js';
import { storedKey } from './purge-rules.js';
import { writeIfUnchanged } from './swap.js';

/** Each file is read as a whole. */
const READS_AT_ONCE = 4;
/** Attempts at one file. The next one starts when another process has replaced it. */
const MAX_TRIES = 5;

/** A record that is looked for in quarantine files. */
interface Sought {
  /** The names of its key columns, in the order of the key. */
  readonly columns: readonly string[];
  /** Whether a key is that of the record. */
  readonly isKey: (key: SortKey) => boolean;
}

/**
 * The keys that a record can have in quarantine files. A run that failed has left no settings, so all forms of the escapes count.
 *
 * @param profiles that rows of the resource were written with. Those with another key than the first are left out
 * @param values of the record's key, as many as the first profile has key fields
 */
export function keysInQuarantine(
  profiles: readonly ReadyProfile[],
  values: readonly string[],
): { readonly columns: readonly string[]; readonly keys: ReadonlySet<SortKey> } {
  const columns = profiles[0]?.key.map(columnName) ?? [];
  const keys = new Set<SortKey>();
  for (const profile of profiles) {
    if (profile.key.map(columnName).join('\0') !== columns.join('\0')) continue;
    for (const lineBreaks of ['keep', 'escape'] as const)
      for (const escapeFormulas of [false, true])
        keys.add(storedKey({ ...profile, csv: { ...profile.csv, lineBreaks, escapeFormulas } }, values));
  }
  return { columns, keys };
}

/** The number of quarantine files of a resource that have the record. Writes nothing. */
export async function countInQuarantine(
  store: ObjectStore,
  resource: string,
  sought: Sought,
  signal: AbortSignal,
): Promise<number> {
  const found = await inParallel(await filesOf(store, resource), READS_AT_ONCE, async (key) => {
    signal.throwIfAborted();
    const version = await store.readIfExists(key);
    return version !== null && withoutRecord(version.body, sought) !== null;
  });
  return found.filter(Boolean).length;
}

/**
 * Removes a record from all quarantine files of a resource. A file that has no other row is removed. Records without their key
 * cannot be told apart, so they stay. It can be repeated.
 *
 * @returns the number of files that had it, and what the store refused to remove
 */
export async function removeFromQuarantine(
  store: ObjectStore,
  resource: string,
  sought: Sought,
  signal: AbortSignal,
): Promise<{ readonly files: number; readonly refused: Removal }> {
  const found = await inParallel(await filesOf(store, resource), READS_AT_ONCE, (key) =>
    removeFromFile(store, key, sought, signal),
  );
  const had = found.filter((removal) => removal !== null);
  return { files: had.length, refused: addRemovals(...had) };
}

/** @returns what the store refused to remove; `null`: the file does not have the record */
async function removeFromFile(
  store: ObjectStore,
  key: ObjectKey,
  sought: Sought,
  signal: AbortSignal,
): Promise<Removal | null> {
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    const found = await store.readIfExists(key);
    const left = found && withoutRecord(found.body, sought);
    if (left === null) return null;
    signal.throwIfAborted();
    if (left.rows === 0) return store.remove([key]);
    if ((await writeIfUnchanged(store, key, left.body, found!)) === 'written') return ALL_REMOVED;
    if (tries === MAX_TRIES) throw new Error(`${key} is being changed by another program. Try again later.`);
  }
}

async function filesOf(store: ObjectStore, resource: string): Promise<ObjectKey[]> {
  const found = await collected(store.list(quarantinePrefix(resource), AMONG_OTHERS));
  return found.map(({ key }) => key).filter((key) => key.endsWith('.csv'));
}

/**
 * A quarantine file without the rows of a record.
 *
 * @returns the new file, and the number of its rows; `null`: no row is of the record, or the file has no column of its key
 */
function withoutRecord(
  body: Buffer,
  { columns, isKey }: Sought,
): { readonly body: Buffer; readonly rows: number } | null {
  const text = body.toString('latin1');
  const scanner = new RowScanner(text);
  const start = scanner.end(0);
  const places = keyPlaces(text.slice(0, start), columns);
  if (places === null) return null;
  const { delimiter, at } = places;
  const kept = [text.slice(0, start)];
  let isFound = false;
  for (let from = start, end = 0; from < text.length; from = end) {
    end = scanner.end(from);
    const row = text.slice(from, end);
    const cells = readRow(ownRow(row), delimiter);
    if (isKey(sortKey(at.map((place) => restoreFormula(cells[place] ?? EMPTY))))) isFound = true;
    else kept.push(row);
  }
  return isFound ? { body: Buffer.from(kept.join(''), 'latin1'), rows: kept.length - 1 } : null;
}

const EMPTY = '' as ByteString;

/** A row as this connector writes it: a spreadsheet may have saved the file with a byte order mark and CR LF. */
function ownRow(row: string): string {
  return row.replace(/^\xef\xbb\xbf/, '').replace(/\r?\n$/, '');
}

/** Where a header has the key columns. The delimiter is the one of the settings at that time, which only the header shows. */
function keyPlaces(
  header: string,
  columns: readonly string[],
): { readonly delimiter: string; readonly at: readonly number[] } | null {
  const names = columns.map(toByteString);
  // The default comes first.
  for (const delimiter of new Set([',', ...(header.match(/[^0-9A-Za-z":\r\n\x80-\xff-]/g) ?? [])])) {
    const cells = readRow(ownRow(header), delimiter);
    const at = names.map((name) => cells.indexOf(name));
    if (at.length > 0 && !at.includes(-1)) return { delimiter, at };
  }
  return null;
}

/** What a purge notes next to the quarantine files until the sweep after it: hashes of the record's keys, instead of the keys. */
interface PurgeNote {
  readonly columns: readonly string[];
  readonly hashes: readonly string[];
}

const NOTE = 'purged.json';

/**
 * Notes which record a purge removes, so that `sweepQuarantine` can remove it from files that arrive late. Neither the mirror's
 * state nor the lake keeps the key.
 *
 * @param by run id of the purge
 */
export async function notePurge(
  store: ObjectStore,
  resource: string,
  by: RunId,
  { columns, keys }: ReturnType<typeof keysInQuarantine>,
): Promise<void> {
  const note: PurgeNote = { columns, hashes: [...keys].map((key) => keyHash(by, key)) };
  const key = `${quarantinePrefix(resource)}${by}/${NOTE}` as ObjectKey;
  await store.write(key, Buffer.from(JSON.stringify(note)));
}

/** Different purges of a record give different hashes. */
function keyHash(by: RunId, key: SortKey): string {
  return hash('sha256', Buffer.from(`${by}\0${key}`, 'latin1'));
}

/**
 * Removes the records of purges once more, an hour after the last one: a late request may have restored a quarantine file, or
 * written one of a run that began before. Then it removes the notes of these purges. It can be repeated.
 *
 * @param before run id of the last of these purges
 * @returns what the store refused to remove
 */
export async function sweepQuarantine(
  store: ObjectStore,
  resource: string,
  before: RunId,
  signal: AbortSignal,
): Promise<Removal> {
  const prefix = quarantinePrefix(resource);
  const listed = await collected(store.list(prefix, AMONG_OTHERS));
  const notes: { readonly key: ObjectKey; readonly by: RunId; readonly note: PurgeNote }[] = [];
  for (const { key } of listed) {
    const by = folderOf(key).slice(prefix.length);
    if (nameOf(key) !== NOTE || !isRunId(by) || beganAfter(by, before)) continue;
    signal.throwIfAborted();
    notes.push({ key, by, note: parseStored(await store.read(key)) as PurgeNote });
  }
  let refused = ALL_REMOVED;
  // Most often, the key has always had the same fields, so that each file is read once.
  for (const same of groupBy(notes, ({ note }) => JSON.stringify(note.columns)).values()) {
    const known = same.map(({ by, note }) => ({ by, hashes: new Set(note.hashes) }));
    const isKey = (key: SortKey): boolean => known.some(({ by, hashes }) => hashes.has(keyHash(by, key)));
    const sought = { columns: same[0]!.note.columns, isKey };
    const removed = await removeFromQuarantine(store, resource, sought, signal);
    refused = addRemovals(refused, removed.refused);
    // Otherwise the next sweep tries again.
    if (removed.refused.refused === 0)
      refused = addRemovals(refused, await store.remove(same.map(({ key }) => key)));
  }
  return refused;
}
