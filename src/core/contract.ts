/**
 * What workflows, activities and clients say to one another. Everything here is small: it is written to histories,
 * so it holds names, counts, cursors and object keys, and never a record (DESIGN 2). Pure: the workflow
 * sandbox imports this file.
 */
import type { Cursor, ObjectKey, RunId, UtcSeconds } from './brands.js';
import type { WriteBackActivities } from './write-back-contract.js';

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

/** Something that somebody asks a mirror for. The same id again is the same request. */
interface Requested {
  readonly requestId: string;
  /** Workflow that wants the answer by signal; `null` for none. */
  readonly replyTo: string | null;
}

/** Read from the service and publish. */
export interface RunRequest extends Requested {
  readonly kind: 'run';
  readonly mode: RunMode;
  /** A full pass that may conclude that records are gone (DESIGN 3.5). */
  readonly reconcile: boolean;
  readonly adopt: boolean;
  readonly allowDeletes: boolean;
  /** What an increment asks the service for in place of the checkpoint; `null`: from the checkpoint on. */
  readonly since: UtcSeconds | null;
  /** Milliseconds since 1970: decides `dt=`. */
  readonly nominalStart: number;
  /** What the configuration wants to be told of; absent: as the mirror heard last. */
  readonly notify?: readonly NotifyEvent[];
}

/** What somebody may be told of: a run that failed, and the first good one after that. */
export type NotifyEvent = 'failure' | 'recovery';

/** Let `latest.json` name an earlier run, and go on from that run's checkpoint. */
export interface RollbackRequest extends Requested {
  readonly kind: 'rollback';
  readonly to: RunId;
}

/** Remove one record from everything that is published. */
export interface PurgeRequest extends Requested {
  readonly kind: 'purge';
  readonly key: readonly string[];
}

export type MirrorRequest = RunRequest | RollbackRequest | PurgeRequest;

/** What the update `sync` asks for: an increment unless it says otherwise. */
export interface SyncInput {
  readonly mode?: RunMode;
  readonly reconcile?: boolean;
  readonly since?: UtcSeconds;
}

export interface SyncAccepted {
  readonly requestId: string;
}

export interface RunAnswer {
  readonly requestId: string;
  readonly report: RunReport;
}

/** Where a run stands, for people who watch it. */
export type RunPhase = 'begin' | 'extract' | 'merge' | 'publish' | 'clean-up' | 'roll-back' | 'purge';

export interface ActiveRun {
  readonly runId: RunId;
  readonly startedAt: number;
  readonly phase: RunPhase;
  readonly mode: RunMode;
  readonly pages: number;
  readonly rows: number;
  /** The failed run whose staged pages this one goes on from. */
  readonly resumed: RunId | null;
}

/** What a mirror knows of the snapshot that it published last. */
export interface Published {
  readonly runId: RunId;
  readonly snapshot: ObjectKey;
  readonly rows: number;
  readonly publishedAt: number;
}

export interface MirrorStatus {
  readonly connection: string;
  readonly resource: string;
  readonly checkpoint: { readonly updatedSince: UtcSeconds } | null;
  readonly published: Published | null;
  readonly active: ActiveRun | null;
  readonly waiting: number;
  readonly lastRun: RunReport | null;
}

/** Everything that a mirror carries over a continue-as-new. */
export interface MirrorState {
  readonly connection: string;
  readonly resource: string;
  readonly checkpoint: { readonly updatedSince: UtcSeconds } | null;
  readonly published: Published | null;
  /**
   * The run whose publishing was begun last and of whose end nothing was heard: if the pointer names it, it is ours.
   */
  readonly publishing: RunId | null;
  /** Whether another mirror won the place that the last run was to be published in. */
  readonly displaced: boolean;
  /** A smaller page size that had to be found, in rows, and the configured one that it stands for; `null`: none. */
  readonly pageSize: { readonly configured: number; readonly learned: number } | null;
  /** When the last run began that could conclude deletes, milliseconds since 1970. */
  readonly reconciledAt: number | null;
  readonly lastRun: RunReport | null;
  /** A failed run whose staged pages the next run may go on from; `null`: none. */
  readonly resumable: RunId | null;
  /** What the configuration wanted to be told of when a run was asked for last; absent: nothing. */
  readonly notify?: readonly NotifyEvent[];
  /** Whether the last run that was not cancelled failed; absent: none did. */
  readonly failing?: boolean;
  readonly waiting: readonly MirrorRequest[];
  /** Newest last; bounded. A request that comes again is answered from here. */
  readonly answered: readonly RunAnswer[];
}

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

/** To the workflow that gathers a resource's change notices: something changed. It is a hint, and says no more. */
export interface ChangeNotice {
  /** How many notices share this signal. */
  readonly notices: number;
}

/** When a question to a mirror was sent, for an asker that continues as new while it waits; milliseconds. */
export interface Sent {
  readonly first: number;
  readonly last: number;
  /** After `last`, until it is sent again. */
  readonly wait: number;
}

/** Change notices of one resource, carried over a continue-as-new. Times are milliseconds since 1970. */
export interface NoticesState {
  readonly connection: string;
  readonly resource: string;
  /** When the oldest and the newest of the notices came that no run satisfies yet; `null`: none. */
  readonly owed: { readonly firstAt: number; readonly lastAt: number } | null;
  /** The run that the mirror was asked for and has not answered; `null`: none. */
  readonly asked: {
    readonly number: number;
    readonly at: number;
    readonly plan: Pick<ExportPlan, 'giveUpAfterMs' | 'minIntervalMs' | 'notify'>;
    readonly sent: Sent | null;
  } | null;
  /** No run is asked for before. */
  readonly restUntil: number;
  /** Runs asked for so far. */
  readonly runs: number;
}

/** Tells somebody of a run. */
export interface NotifyInput extends Pick<RunReport, 'resource' | 'outcome' | 'runId' | 'error'> {
  readonly connection: string;
  readonly event: NotifyEvent;
  /** When the run ended, milliseconds since 1970. */
  readonly at: number;
}

/** Activities by the name under which a worker registers them: prefixed, so that they meet no one else's. */
export interface Activities extends WriteBackActivities {
  'worktrack.planExport'(input: ExportInput): Promise<ExportPlan>;
  'worktrack.beginRun'(input: BeginRunInput): Promise<RunBegun>;
  'worktrack.extractPages'(input: ExtractInput): Promise<ExtractResult>;
  'worktrack.findAbsent'(input: FindAbsentInput): Promise<KeysFound>;
  'worktrack.confirmGone'(input: ConfirmGoneInput): Promise<KeysFound>;
  'worktrack.planMerge'(input: PlanMergeInput): Promise<MergePlanned>;
  'worktrack.mergeParts'(input: MergePartsInput): Promise<MergedParts>;
  'worktrack.publish'(input: PublishInput): Promise<PublishedRun>;
  'worktrack.cleanUp'(input: RunRef): Promise<void>;
  'worktrack.discardRun'(input: RunRef): Promise<void>;
  'worktrack.reapply'(input: RunRef): Promise<ExtractResult>;
  'worktrack.rollBack'(input: RollBackInput): Promise<RolledBack>;
  'worktrack.purgeRecord'(input: PurgeRecordInput): Promise<RecordPurged>;
  'worktrack.notify'(input: NotifyInput): Promise<void>;
}

/** Names that clients and other workflows use. */
export const EXPORT_WORKFLOW = 'exportWorkflow';
export const BACKFILL_WORKFLOW = 'backfillWorkflow';
export const ROLLBACK_WORKFLOW = 'rollbackWorkflow';
export const PURGE_WORKFLOW = 'purgeWorkflow';
export const MIRROR_WORKFLOW = 'resourceMirrorWorkflow';
export const CHANGE_NOTICE_WORKFLOW = 'changeNoticeWorkflow';
export const CHANGE_NOTICE_SIGNAL = 'changeNotice';
export const DEFAULT_TASK_QUEUE = 'worktrack';

export function mirrorWorkflowId(connection: string, resource: string): string {
  return `worktrack/${connection}/mirror/${resource}`;
}

export function exportWorkflowId(connection: string): string {
  return `worktrack/${connection}/export`;
}

export function noticesWorkflowId(connection: string, resource: string): string {
  return `worktrack/${connection}/notices/${resource}`;
}
