/**
 * What the write-back's workflows, activities and clients say to one another (DESIGN 5). Written to histories, so it
 * holds names, counts and object keys, and never a row. Pure: the workflow sandbox imports this file.
 */
import type { ObjectKey } from './brands.js';
import type { RunError } from './contract.js';

/** Resources that rows can be written to: creates, and upserts by `source` and `sourceKey` (spec, "Operations"). */
export const WRITABLE_RESOURCES = ['time-entries', 'calendar-entries'] as const;
export type WritableResource = (typeof WRITABLE_RESOURCES)[number];

/** How an input is written: CSV with a header, one JSON array of objects, or one JSON object a line. */
export const INPUT_FORMATS = ['csv', 'json', 'ndjson'] as const;
export type InputFormat = (typeof INPUT_FORMATS)[number];

/** What became of a row, in `results.csv` and in the counts, in this order. */
export const ROW_OUTCOMES = ['created', 'updated', 'rejected', 'unknown', 'superseded', 'skipped'] as const;
export type RowOutcome = (typeof ROW_OUTCOMES)[number];
export type RowCounts = Readonly<Record<RowOutcome, number>>;

/** What to do with rows of which nobody knows any more whether they were written: nothing, unless a person says so. */
export type UnknownPolicy = 'report' | 'resend' | 'skip';

/**
 * `written`: every row that was to be written is; `incomplete`: a row was rejected or is unknown; the others as for
 * runs.
 */
export type WriteBackOutcome = 'written' | 'incomplete' | 'failed' | 'refused' | 'cancelled';

export interface WriteBackInput {
  readonly connection: string;
  readonly resource: WritableResource;
  readonly batchId: string;
  /** The input in the lake, as `stageWriteBack` put it there. */
  readonly input: ObjectKey;
  readonly format: InputFormat;
  /** The column that names a row; `null`: its content does. */
  readonly keyColumn: string | null;
  /** Default: `report`. */
  readonly unknown?: UnknownPolicy;
  /** Whether the resource's mirror is asked for an increment afterwards. Default: true. */
  readonly readBack?: boolean;
  /** What a run carries over a continue-as-new; for nobody else. */
  readonly resume?: WriteBackResume;
}

export interface WriteBackResume {
  readonly planned: WriteBackPlanned;
}

export interface WriteBackResult {
  readonly batchId: string;
  readonly outcome: WriteBackOutcome;
  readonly counts: RowCounts;
  /** Key of `results.csv`; `null` when the batch did not get that far. */
  readonly results: ObjectKey | null;
  /** Rows of the input, and those of them that were not sent, because the batch ended before its end. */
  readonly rows: number;
  readonly unsent: number;
  readonly warnings: readonly string[];
  readonly error: RunError | null;
}

export type WriteBackStage = 'plan' | 'wait' | 'send' | 'results' | 'read-back' | 'done';

export interface WriteBackProgress {
  readonly batchId: string;
  readonly resource: WritableResource;
  readonly stage: WriteBackStage;
  /** `null` until the input has been read. */
  readonly rows: number | null;
  /** Rows with an outcome, as far as the workflow has heard. */
  readonly done: number;
  readonly result: WriteBackResult | null;
}

/** Names a batch to an activity. */
export interface BatchRef {
  readonly connection: string;
  readonly resource: WritableResource;
  readonly batchId: string;
}

export interface PlanWriteBackInput extends BatchRef {
  readonly input: ObjectKey;
  readonly format: InputFormat;
  readonly keyColumn: string | null;
}

export interface WriteBackPlanned {
  /** The document that lists the plan's chunks. */
  readonly plan: ObjectKey;
  readonly rows: number;
  /** Set when all rows have an outcome already that is final. */
  readonly results: WrittenResults | null;
  /** Whether the configuration mirrors the resource. */
  readonly mirrored: boolean;
  readonly giveUpAfterMs: number;
}

export interface SendRowsInput extends BatchRef {
  readonly plan: ObjectKey;
  readonly unknown: UnknownPolicy;
}

export interface SentRows {
  /** Whether nothing is left to send. */
  readonly done: boolean;
  /** Rows with an outcome, over all calls. */
  readonly rows: number;
}

/** Details of every heartbeat of `sendRows`. */
export interface SendHeartbeat {
  readonly rows: number;
  /** Milliseconds since 1970 until which the service asked to be left alone. */
  readonly waitingUntil: number | null;
}

export interface WriteResultsInput extends BatchRef {
  readonly plan: ObjectKey;
}

export interface WrittenResults {
  readonly results: ObjectKey;
  readonly counts: RowCounts;
  readonly unsent: number;
}

/** Activities of the write-back, by name. */
export interface WriteBackActivities {
  'worktrack.planWriteBack'(input: PlanWriteBackInput): Promise<WriteBackPlanned>;
  'worktrack.sendRows'(input: SendRowsInput): Promise<SentRows>;
  'worktrack.writeResults'(input: WriteResultsInput): Promise<WrittenResults>;
}

/** One batch's place in the queue of its resource. The token is one batch run's own. */
export interface LaneTicket {
  readonly workflowId: string;
  readonly token: string;
}

/** Everything that a lane carries over a continue-as-new. */
export interface LaneState {
  readonly connection: string;
  readonly resource: WritableResource;
  readonly holder: LaneTicket | null;
  readonly waiting: readonly LaneTicket[];
}

export const WRITE_BACK_WORKFLOW = 'writeBackWorkflow';

/** The same batch is the same workflow, whoever starts it. */
export function writeBackWorkflowId({ connection, resource, batchId }: BatchRef): string {
  return `worktrack/${connection}/write-back/${resource}/${batchId}`;
}

/** Beside the batches' ids: no batch id begins with an underscore. */
export function writeBackLaneId(connection: string, resource: WritableResource): string {
  return `worktrack/${connection}/write-back/${resource}/_lane`;
}

/** Counts of nothing. */
export function noRows(): Record<RowOutcome, number> {
  return { created: 0, updated: 0, rejected: 0, unknown: 0, superseded: 0, skipped: 0 };
}
