/**
 * What a service says about its own lists, and what follows from it (docs/explanation/guarantees.md#incomplete-lists). The one
 * place that decides whether a reading is incomplete, and why. Pure: the workflow sandbox imports this file.
 */

/** What one page says about its list, apart from its records and its cursor. */
export interface PageEvidence {
  /** The words, redacted and cut, that say that the list is incomplete; `null`: none do. */
  readonly incomplete: string | null;
  /** The number of records that the list has by the service's own count; `null`: it gives none. */
  readonly total: number | null;
  /** An end of the list that may be a mistake of the service, such as `"page": []`; `null`: an end as the API requires, or none. */
  readonly oddEnd: string | null;
}

export const NO_EVIDENCE: PageEvidence = { incomplete: null, total: null, oddEnd: null };

/** What the pages of one chain say together. A chain that restarts counts from its restart. */
export interface ReadingEvidence {
  /** The first words of a page that says that the list is incomplete. */
  readonly said: string | null;
  /** The total, if all pages that give one give the same; `differs`: they do not, so it means something else. */
  readonly total: number | 'differs' | null;
  /** Records of all pages, with repeated ones and those without a key. */
  readonly records: number;
  /** Records of the last page; `null`: none was read yet. */
  readonly lastPage: number | null;
  /** An odd end on a page that is as full as the one before. */
  readonly fullEnd: string | null;
  /** Of a part of a list that is read by time: the total of the whole list; absent: none is known. */
  readonly whole?: number;
}

export const NOTHING_READ: ReadingEvidence = {
  ...{ said: null, total: null, records: 0, lastPage: null, fullEnd: null },
};

/** Adds a page with so many records to the evidence of its reading. */
export function withPage(reading: ReadingEvidence, page: PageEvidence, records: number): ReadingEvidence {
  const { said, total, lastPage, fullEnd } = reading;
  const isFull = lastPage !== null && records > 0 && records >= lastPage;
  const isOther = total !== null && page.total !== null && page.total !== total;
  return {
    said: said ?? page.incomplete,
    total: isOther ? 'differs' : (total ?? page.total),
    records: reading.records + records,
    lastPage: records,
    fullEnd: fullEnd ?? (isFull ? page.oddEnd : null),
    ...(reading.whole === undefined ? {} : { whole: reading.whole }),
  };
}

/** What a part of a list begins with that is read by time: what the pages before it say about the list stays. */
export function nextPart({ said, total, records, fullEnd, whole }: ReadingEvidence): ReadingEvidence {
  const known = whole ?? plausible({ total, records });
  return { ...NOTHING_READ, said, fullEnd, ...(known === null ? {} : { whole: known }) };
}

/** Why a reading may lack records. Part of a history and of a manifest's warning, so its texts are redacted and short. */
export type ListDoubt =
  /** A page says so, in these words. */
  | { readonly kind: 'said'; readonly words: string }
  /** The list ends in an odd way on a page that is as full as the one before. */
  | { readonly kind: 'full-end'; readonly words: string }
  /** Fewer records than the list has by its own count. `isProven`: the last complete full read had exactly its total. */
  | { readonly kind: 'total'; readonly read: number; readonly total: number; readonly isProven: boolean }
  /**
   * The list was read in parts, by time. `isProven`: all of it was in the order of its times. `total`: records of the whole list by
   * its own count, and `read`: different ones in all parts, which the merge counts.
   */
  | {
      readonly kind: 'in-parts';
      readonly parts: number;
      readonly isProven: boolean;
      readonly total?: number;
      readonly read?: number;
    }
  /** An audit has ended the reading before its list did, because it may not send more requests. */
  | { readonly kind: 'cut' };

/**
 * How far a service's totals are believed. `proven`: the last complete full read had exactly its total; `unproven`: it had none or
 * another; `ignored`: `sync.total: ignore`.
 */
export type TotalTrust = 'proven' | 'unproven' | 'ignored';

/** What is known about a reading, apart from what its pages say. */
interface ReadingFacts {
  /** `all`: the whole list; `changes`: those since a time. */
  readonly of: 'all' | 'changes';
  readonly trust: TotalTrust;
}

/** Why a reading that has reached the end of its list may lack records; `null`: nothing speaks against it. */
export function doubtOf(
  reading: ReadingEvidence,
  { of, trust }: ReadingFacts,
): Exclude<ListDoubt, { kind: 'in-parts' | 'cut' }> | null {
  const { said, fullEnd, records } = reading;
  if (said !== null) return { kind: 'said', words: said };
  if (fullEnd !== null) return { kind: 'full-end', words: fullEnd };
  const total = trust === 'ignored' || (of === 'changes' && trust !== 'proven') ? null : plausible(reading);
  if (total === null || records >= total) return null;
  return { kind: 'total', read: records, total, isProven: trust === 'proven' };
}

/** The total of a reading, if it can be one; `null`: it gives none, or its pages differ, or it is below what was read. */
function plausible({ total, records }: Pick<ReadingEvidence, 'total' | 'records'>): number | null {
  return total === null || total === 'differs' || total < records ? null : total;
}

/** Whether a reading had exactly as many records as its total says. */
export function hasExactTotal(reading: ReadingEvidence): boolean {
  return plausible(reading) === reading.records;
}

/**
 * Whether a reading is *incomplete*: its rows are published, but it moves no checkpoint, is no full read that was due, and ends
 * no state that waits for a complete one. A total that no full read has confirmed only proves no delete by absence.
 */
export function isIncomplete(doubt: ListDoubt): boolean {
  if (doubt.kind === 'total') return doubt.isProven;
  return doubt.kind !== 'in-parts' || !doubt.isProven || lacksRecords(doubt);
}

/** The doubts of a run whose readings had so many different records. Those without a time are in no part of a list that is read by time. */
export function withRead(doubts: readonly ListDoubt[], read: number): readonly ListDoubt[] {
  return doubts.map((doubt) => (doubt.kind === 'in-parts' ? { ...doubt, read } : doubt));
}

/** Whether the parts of a list have fewer records than the list by its own count. */
export function lacksRecords({ total, read }: Extract<ListDoubt, { kind: 'in-parts' }>): boolean {
  return total !== undefined && read !== undefined && read < total;
}

/** Both numbers of a list that is shorter than its total, as part of a sentence. */
export function shortfall(
  name: string,
  { total, read }: { readonly total: number; readonly read: number },
): string {
  return `the service says that ${name} has ${total} records, but only ${read} could be read`;
}

/** What a run with these doubts may conclude deletes from. By-id proofs do not rely on the list, unless it says itself that it fails. */
export function deletesAllowed(doubts: readonly ListDoubt[]): 'all' | 'by-id' | 'none' {
  if (doubts.some(({ kind }) => kind !== 'total')) return 'none';
  return doubts.length > 0 ? 'by-id' : 'all';
}

/** A cursor that can mark the end of a list: a digit with or without a sign, or a word. It is too short to be a key. */
export const END_MARK = /^(?:-?\d|[A-Za-z_]{2,8})$/;
