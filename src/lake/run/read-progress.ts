import type { FullRead } from '../documents/document-schemas.js';
import type { ChainProgress, Repetition } from '../documents/stage-file.js';
import type { SortKey } from '../rows/row.js';
import { hashOfKey, KeySketch } from './key-sketch.js';

/** After this many pages in a row without a new key, a list counts as endless. */
const MAX_PAGES = 500;
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
  /** Milliseconds. */
  readonly ms: number;
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

/** Follows whether a chain of pages still returns new keys. */
export class ReadProgress {
  #sketch: KeySketch;
  #repetition: Repetition;
  #first: number | null;
  #last: number | null;

  /** @param before `null`: the chain begins */
  constructor(before: ChainProgress | null) {
    this.#sketch = new KeySketch(before?.sketch);
    this.#repetition = before?.repetition ?? NO_REPETITION;
    this.#first = before?.first ?? null;
    this.#last = before?.last ?? null;
  }

  /** The chain begins again: it may return every key once more. */
  restart(): void {
    this.#sketch = new KeySketch();
    this.#repetition = NO_REPETITION;
    this.#first = null;
    this.#last = null;
  }

  /**
   * Adds a page. Returns whether it had a key that is certainly new.
   *
   * @param keys of all records; those without a key count by their content
   * @param now milliseconds since 1970, by the workflows' clock
   */
  add(keys: readonly SortKey[], now: number): boolean {
    let isNew = false;
    let page = keys.length;
    for (const key of keys) {
      const hash = hashOfKey(key);
      if (this.#sketch.add(hash)) isNew = true;
      page = (Math.imul(page, 31) + hash) | 0;
    }
    const { pages, records, empty, lastEmpty, likeFirst, likeBefore, since } = this.#repetition;
    const isEmpty = keys.length === 0;
    this.#repetition = isNew
      ? NO_REPETITION
      : {
          pages: pages + 1,
          records: records + keys.length,
          empty: empty + (isEmpty ? 1 : 0),
          lastEmpty: isEmpty ? lastEmpty + 1 : 0,
          likeFirst: likeFirst + (!isEmpty && page === this.#first ? 1 : 0),
          likeBefore: likeBefore + (!isEmpty && page === this.#last ? 1 : 0),
          since: since ?? now,
        };
    if (!isEmpty) {
      this.#first ??= page;
      this.#last = page;
    }
    return isNew;
  }

  /** The pages without a new key, if they exceed the bounds; otherwise `null`. */
  endless(bounds: ReadBounds, now: number): Repetition | null {
    const { pages, records, lastEmpty, empty, since } = this.#repetition;
    if (since === null) return null;
    const isLate = now - since >= bounds.ms;
    if (pages < bounds.pages && !isLate) return null;
    // An empty page has certainly no new key.
    if (lastEmpty >= bounds.pages || empty === pages) return this.#repetition;
    return this.#sketch.missChance(records) < DOUBT ? this.#repetition : null;
  }

  toStage(): ChainProgress {
    return {
      sketch: this.#sketch.encode(),
      repetition: this.#repetition,
      first: this.#first,
      last: this.#last,
    };
  }
}

/** What a service does whose list does not end, as part of a sentence that follows `: `. */
export function describeRepetition({ pages, empty, likeFirst, likeBefore }: Repetition): string {
  const row = `${pages} pages in a row`;
  if (empty === pages) return `the last ${row} had no record, and each names another nextCursor`;
  const full = pages - empty;
  const without = empty === 0 ? '' : ` (${empty} of them had no record)`;
  if (likeFirst === full)
    return `the service seems to ignore \`cursor\`: the last ${row} were the first page again${without}`;
  if (likeBefore >= full - 1)
    return `the service repeats the same page: the last ${row} had the same records${without}`;
  return `the service repeats records: the last ${row} had only records that this reading had already returned${without}`;
}
