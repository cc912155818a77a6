import type { Cursor, ObjectKey, RunId, UtcSeconds } from '../../core/brands.js';
import type { ExtractResult, ListRead } from '../../core/contract/index.js';
import type { FullRead } from '../published/manifest.js';
import type { SortKey } from '../rows/row.js';
import type { Column } from '../rows/schema.js';
import type { Mark } from './marks.js';
import type { ChainProgress } from './read-progress.js';
import type { RunFile } from './run-file.js';
import { type ClockTimes, isPartial } from './watermark.js';

/** A sorted sequence of fetched rows with unique keys, staged as one part. */
export interface StagedChunk {
  readonly key: ObjectKey;
  readonly rows: number;
  readonly bytes: number;
  readonly rawBytes: number;
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
  /** CRC-32 of its block index. */
  readonly indexCrc32: string;
  /** SHA-256 of its object, if it is a part of a rollback's target. */
  readonly sha256?: string;
}

/**
 * The progress of an extraction: all pages before `cursor` are staged. Each stage lists the chunks of one call of
 * `extractPages` and names the previous stage, so that its size is bounded.
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
  readonly kind: ListRead['kind'];
  readonly updatedSince: UtcSeconds | null;
  /** Pages of this reading. */
  readonly readPages: number;
  /** `Date` header of this reading's first response, milliseconds since 1970; `null` if it had none. */
  readonly readStart: number | null;
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
  /** Number of the chain of pages within the run. Each reading and each restart begins a new chain. */
  readonly chain: number;
  /** Total of the run so far, as the next four fields. */
  readonly pages: number;
  readonly fetched: number;
  readonly duplicates: number;
  readonly quarantined: number;
  readonly replaced: number;
  /** Number of deviations from JSON that `json: lenient` repaired, in total. */
  readonly repaired: number;
  /** Whether a reading of the whole list got an empty body, as with status 204. Such a reading concludes no deletes. */
  readonly isBlank: boolean;
  /** `Date` header of the run's first response, milliseconds since 1970; `null` if it had none. */
  readonly serviceStart: number | null;
  /** The workflow's clock at the same time; `null` before that response. */
  readonly began: number | null;
  readonly pageSize: number;
  readonly columns: readonly Column[];
}

/** The initial stage of a run. @param pageSize page size in rows; `null` for the configured one */
export function firstStage(run: RunFile, pageSize: number | null): Stage {
  return {
    previous: null,
    chunks: [],
    cursor: null,
    done: false,
    seen: [],
    read: 0,
    kind: 'list',
    updatedSince: run.updatedSince,
    readPages: 0,
    readStart: null,
    readBegan: null,
    upTo: changesUpTo(run),
    restarts: 0,
    shrinks: 0,
    progress: null,
    fullRead: run.before?.fullRead ?? null,
    shifted: false,
    marks: [],
    chain: 0,
    pages: 0,
    fetched: 0,
    duplicates: 0,
    quarantined: 0,
    replaced: 0,
    repaired: 0,
    isBlank: false,
    serviceStart: null,
    began: null,
    pageSize: pageSize ?? run.sync.pageSize,
    columns: run.columns,
  };
}

/**
 * The moment that an increment reads the changes from. A run that begins later than the checkpoint reads exactly the period
 * that was requested. Any other moves the checkpoint, so it must have every change since then, whatever the clocks did.
 */
export function changesUpTo({ mode, updatedSince, checkpoint, before }: RunFile): ClockTimes | null {
  if (mode !== 'increment' || isPartial(checkpoint, updatedSince)) return null;
  return before?.readUpTo ?? null;
}

/** The result of a call that ends with this stage. @param key where the stage is stored */
export function toExtractResult(key: ObjectKey, stage: Stage): ExtractResult {
  const { done, pages, fetched, pageSize, shifted, isBlank } = stage;
  return { stage: key, done, pages, rows: fetched, pageSize, shifted, isBlank };
}
