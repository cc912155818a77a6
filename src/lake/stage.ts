import type { Cursor, ObjectKey, UtcSeconds } from '../core/brands.js';
import type { SortKey } from './row.js';
import type { RunFile } from './run-file.js';
import type { Column } from './schema.js';

/** A sorted run of fetched rows, staged as a part of its own with unique keys. */
export interface StagedChunk {
  readonly key: ObjectKey;
  readonly rows: number;
  readonly bytes: number;
  readonly rawBytes: number;
  readonly first: SortKey;
  readonly last: SortKey;
  /** Data columns in its header: a prefix of the run's. */
  readonly columns: number;
  /** Rows of change logs and not of the service: they count only for keys that nobody else has. */
  readonly reapplied?: true;
}

/**
 * Where an extraction stands: everything up to `cursor` is in the chunks. Each one lists the chunks of one call of
 * `extractPages` and names the one of the call before, so that none grows without bound.
 */
export interface Stage {
  readonly previous: ObjectKey | null;
  readonly chunks: readonly StagedChunk[];
  /** The next page to read; `null` with `done: false` for the first. */
  readonly cursor: Cursor | null;
  readonly done: boolean;
  /** Short hashes of the cursors that this call has met in the current chain of pages. */
  readonly seen: readonly string[];
  /** Which reading of the list this is, from 0, and what it asks for. */
  readonly read: number;
  readonly updatedSince: UtcSeconds | null;
  /** Pages of this reading. */
  readonly readPages: number;
  /** `Date` of this reading's first response, milliseconds since 1970; `null` where it had none. */
  readonly readStart: number | null;
  /** Times that this reading began again because its cursor had expired. */
  readonly restarts: number;
  /** Number of the chain of pages within the run: each reading and each restart begins a new one. */
  readonly chain: number;
  /** Over the whole run so far. */
  readonly pages: number;
  readonly fetched: number;
  readonly duplicates: number;
  readonly quarantined: number;
  readonly replaced: number;
  /** Milliseconds since 1970, from the first response of the run. */
  readonly serviceStart: number | null;
  readonly pageSize: number;
  readonly columns: readonly Column[];
}

/** Where a run begins that has staged nothing. @param pageSize rows; `null` for the configured one */
export function firstStage(run: RunFile, pageSize: number | null): Stage {
  return {
    previous: null,
    chunks: [],
    cursor: null,
    done: false,
    seen: [],
    read: 0,
    updatedSince: run.updatedSince,
    readPages: 0,
    readStart: null,
    restarts: 0,
    chain: 0,
    pages: 0,
    fetched: 0,
    duplicates: 0,
    quarantined: 0,
    replaced: 0,
    serviceStart: null,
    pageSize: pageSize ?? run.sync.pageSize,
    columns: run.columns,
  };
}
