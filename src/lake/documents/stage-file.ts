import type { Cursor, EpochMs, ObjectKey, RunId, UtcSeconds } from '../../core/brands.js';
import type { ListDoubt, ReadingEvidence } from '../../core/list-evidence.js';
import type { Column } from '../rows/data-columns.js';
import type { DeletedRule } from '../rows/deletion-mark.js';
import type { SortKey } from '../rows/row.js';
import type { FullRead } from './document-schemas.js';
import type { ClockTimes, PublishedPart } from './manifest.js';

/** A sorted sequence of fetched rows with unique keys, staged as one part. */
export interface StagedChunk extends Pick<PublishedPart, 'key' | 'rows' | 'bytes' | 'rawBytes'> {
  readonly first: SortKey;
  readonly last: SortKey;
  /** Number of data columns in its header. They are the first columns of the run's header. */
  readonly columns: number;
  /** Number of the chain of pages that contained its rows; absent for rows of a rollback's target. */
  readonly chain?: number;
  /** The run id in its rows; absent for rows of a rollback's target. A run that takes them over gives them its own. */
  readonly runId?: RunId;
  /** Number of rows dropped because a newer row of this chunk, or of the chunks merged into it, has the same key; absent for none. */
  readonly repeated?: number;
  /**
   * Whether its rows differ from newer ones, in a later chunk of the chain, that replaced them: at most one row of each key. The key may
   * not be unique. Absent: they are the newest of their keys in what was staged together.
   */
  readonly isTwin?: true;
  /**
   * Whether one page had different rows of each of its keys, which proves that the key is not unique; absent: not.
   */
  readonly isProof?: true;
  /** CRC-32 of its block index. */
  readonly indexCrc32: string;
  /** SHA-256 of its object, if it is a part of a rollback's target. */
  readonly sha256?: string;
}

/** A page that can be requested again, to see whether the list shifted: its cursor and a hash of its first key. */
export interface Mark {
  /** Number of the page within the reading. */
  readonly page: number;
  readonly cursor: Cursor;
  /** Short hash of its first key. */
  readonly first: string;
}

/** The pages in a row, up to the last one, that had hardly a new key. */
export interface Repetition {
  readonly pages: number;
  /** Records on these pages, less those that new keys make up for. */
  readonly records: number;
  /** Pages without a record: in all, and the last ones in a row. */
  readonly empty: number;
  readonly lastEmpty: number;
  /** Pages with the same keys as the first page of the chain, and as the page before them. */
  readonly likeFirst: number;
  readonly likeBefore: number;
  /** When the first of these pages arrived; `null` if there is none. */
  readonly since: EpochMs | null;
}

/** A part of a list that continues by time instead of by cursor. */
export interface Round {
  /** From 1. */
  readonly number: number;
  /** The time that its records are requested from. */
  readonly since: UtcSeconds;
  /** The newest time of the part before it. */
  readonly after: EpochMs;
}

/** The progress of one chain of pages, as a stage records it. */
export interface ChainProgress {
  /** The keys that the chain has returned, as `KeySketch.encode` writes them. */
  readonly sketch: string;
  readonly repetition: Repetition;
  /** Hashes of the keys of the first page and of the last page with records; `null`: none. */
  readonly first: number | null;
  readonly last: number | null;
}

/**
 * The progress of an extraction: all pages before `cursor` are staged. Each stage lists the chunks of one call of
 * the phase `read` and names the previous stage, so that its size is bounded.
 */
export interface Stage {
  readonly previous: ObjectKey | null;
  readonly chunks: readonly StagedChunk[];
  /** The next page to read; `null` with `done: false` for the first. */
  readonly cursor: Cursor | null;
  readonly done: boolean;
  /** Short hashes of the cursors that this call has read in the current chain of pages. */
  readonly seen: readonly string[];
  /** Number of this reading of the list, from 0. `kind` and `updatedSince` are its parameters. */
  readonly read: number;
  readonly kind: 'list' | 'catch-up';
  /** Whether its rows were requested by id. Absent: no. */
  readonly isById?: true;
  readonly updatedSince: UtcSeconds | null;
  /** Why `updatedSince` is earlier than planned, or not sent: the service refused the time. Absent: it did not. */
  readonly refusedSince?: 'too-old' | 'too-new' | undefined;
  /**
   * The newest time of change in the current chain of pages; `null`: its records are not in the order of
   * these times; absent: not looked at.
   */
  readonly latest?: EpochMs | null | undefined;
  /** The part of a list whose cursors end before it does; absent: the list is read as a whole. */
  readonly round?: Round | undefined;
  /** A later `updatedSince` that is enough, if the service refuses this one; absent: it is not. */
  readonly orSince?: UtcSeconds;
  /** Pages of this reading. */
  readonly readPages: number;
  /** The service's clock when this reading's first request was sent; `null` without a `Date` header. */
  readonly readStart: EpochMs | null;
  /** The workflow's clock at the same time; `null` before that response. */
  readonly readBegan: number | null;
  /** The moment that `updatedSince` counts from; `null`: it is not compared with the clocks. */
  readonly upTo: ClockTimes | null;
  /** Number of times that this reading restarted because its cursor had expired. */
  readonly restarts: number;
  /** Number of times that this reading restarted with a smaller page. */
  readonly shrinks: number;
  /** Whether the current chain of pages still returns new keys; `null` before its first page. */
  readonly progress: ChainProgress | null;
  /** The last full read, as far as it is known: that of the base snapshot, or of this run. */
  readonly fullRead: Pick<FullRead, 'pages' | 'pageSize'> | null;
  /** Whether the list shifted during the current chain of pages, as far as it shows before the run's merge. */
  readonly shifted: boolean;
  /** Pages of the current chain that can be requested again. */
  readonly marks: readonly Mark[];
  /** Whether they were, after the last page, to see whether the list shifted. */
  readonly isChecked: boolean;
  /** Why they could not be. Absent: they were, or there was nothing to check. */
  readonly notChecked?: string;
  /** Number of the chain of pages within the run. Each reading and each restart begins a new chain. */
  readonly chain: number;
  /** Total of the run so far, as the next six fields. */
  readonly pages: number;
  readonly fetched: number;
  readonly duplicates: number;
  readonly quarantined: number;
  /** Records about a deletion alone, and the setting that would recognize the first one. */
  readonly thin: { readonly records: number; readonly rule: DeletedRule };
  /** Records that say that they are deleted, with `deletes: keep`. */
  readonly ignored: number;
  readonly replaced: number;
  /** Number of deviations from JSON that `json: lenient` repaired, in total. */
  readonly repaired: number;
  /** What the service's headers announce, such as the end of the list; `null`: nothing. */
  readonly announced: string | null;
  /** Whether a reading of the whole list got an empty body, as with status 204. Such a reading concludes no deletes. */
  readonly isBlank: boolean;
  /** What the pages of the current chain say about the list. */
  readonly evidence: ReadingEvidence;
  /** Why readings of this run may lack records: those that have reached the end of the list. */
  readonly doubts: readonly ListDoubt[];
  /** The service's clock when the run's first request was sent; `null` without a `Date` header. */
  readonly serviceStart: EpochMs | null;
  /** The workflow's clock at the same time; `null` before that response. */
  readonly began: number | null;
  readonly pageSize: number;
  readonly columns: readonly Column[];
  /** Fingerprints of the API keys of the organization that the pages are of. Absent: those in the journal. */
  readonly keys?: readonly string[];
}

/** The end of the last reading of the list, without what was read after it. @param stages those of a run, oldest first */
export function endOfList(stages: readonly Stage[]): Stage {
  return stages.findLast(({ kind }) => kind !== 'catch-up')!;
}
