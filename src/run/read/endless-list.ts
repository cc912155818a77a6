import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { EpochMs, Millis } from '../../core/brands.js';
import type { FullRead } from '../../lake/documents/document-schemas.js';
import type { ChainProgress, Mark, Repetition } from '../../lake/documents/stage-file.js';
import type { SortKey } from '../../lake/rows/row.js';

/** After this many pages in a row with hardly a new key, a list counts as endless. */
const MAX_PAGES = 500;
/**
 * A new key makes up for so many repeated records. A list that repeats itself may have new records, because someone creates
 * them meanwhile; and the pages of a list that ends may overlap.
 */
const RECORDS_PER_NEW_KEY = 100;
/** Below this chance, records that changed nothing in the sketch are taken for known ones. */
const DOUBT = 1e-9;

const NO_REPETITION: Repetition = {
  pages: 0,
  records: 0,
  empty: 0,
  lastEmpty: 0,
  likeFirst: 0,
  likeBefore: 0,
  since: null,
};

/** The bounds of one reading (docs/explanation/guarantees.md#lists-that-do-not-end). */
export interface ReadBounds {
  readonly pages: number;
  readonly ms: Millis;
}

/**
 * The bounds of a reading. Some services filter a list after they have divided it into pages, so an increment may have as
 * many pages as a full read, most of them empty.
 *
 * @param isPartial whether the reading asks only for changes
 * @param full the last full read, if its number of pages is known
 * @param pageSize records per page of this reading
 */
export function readBounds(
  isPartial: boolean,
  full: Pick<FullRead, 'pages' | 'pageSize'> | null,
  { pageSize, giveUpAfterMs }: { readonly pageSize: number; readonly giveUpAfterMs: number },
): ReadBounds {
  if (!isPartial || full?.pages === undefined) return { pages: MAX_PAGES, ms: giveUpAfterMs };
  // With smaller pages than in the full read, there are more of them.
  const factor = Math.max(1, (full.pageSize ?? pageSize) / pageSize);
  return { pages: Math.max(MAX_PAGES, Math.ceil(2 * full.pages * factor)), ms: giveUpAfterMs };
}

/** Follows whether a chain of pages still returns new keys, and enough of them. */
export class ReadProgress {
  readonly #sketch: KeySketch;
  #state: Omit<ChainProgress, 'sketch'>;

  /** @param before `null`: the chain begins */
  constructor(before: ChainProgress | null) {
    this.#sketch = new KeySketch(before?.sketch);
    this.#state = before ?? { repetition: NO_REPETITION, first: null, last: null };
  }

  /**
   * Adds a page. Returns whether it had a key that is certainly new.
   *
   * @param keys of all records; those without a key count by their content
   * @param now by the workflows' clock
   */
  add(keys: readonly SortKey[], now: EpochMs): boolean {
    let found = 0;
    let page = keys.length;
    for (const key of keys) {
      const hash = hashOfKey(key);
      if (this.#sketch.add(hash)) found += this.#sketch.keysPerChange;
      page = (Math.imul(page, 31) + hash) | 0;
    }
    const { first, last } = this.#state;
    const { pages, records: before, empty, lastEmpty, likeFirst, likeBefore, since } = this.#state.repetition;
    const records = before + keys.length - RECORDS_PER_NEW_KEY * found;
    const isEmpty = keys.length === 0;
    const repetition =
      found > 0 && records <= 0
        ? NO_REPETITION
        : {
            pages: pages + 1,
            records: Math.ceil(records),
            empty: empty + (isEmpty ? 1 : 0),
            lastEmpty: isEmpty ? lastEmpty + 1 : 0,
            likeFirst: likeFirst + (!isEmpty && page === first ? 1 : 0),
            likeBefore: likeBefore + (!isEmpty && page === last ? 1 : 0),
            since: since ?? now,
          };
    this.#state = isEmpty ? { repetition, first, last } : { repetition, first: first ?? page, last: page };
    return found > 0;
  }

  /** The pages with hardly a new key, if they exceed the bounds; otherwise `null`. */
  endless(bounds: ReadBounds, now: number): Repetition | null {
    const { repetition } = this.#state;
    const { pages, records, lastEmpty, empty, since } = repetition;
    if (since === null) return null;
    const isLate = now - since >= bounds.ms;
    if (pages < bounds.pages && !isLate) return null;
    // An empty page has certainly no new key.
    if (lastEmpty >= bounds.pages || empty === pages) return repetition;
    return this.#sketch.missChance(records) < DOUBT ? repetition : null;
  }

  toStage(): ChainProgress {
    return { ...this.#state, sketch: this.#sketch.encode() };
  }
}

/** What a service does whose list does not end, as part of a sentence that follows `: `. */
export function describeRepetition({ pages, empty, lastEmpty, likeFirst, likeBefore }: Repetition): string {
  // Before the empty pages, some may have come again, because the attempt that had read them was lost.
  if (lastEmpty >= 0.9 * pages)
    return `the last ${lastEmpty} pages in a row had no record, and each names another nextCursor`;
  const row = `${pages} pages in a row`;
  const full = pages - empty;
  const without = empty === 0 ? '' : ` (${empty} of them had no record)`;
  if (likeFirst === full)
    return `the service seems to ignore \`cursor\`: the last ${row} were the first page again${without}`;
  if (likeBefore >= full - 1)
    return `the service repeats the same page: the last ${row} had the same records${without}`;
  return `the service repeats records: the last ${row} had almost only records that this reading had already returned${without}`;
}

/** The first bits of a hash select the register. */
const INDEX_BITS = 14;
const REGISTERS = 2 ** INDEX_BITS;
/** The other bits of a hash, and one more for a hash that has only zeros there. */
const MAX_RANK = 32 - INDEX_BITS + 1;

/**
 * Remembers which keys a reading has seen, in 16 KiB for any number of keys. It is the sketch of a HyperLogLog (Flajolet et
 * al., 2007): each key selects a register, which keeps the longest run of zeros in the hashes of its keys.
 *
 * A key that was added before never changes a register, however many keys came in between. A change therefore proves a
 * new key. The opposite is only likely: `missChance` tells how likely. An error can thus never hide that a list repeats
 * itself; it can only delay that this is noticed.
 */
export class KeySketch {
  readonly #registers: Buffer;
  /** The sum of 2^-register: the chance, times the number of registers, that a new key changes one. */
  #sum = 0;

  /** @param encoded as `encode` returned it; absent: no keys */
  constructor(encoded?: string) {
    const registers =
      encoded === undefined
        ? null
        : inflateRawSync(Buffer.from(encoded, 'base64'), { maxOutputLength: REGISTERS });
    this.#registers = registers?.length === REGISTERS ? registers : Buffer.alloc(REGISTERS);
    for (const rank of this.#registers) this.#sum += weight(rank);
  }

  /** Adds a key by its `hashOfKey`. Returns whether it is certain that the key is new. */
  add(hash: number): boolean {
    const at = hash >>> (32 - INDEX_BITS);
    const rank = Math.min(Math.clz32(hash << INDEX_BITS) + 1, MAX_RANK);
    const known = this.#registers[at]!;
    if (rank <= known) return false;
    this.#registers[at] = rank;
    this.#sum += weight(rank) - weight(known);
    return true;
  }

  /** How many new keys there are, on average, for each one that changes a register. */
  get keysPerChange(): number {
    return REGISTERS / this.#sum;
  }

  /** The chance that so many new keys would have changed nothing. */
  missChance(keys: number): number {
    return (1 - this.#sum / REGISTERS) ** keys;
  }

  /** Base64 text: some hundred bytes for a short list, 8 KiB for millions of keys. */
  encode(): string {
    return deflateRawSync(this.#registers, { level: 1 }).toString('base64');
  }
}

/** The chance that a new key of a register is greater than its rank. */
function weight(rank: number): number {
  return rank >= MAX_RANK ? 0 : 2 ** -rank;
}

/** 32 bits of a key: FNV-1a with the last mixing step of MurmurHash3. It costs much less than a cryptographic hash. */
export function hashOfKey(key: SortKey): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The most marks that are kept of one reading. */
const MAX_MARKS = 16;
/** One page in this many is requested again, at most `MAX_CHECKS` pages. */
const PAGES_PER_CHECK = 16;
const MAX_CHECKS = 8;

/** Adds a mark. If there are too many, it removes every second one, so that the rest are evenly spaced. */
export function withMark(marks: readonly Mark[], mark: Mark): readonly Mark[] {
  const stride = strideOf(marks);
  if (mark.page % stride !== 0) return marks;
  const all = [...marks, mark];
  return all.length <= MAX_MARKS ? all : all.filter(({ page }) => page % (2 * stride) === 0);
}

function strideOf([first, second]: readonly Mark[]): number {
  return first === undefined || second === undefined ? 1 : second.page - first.page;
}

/** The pages to request again after a reading of `pages` pages, evenly spaced; none for a short reading. */
export function marksToCheck(marks: readonly Mark[], pages: number): readonly Mark[] {
  const count = Math.min(MAX_CHECKS, Math.floor(pages / PAGES_PER_CHECK));
  const wanted = Array.from({ length: count }, (_, at) => (pages * (at + 1)) / (count + 1));
  const nearest = wanted.map((page) =>
    marks.reduce<Mark | undefined>(
      (best, mark) =>
        best === undefined || Math.abs(mark.page - page) < Math.abs(best.page - page) ? mark : best,
      undefined,
    ),
  );
  return [...new Set(nearest.filter((mark) => mark !== undefined))];
}
