import type { ObjectKey } from '../../core/brands.js';
import type { WritableResource } from '../../core/contract/write-back.js';
import { inParallel } from '../../core/in-parallel.js';
import { DamagedError } from '../../lake/damaged-error.js';
import { crc32 } from '../../lake/store/crc32.js';
import { ObjectNotFoundError, type ObjectStore } from '../../lake/store/index.js';
import { checksum, encodeSections, readLedgerRows, readSections } from './rows-object.js';

/**
 * The objects of the ledger, which records the rows that batches write (docs/reference/lake.md). Its entries are numbered
 * from 1. An entry is a claim (`<number>.claim`) until its batch ends, and then part of an object with rows
 * (`<last number>.rows-<how many entries>`). Each four neighbours are merged into a block, and each four blocks into a larger one:
 * blocks begin at fixed numbers, so that two merges at the same time write the same object, and no block contains a part of another.
 *
 * An object that replaces others has a name after theirs, and they are removed only when it exists. So a listing of several
 * pages never misses an entry.
 */
export interface LedgerEntry {
  readonly key: ObjectKey;
  readonly kind: 'claim' | 'rows';
  readonly first: number;
  readonly last: number;
}

/** Every entry of the ledger once, in order. */
export interface LedgerListing {
  readonly entries: readonly LedgerEntry[];
  /** The number for the next claim. */
  readonly next: number;
  /** Objects that others have replaced. */
  readonly replaced: readonly ObjectKey[];
}

const DIGITS = 10;
/** The numbered objects begin with it, and the fences do not. A ledger has less than 10^9 entries. */
const NUMBERED = '0';

const folder = (resource: WritableResource): string => `_write-back/_ledger/${resource}`;

const padded = (number: number): string => String(number).padStart(DIGITS, '0');

export function claimKey(resource: WritableResource, number: number): ObjectKey {
  return `${folder(resource)}/${padded(number)}.claim` as ObjectKey;
}

/** @param last number of its last entry @param count how many entries it has */
export function rowsKey(resource: WritableResource, last: number, count: number): ObjectKey {
  return `${folder(resource)}/${padded(last)}.rows-${padded(count)}` as ObjectKey;
}

/** An object that ends a claim: whoever sends its rows must stop. */
export function fenceKey(resource: WritableResource, claim: number): ObjectKey {
  return `${folder(resource)}/fences/${padded(claim)}` as ObjectKey;
}

/** Parses the name of a claim or an object with rows; `null` for other objects. */
export function parseEntry(key: ObjectKey): LedgerEntry | null {
  const match = /^_write-back\/_ledger\/[^/]+\/(\d{10})\.(?:(claim)|rows-(\d{10}))$/.exec(key);
  if (match === null) return null;
  const last = Number(match[1]);
  if (match[2] !== undefined) return { key, kind: 'claim', first: last, last };
  return { key, kind: 'rows', first: last - Number(match[3]) + 1, last };
}

/**
 * Selects objects that have every entry once; `null` if an entry is missing, because objects were replaced while they were
 * listed. A claim can arrive when its number was long used and merged. Then it does not count.
 */
export function selectEntries(found: readonly LedgerEntry[]): LedgerListing | null {
  // The longest object with each last number. Rows replace their claim.
  const byLast = new Map<number, LedgerEntry>();
  for (const entry of found) {
    const other = byLast.get(entry.last);
    if (other === undefined || entry.first < other.first || other.kind === 'claim')
      byLast.set(entry.last, entry);
  }
  const last = Math.max(0, ...byLast.keys());
  const entries: LedgerEntry[] = [];
  for (let at = last; at > 0; ) {
    const entry = byLast.get(at);
    if (entry === undefined) return null;
    entries.unshift(entry);
    at = entry.first - 1;
  }
  const replaced = found.filter((entry) => !entries.includes(entry)).map(({ key }) => key);
  return { entries, next: last + 1, replaced };
}

const MAX_LISTINGS = 10;

/** @throws DamagedError if an entry is missing; StoreError */
export async function listLedger(store: ObjectStore, resource: WritableResource): Promise<LedgerListing> {
  for (let listing = 1; listing <= MAX_LISTINGS; listing++) {
    const found: LedgerEntry[] = [];
    for await (const { key } of store.list(`${folder(resource)}/${NUMBERED}`)) {
      const entry = parseEntry(key);
      if (entry !== null) found.push(entry);
    }
    const selected = selectEntries(found);
    if (selected !== null) return selected;
  }
  throw new DamagedError(
    `the record of written rows in ${folder(resource)}/ has a gap: an object is missing. ` +
      'Restore it from an earlier version of the object. Without it, rows could be written twice.',
  );
}

/** Objects of a block. There are at most three of each size, so a look-up reads few objects after thousands of batches. */
const BLOCK = 4;

/** Selects the objects of a block that has no open claim, to merge them; `null` if there is none. */
export function planEntryMerge(entries: readonly LedgerEntry[]): readonly LedgerEntry[] | null {
  for (const [at, { first, last }] of entries.entries()) {
    const size = last - first + 1;
    const block = entries.slice(at, at + BLOCK);
    const isWhole = (first - 1) % (BLOCK * size) === 0 && block.length === BLOCK;
    if (isWhole && block.every((one) => one.kind === 'rows' && one.last - one.first + 1 === size))
      return block;
  }
  return null;
}

const WIDTH = 16;

/**
 * Merges objects of the ledger if there are many, and removes those that others have replaced. It changes no count, and two
 * merges at the same time do no harm.
 *
 * @throws StoreError, DamagedError: the ledger is as it was
 */
export async function tidyLedger(store: ObjectStore, resource: WritableResource): Promise<void> {
  const { entries, replaced } = await listLedger(store, resource);
  const merged = planEntryMerge(entries) ?? [];
  try {
    if (merged.length > 0) await merge(store, resource, merged);
  } catch (error) {
    // Another merge has removed an object.
    if (!(error instanceof ObjectNotFoundError)) throw error;
    return;
  }
  // If removals are denied, the objects stay, and nothing reads them.
  await store.remove([...replaced, ...merged.map(({ key }) => key)]);
}

async function merge(
  store: ObjectStore,
  resource: WritableResource,
  entries: readonly LedgerEntry[],
): Promise<void> {
  const [first, last] = [entries[0]!, entries.at(-1)!];
  const sections = await inParallel(entries, WIDTH, ({ key }) => readSections(store, key));
  const key = rowsKey(resource, last.last, last.last - first.first + 1);
  const writer = store.openWriter(key);
  try {
    const header = encodeSections(sections.flat());
    let crc = crc32(header);
    await writer.write(header);
    for (const entry of entries) {
      for await (const { records } of readLedgerRows(store, entry.key)) {
        crc = crc32(records, crc);
        await writer.write(records);
      }
    }
    await writer.write(checksum(crc));
    await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
