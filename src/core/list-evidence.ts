/**
 * What a service says about its own lists, and what follows from it (docs/explanation/guarantees.md#incomplete-lists). The one
 * place that decides whether a reading is incomplete, and why. Pure: the workflow sandbox imports this file.
 */

/** The records of a page within its list, as `Content-Range` counts them. `null`: not said. */
export interface RecordRange {
  readonly from: number | null;
  readonly to: number | null;
  /** Records of the whole list. */
  readonly total: number | null;
}

/** What says that a page is not the whole list, as each page of a long list may, such as status 206. */
export interface PartSign {
  /** Redacted and cut. */
  readonly words: string;
  /** Which part it is, by the headers of a page with status 206; `null`: nothing says it. */
  readonly range: RecordRange | null;
}

/** What one page says about its list, apart from its records and its cursor. */
export interface PageEvidence {
  /** The words, redacted and cut, that say that the list is incomplete; `null`: none do. */
  readonly incomplete: string | null;
  /** What says so of a page, and of its list only if no page follows; `null`: nothing. */
  readonly part: PartSign | null;
  /** The number of records that the list has by the service's own count; `null`: it gives none. */
  readonly total: number | null;
  /** An end of the list that may be a mistake of the service, such as `"page": []`; `null`: an end as the API requires, or none. */
  readonly oddEnd: string | null;
}

export const NO_EVIDENCE: PageEvidence = { incomplete: null, part: null, total: null, oddEnd: null };

/** What the pages of one chain say together. A chain that restarts counts from its restart. */
export interface ReadingEvidence {
  /** The first words of a page that says that the list is incomplete. */
  readonly said: string | null;
  /** What the last page says of itself; absent: nothing. */
  readonly part?: PartSign;
  /**
   * What the pages before the last one say of themselves, without a range: the words of the first of them; `null`: nothing;
   * absent: there is none.
   */
  readonly partly?: string | null;
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
  const { total, lastPage, fullEnd } = reading;
  const { said, ...before } = asFollowed(reading);
  const isFull = lastPage !== null && records > 0 && records >= lastPage;
  const isOther = total !== null && page.total !== null && page.total !== total;
  return {
    said: said ?? page.incomplete,
    ...before,
    ...(page.part === null ? {} : { part: page.part }),
    total: isOther ? 'differs' : (total ?? page.total),
    records: reading.records + records,
    lastPage: records,
    fullEnd: fullEnd ?? (isFull ? page.oddEnd : null),
    ...(reading.whole === undefined ? {} : { whole: reading.whole }),
  };
}

/**
 * What the pages of a reading say if another page follows them. That a page is a part of the list is then true of a complete list, too.
 * But if only some of those pages say so, they mean something else.
 */
function asFollowed({
  said,
  part,
  partly,
  lastPage,
}: ReadingEvidence): Pick<ReadingEvidence, 'said' | 'partly'> {
  // A range says which part the page is.
  const isPlain = lastPage !== null && (part === undefined || part.range === null);
  if (!isPlain) return { said, ...(partly === undefined ? {} : { partly }) };
  const words = part?.words ?? null;
  if (partly === undefined) return { said, partly: words };
  const isSame = (partly === null) === (words === null);
  return { said: said ?? (isSame ? null : (partly ?? words)), partly };
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
 * How far a service's totals are believed. `proven`: the last complete full read had exactly its total; `proven-of-changes`: and a
 * list of changes had exactly its own, so it does not count the whole list; `proven-of-list`: and it has counted the whole list in a
 * list of changes; `unproven`: the full read had none or another; `window`: the list has a window, so the total may count records
 * that have left it since it was exact; `ignored`: `sync.total: ignore`.
 */
export type TotalTrust =
  | 'proven'
  | 'proven-of-changes'
  | 'proven-of-list'
  | 'unproven'
  | 'window'
  | 'ignored';

/** What is known about a reading, apart from what its pages say. */
interface ReadingFacts {
  /** `all`: the whole list; `changes`: those since a time. */
  readonly of: 'all' | 'changes';
  readonly trust: TotalTrust;
  /** Records of the last full read that had exactly its total. Absent: not known. */
  readonly listed?: number | undefined;
}

/**
 * Whether a total may show that a reading lacks records. Services that ignore the time of changes when they count have the same
 * total in each list. Until a full read has shown which total a list of changes has, one of less than half of the list
 * counts changes.
 */
function isBelieved({ of, trust, listed = 0 }: ReadingFacts, total: number): boolean {
  if (of === 'all') return trust !== 'ignored';
  return trust === 'proven-of-changes' || (trust === 'proven' && 2 * total < listed);
}

/** Whether a total counts more than the list on purpose, so that a status that follows from it says nothing. */
function countsMore(facts: ReadingFacts, total: number): boolean {
  const { of, trust } = facts;
  if (trust === 'ignored') return true;
  return of === 'changes' && trust.startsWith('proven') && !isBelieved(facts, total);
}

/** Whether a total together with another sign, such as status 206, shows that the reading is incomplete. */
export function supports(facts: ReadingFacts, total: number): boolean {
  return isBelieved(facts, total) && facts.trust !== 'window';
}

/** Why a reading that has reached the end of its list may lack records; `null`: nothing speaks against it. */
export function doubtOf(
  reading: ReadingEvidence,
  facts: ReadingFacts,
): Exclude<ListDoubt, { kind: 'in-parts' | 'cut' }> | null {
  const { fullEnd, records } = reading;
  const said = reading.said ?? saidAtTheEnd(reading, facts);
  if (said !== null) return { kind: 'said', words: said };
  if (fullEnd !== null) return { kind: 'full-end', words: fullEnd };
  const total = plausible(reading);
  if (total === null || records >= total || !isBelieved(facts, total)) return null;
  return { kind: 'total', read: records, total, isProven: facts.trust.startsWith('proven') };
}

/** The words of a last page that says that it is a part of the list; `null`: it does not, or the pages before it are the rest. */
function saidAtTheEnd(reading: ReadingEvidence, facts: ReadingFacts): string | null {
  const { part, records, lastPage } = reading;
  if (part === undefined) return null;
  const { words, range } = part;
  if (range === null) return words;
  const total = plausible(reading);
  if (total !== null && total > records) return countsMore(facts, total) ? null : words;
  return isEnd(range, records - (lastPage ?? 0), records) ? null : words;
}

/** Whether a page with this range is the last one. @param before records of the pages before it; `records`: with its own */
function isEnd({ from, to, total }: RecordRange, before: number, records: number): boolean {
  if (total === null) return from !== null && from > 0 && before > 0;
  // Ranges count from 0, or from 1.
  return to === null ? before > 0 && records >= total : to + 1 >= total;
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
 * Whether the totals of lists of changes count changes alone, by a reading of the whole list and one of the changes during it;
 * `null`: they do not show it.
 */
export function countsChanges(all: ReadingEvidence, changes: ReadingEvidence): boolean | null {
  const { total, records } = changes;
  if (!hasExactTotal(all) || total === null || total === 'differs') return null;
  if (total >= all.records) return records < total ? false : null;
  return total === records ? true : null;
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
