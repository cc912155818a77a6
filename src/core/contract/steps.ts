import type { Cursor, ObjectKey, RunId, UtcSeconds } from '../brands.js';
import type { NotifyEvent, Published } from './mirror.js';
import type { PurgeCounts, RunCounts, RunMode, RunReport } from './runs.js';

/** Names a run to an activity. */
export interface RunRef {
  readonly connection: string;
  readonly resource: string;
  readonly runId: RunId;
}

export interface BeginRunInput extends RunRef {
  readonly mode: RunMode;
  readonly reconcile: boolean;
  readonly reconciledAt: number | null;
  readonly adopt: boolean;
  readonly checkpoint: { readonly updatedSince: UtcSeconds } | null;
  readonly since: UtcSeconds | null;
  readonly publishedRunId: RunId | null;
  readonly publishingRunId: RunId | null;
  readonly resumable: RunId | null;
  readonly displaced: boolean;
  readonly startedAt: number;
  readonly nominalStart: number;
}

export interface RunBegun {
  readonly mode: RunMode;
  /** Whether the run may conclude deletes, and so makes a catch-up read and looks for what is absent. */
  readonly reconcile: boolean;
  /** How a record's absence is proven: by asking for it, or by a second pass. */
  readonly proof: 'by-id' | 'second-pass';
  /** As configured, in rows. */
  readonly pageSize: number;
  readonly giveUpAfterMs: number;
  /** Pages that a failed run before had staged, and that this one takes over. */
  readonly resumed: { readonly runId: RunId; readonly extracted: ExtractResult } | null;
  /** Whether rows that a rollback left behind must be brought back (DESIGN 5, `rollback`). */
  readonly reapply: boolean;
}

export interface ExtractInput extends RunRef {
  /** Number of this call within the run, from 0. */
  readonly call: number;
  /** What the call before left off with; `null` for the first. */
  readonly after: ObjectKey | null;
  readonly pageSize: number | null;
  readonly read: ListRead;
}

/**
 * One reading of the list from its beginning to its end. A catch-up asks for what changed since the reading before it
 * began (DESIGN 3.5).
 */
export interface ListRead {
  /** From 0 within the run. */
  readonly number: number;
  readonly kind: 'list' | 'catch-up';
}

export interface ExtractResult {
  /** The stage manifest that lists what was staged. */
  readonly stage: ObjectKey;
  readonly done: boolean;
  readonly cursor: Cursor | null;
  /** Over all calls of this run. */
  readonly pages: number;
  readonly rows: number;
  readonly pageSize: number;
}

/** Details of every heartbeat of `extractPages`: the last staged position and what to show of it. */
export interface ExtractHeartbeat {
  readonly stage: ObjectKey | null;
  readonly pages: number;
  readonly rows: number;
  /** Milliseconds since 1970 until which the service asked to be left alone. */
  readonly waitingUntil: number | null;
}

export interface FindAbsentInput extends RunRef {
  readonly stage: ObjectKey;
  /** Only what this reading and later ones fetched counts as present. */
  readonly sinceRead: number;
  /** Looks among these alone; `null`: all rows of the snapshot before. */
  readonly among: ObjectKey | null;
}

/** Keys of records, in a document of the staging folder. */
export interface KeysFound {
  readonly keys: ObjectKey;
  readonly count: number;
}

export interface ConfirmGoneInput extends RunRef {
  readonly among: ObjectKey;
}

export interface PlanMergeInput extends RunRef {
  readonly stage: ObjectKey;
  /** Keys of records that are proven gone. */
  readonly gone: ObjectKey | null;
  readonly allowDeletes: boolean;
}

export interface MergePlanned {
  readonly plan: ObjectKey;
  /** Number of batches, each for one activity. */
  readonly batches: number;
}

export interface MergePartsInput extends RunRef {
  readonly plan: ObjectKey;
  readonly batch: number;
}

export interface MergedParts {
  readonly result: ObjectKey;
}

export interface PublishInput extends RunRef {
  readonly stage: ObjectKey;
  readonly plan: ObjectKey;
  readonly results: readonly ObjectKey[];
}

export interface PublishedRun {
  readonly snapshot: ObjectKey;
  readonly checkpoint: { readonly updatedSince: UtcSeconds };
  readonly counts: RunCounts;
  readonly publishedAt: number;
  readonly warnings: readonly string[];
}

/** Who this mirror is, for the fence (DESIGN 2). */
export interface Fenced extends RunRef {
  readonly publishedRunId: RunId | null;
  readonly publishingRunId: RunId | null;
  readonly displaced: boolean;
}

export interface RollBackInput extends Fenced {
  readonly to: RunId;
}

export interface RolledBack extends Published {
  readonly checkpoint: { readonly updatedSince: UtcSeconds };
}

export interface PurgeRecordInput extends Fenced {
  readonly key: readonly string[];
}

export interface RecordPurged {
  /** What `latest.json` names, with its rows counted anew; `null`: nothing is published. */
  readonly published: Published | null;
  readonly checkpoint: { readonly updatedSince: UtcSeconds } | null;
  readonly purged: PurgeCounts;
}

/** What a worker's configuration says of an export. */
export interface ExportPlan {
  readonly resources: readonly string[];
  readonly giveUpAfterMs: number;
  /** Least time between two runs that change notices ask for. */
  readonly minIntervalMs: number;
  /** Absent in answers of earlier versions. */
  readonly notify?: readonly NotifyEvent[];
}

/** Tells somebody of a run. */
export interface NotifyInput extends Pick<RunReport, 'resource' | 'outcome' | 'runId' | 'error'> {
  readonly connection: string;
  readonly event: NotifyEvent;
  /** When the run ended, milliseconds since 1970. */
  readonly at: number;
}
