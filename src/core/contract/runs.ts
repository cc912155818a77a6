import type { ObjectKey, RunId, UtcSeconds } from '../brands.js';

/** Rows (DESIGN 3.11). */
export interface RunCounts {
  readonly fetched: number;
  readonly duplicates: number;
  readonly unchanged: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  readonly retained: number;
  readonly rows: number;
}

export type RunMode = 'full' | 'increment';
export type RunOutcome = 'published' | 'failed' | 'refused' | 'cancelled';

/** Types of the failures that activities throw; all but `Transient` are final (DESIGN 3.12). */
export type FailureType =
  | 'Refused'
  | 'Configuration'
  | 'Transient'
  | 'BrokenPromise'
  | 'Lake'
  | 'Displaced'
  | 'NotAddingUp';

export interface RunError {
  readonly type: FailureType | 'Failed';
  readonly message: string;
  /** Of a refusal: `key` and `plan` concern every resource. */
  readonly scope?: 'key' | 'plan' | 'grant';
}

/** What became of one resource's run; one element of `export --json` (DESIGN 5). */
export interface RunReport {
  readonly resource: string;
  readonly outcome: RunOutcome;
  readonly runId: RunId | null;
  /** In the published snapshot, tombstones too. */
  readonly rows: number | null;
  readonly counts: RunCounts | null;
  /** Key of the snapshot's `_datapackage.json`. */
  readonly snapshot: ObjectKey | null;
  readonly warnings: readonly string[];
  readonly error: RunError | null;
  /** Of a purge: where the record was. */
  readonly purged?: PurgeCounts;
}

/** What a purge removed: rows, and the snapshots and change logs that held them. */
export interface PurgeCounts {
  readonly snapshots: number;
  readonly changeLogs: number;
}

export interface ExportInput {
  readonly connection: string;
  /** Absent: all that are configured. */
  readonly resources?: readonly string[];
  readonly full?: boolean;
  readonly adopt?: boolean;
  /** Publishes although more than a tenth of the rows would be marked as deleted (DESIGN 3.5). */
  readonly allowDeletes?: boolean;
}

export interface ExportResult {
  readonly outcome: RunOutcome;
  readonly runs: readonly RunReport[];
}

export interface ExportProgress {
  readonly connection: string;
  /** By resource, in order; `null` while a run is waited for. */
  readonly runs: readonly { readonly resource: string; readonly report: RunReport | null }[];
}

export interface BackfillInput {
  readonly connection: string;
  /** Absent: all that are configured. */
  readonly resources?: readonly string[];
  /** Reads what changed since then; absent: everything. */
  readonly since?: UtcSeconds;
  /** Reads everything, and may conclude that records are gone (DESIGN 3.5). */
  readonly reconcile?: boolean;
  readonly allowDeletes?: boolean;
}

export interface RollbackInput {
  readonly connection: string;
  readonly resource: string;
  /** A published run, earlier than the one that `latest.json` names. */
  readonly to: RunId;
}

export interface PurgeInput {
  readonly connection: string;
  readonly resource: string;
  /** The values of the record's key, in the order of the key's fields, as the service writes them. */
  readonly key: readonly string[];
}
