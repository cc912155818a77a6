/**
 * The messages between workflows, activities and clients of the write-back (docs/reference/json-output.md). They are written to
 * histories, so they hold names, counts and object keys, and never a row. Pure: the workflow sandbox imports this file.
 */
import type { EpochMs, Millis, ObjectKey, UtcSeconds } from '../brands.js';
import type { StoredWarning } from '../warnings.js';
import type { ExportPlan, RunError, RunRecord } from './run-reports.js';

/** Resources that accept rows: creates, and upserts by `source` and `sourceKey` (docs/service-api.md#requests). */
export const WRITABLE_RESOURCES = ['time-entries', 'calendar-entries'] as const;
export type WritableResource = (typeof WRITABLE_RESOURCES)[number];

/** Formats of an input: CSV with a header, one JSON array of objects, or one JSON object per line. */
export const INPUT_FORMATS = ['csv', 'json', 'ndjson'] as const;
export type InputFormat = (typeof INPUT_FORMATS)[number];

/** Outcomes of a row in `results.csv` and in the counts, in this order. */
export const ROW_OUTCOMES = ['created', 'updated', 'rejected', 'unknown', 'superseded', 'skipped'] as const;
export type RowOutcome = (typeof ROW_OUTCOMES)[number];
export type RowCounts = Readonly<Record<RowOutcome, number>>;

/** What to do with rows that may or may not have been written. Default: only report them. */
export type UnknownPolicy = 'report' | 'resend' | 'skip';

/**
 * What to do with rows that an earlier batch has written: do not send them (`skip`), write them again (`again`), or send
 * nothing at all (`stop`). With `skip`, a key that was written with other cells stops the batch too. Default: `skip` with a
 * key column, otherwise `stop`.
 */
const WRITTEN_POLICIES = ['skip', 'again', 'stop'] as const;
export type WrittenPolicy = (typeof WRITTEN_POLICIES)[number];

/**
 * What the user says about an address that rows were written to and that is not known to be the configured system: `same`:
 * it is the same system, so these rows count as written; `other`: it is another one, so they are new.
 */
export type SystemPolicy = 'same' | 'other';

/**
 * `written`: every row was written; `incomplete`: a row was rejected, unknown or not sent; the others are the same as for
 * runs.
 */
export type WriteBackOutcome = 'written' | 'incomplete' | 'failed' | 'refused' | 'cancelled';

/**
 * How the text of an input becomes rows. `stageWriteBack` finds it, so that every worker reads an input in the same way. Left
 * out: UTF-8, commas, and cells as they are.
 */
export interface InputReading {
  /** Name in the WHATWG Encoding Standard; `null`: a byte order mark decides, otherwise UTF-8. */
  readonly encoding: string | null;
  readonly delimiter: string;
  /** Whether cells of numbers have a decimal comma. */
  readonly decimalComma: boolean;
  /** Columns whose cells are converted to ISO 8601. */
  readonly dates: InputDates | null;
  /** Columns that are left out. */
  readonly drop: readonly string[];
  /** Columns that are text, whatever is published. */
  readonly text: readonly string[];
  /** Separator in the names of flattened columns, which become objects again; `null`: columns are not flattened. */
  readonly flattened: string | null;
  /** Other names of columns: from the text in the header to a field, which may have a type (`durationSeconds:integer`). */
  readonly map?: Readonly<Record<string, string>>;
  /** Words for `true` and `false`. */
  readonly words?: InputWords;
  /** By field: the unit of its cells, and that of its values. */
  readonly units?: Readonly<Record<string, InputUnit>>;
  /**
   * A CSV that was made of a sheet: its records count as lines, so that a line is a row of the sheet, and its cells without quotes are
   * stored numbers, which have a decimal point.
   */
  readonly lines?: 'records';
  /** How an export of the lake has changed its cells; they are restored. */
  readonly escaped: { readonly lineBreaks: 'keep' | 'escape'; readonly escapeFormulas: boolean };
}

export interface InputWords {
  readonly true: readonly string[];
  readonly false: readonly string[];
}

export type TimeUnit = 'ms' | 's' | 'min' | 'h' | 'd';

export interface InputUnit {
  readonly from: TimeUnit;
  readonly to: TimeUnit;
}

export interface InputDates {
  readonly formats: readonly string[];
  /** IANA name of the zone of times without one. */
  readonly timezone: string | null;
  readonly columns: readonly string[];
}

/**
 * What a run does with rows of its batch that are not written, instead of sending those without an outcome. Rows that were
 * written, and rows that the input itself rejects, stay as they are.
 */
export type ResendOrder =
  | {
      /** Rows by their outcome, or by their numbers in the input, from 1. */
      readonly rows: 'rejected' | 'unknown' | readonly number[];
      /** Send them with the same idempotency keys (`send`) or with new ones (`new-key`), or settle them as rejected (`reject`). */
      readonly action: 'send' | 'new-key' | 'reject';
    }
  /** Rows of another file replace those of the input that they name. */
  | { readonly rows: 'corrected'; readonly action: 'send'; readonly corrections: CorrectedInput };

/** A file in the lake whose rows replace rows of a batch. */
export interface CorrectedInput {
  readonly input: ObjectKey;
  readonly format: InputFormat;
  readonly reading: InputReading;
}

export interface WriteBackInput extends BatchRef {
  /** The input in the lake, written by `stageWriteBack`. */
  readonly input: ObjectKey;
  readonly format: InputFormat;
  readonly reading?: InputReading;
  /** The column that identifies a row; `null`: the content identifies it. */
  readonly keyColumn: string | null;
  /** Default: `report`. */
  readonly unknown?: UnknownPolicy;
  /** What to do with rows that an earlier batch has written. Does not concern upserts. */
  readonly written?: WrittenPolicy;
  /** Default: a batch with rows of an address that is not known stops. */
  readonly system?: SystemPolicy;
  /** Of calendar entries with the same key and other content, send the last one. Default: they are an error. */
  readonly lastWins?: boolean;
  /** Whether upserts are left out that would change nothing. Needs a mirror of the resource. Default: they are sent. */
  readonly skipUnchanged?: boolean;
  /**
   * Whether API keys that this run has not used before count as keys of the organization that the batch writes to. Default: the
   * service has to show it.
   */
  readonly sameOrganization?: boolean;
  /** Default: the rows without an outcome are sent. */
  readonly resend?: ResendOrder;
  /**
   * Of an undo: the states that the records must still have, in the lake (`ExpectedStates`). Others are not written, and no row is
   * written without an increment before it. Default: the records are written whatever they are.
   */
  readonly expected?: ObjectKey;
  /** Whether to request an increment from the resource's mirror afterwards. Default: true. */
  readonly readBack?: boolean;
  /** State over a continue-as-new; clients leave it out. */
  readonly resume?: WriteBackResume;
}

interface WriteBackResume extends Pick<SendRowsInput, 'turn' | 'limitedSince'> {
  readonly planned: WriteBackPlanned;
  /** The warnings so far, and the increments that were read before the rows. Absent: none. */
  readonly warnings?: readonly StoredWarning[];
  readonly increments?: readonly RunRecord[];
}

/** A field, and the number of rows that it concerns. */
export interface FieldCount {
  readonly field: string;
  readonly rows: number;
}

export interface WriteBackResult {
  readonly batchId: string;
  readonly outcome: WriteBackOutcome;
  readonly counts: RowCounts;
  /** Key of `results.csv`; `null` if the batch ended before it was written. */
  readonly results: ObjectKey | null;
  /** Rows of the input. */
  readonly rows: number;
  /** Rows that were not sent, because the batch ended early, and rows that the service refused without an outcome. */
  readonly unsent: number;
  /** Of the unknown rows, those that were not sent, because another batch, or an earlier run without logs, may have written them. */
  readonly ofOthers?: number;
  /** What the service said when it refused rows without an outcome; `null` if there are none. */
  readonly refusals: ObjectKey | null;
  /** Fields whose values in the service's records are not those that were sent. */
  readonly differs: readonly FieldCount[];
  /** Fields that the service's responses do not show. */
  readonly absent: readonly FieldCount[];
  /** The values of fields that differ (`FieldExample`); `null` if none does. */
  readonly differences: ObjectKey | null;
  readonly warnings: readonly string[];
  readonly error: RunError | null;
}

export type WriteBackStage = 'plan' | 'wait' | 'read-before' | 'send' | 'results' | 'read-back' | 'done';

export interface WriteBackProgress extends Pick<BatchRef, 'batchId' | 'resource'> {
  readonly stage: WriteBackStage;
  /** `null` until the input has been read. */
  readonly rows: number | null;
  /** Rows with an outcome, as of the last result of an activity. */
  readonly done: number;
  readonly result: WriteBackResult | null;
}

/** Identifies a batch to an activity. */
export interface BatchRef {
  readonly connection: string;
  readonly resource: WritableResource;
  readonly batchId: string;
}

export interface PlanWriteBackInput extends Omit<WriteBackInput, 'unknown' | 'resume' | 'sameOrganization'> {
  /** The end of the increment that was read for this plan. Absent: none was. */
  readonly increment?: 'published' | 'failed';
}

/** Before the rows can be planned, the resource's mirror has to read an increment, while no other batch writes. */
export interface ReadFirst extends Pick<WriteBackPlanned, 'giveUpAfterMs'> {
  readonly readFirst: true;
  /** Set if the increment is only for an undo: how long the batch waits for it. */
  readonly waitMs?: Millis;
}

export interface WriteBackPlanned extends Pick<ExportPlan, 'alerts' | 'giveUpAfterMs'> {
  /** The document that lists the plan's chunks. */
  readonly plan: ObjectKey;
  readonly rows: number;
  /** Set if all rows already have a final outcome. */
  readonly results: WrittenResults | null;
  /** Whether the configuration includes a mirror of the resource. */
  readonly mirrored: boolean;
  /** How the written rows are looked for afterwards. Absent: they are not. */
  readonly confirm?: ConfirmPlan;
}

export interface ClaimRowsInput extends BatchRef, Pick<WriteBackInput, 'keyColumn'> {
  readonly plan: ObjectKey;
  readonly written: WrittenPolicy | undefined;
  readonly system?: SystemPolicy | undefined;
  readonly unknown: UnknownPolicy;
}

export interface SendRowsInput extends BatchRef {
  readonly plan: ObjectKey;
  /** What `claimRows` found. `null`: all rows are sent. */
  readonly turn: ObjectKey | null;
  readonly unknown: UnknownPolicy;
  /** The run of the batch: its first execution. */
  readonly run: string;
  /** When the batch began to wait for a limit, by words alone; `null` if it does not wait. */
  readonly limitedSince: EpochMs | null;
  /** As in `WriteBackInput`. */
  readonly sameOrganization?: boolean | undefined;
}

export interface SentRows extends Pick<SendRowsInput, 'limitedSince'> {
  /** Whether every row has been sent. */
  readonly done: boolean;
  /** Rows with an outcome, over all calls. */
  readonly rows: number;
}

/** Heartbeat details of `sendRows`. */
export interface SendHeartbeat extends Pick<SendRowsInput, 'limitedSince'> {
  readonly rows: number;
  /** The service allows no request before this time; `null`: any time. */
  readonly waitingUntil: EpochMs | null;
  /** Attempts in a row, up to this one, that gave no row an outcome. */
  readonly fruitless: number;
}

/** `turn` is `null` even if the batch ended before its turn came. */
export type WriteResultsInput = Omit<SendRowsInput, 'unknown' | 'limitedSince' | 'sameOrganization'>;

export interface WrittenResults
  extends Pick<WriteBackResult, 'counts' | 'unsent' | 'refusals'>,
    Partial<Pick<WriteBackResult, 'differs' | 'absent' | 'differences' | 'ofOthers'>> {
  readonly results: ObjectKey;
  /** Written rows whose id an earlier row of the input has, too. */
  readonly sameId: number;
}

/** Activities of the write-back, by name. */
export interface WriteBackActivities {
  'worktrack.planWriteBack'(input: PlanWriteBackInput): Promise<WriteBackPlanned | ReadFirst>;
  'worktrack.claimRows'(input: ClaimRowsInput): Promise<ObjectKey>;
  'worktrack.sendRows'(input: SendRowsInput): Promise<SentRows>;
  'worktrack.writeResults'(input: WriteResultsInput): Promise<WrittenResults>;
  'worktrack.confirmRows'(input: BatchRef): Promise<ConfirmedRows>;
}

/**
 * What was found of a written row: its record with the same values, with other values, or no record; `notListed`: the published
 * snapshot cannot tell.
 */
export const CONFIRMATION_VERDICTS = ['confirmed', 'differs', 'notSeen', 'notListed'] as const;
export type ConfirmationVerdict = (typeof CONFIRMATION_VERDICTS)[number];
export type ConfirmationCounts = Readonly<Record<ConfirmationVerdict, number>>;

/** How the written rows of a batch are looked for. */
export interface ConfirmPlan {
  /** How long. */
  readonly forMs: Millis;
  readonly giveUpAfterMs: number;
  readonly alerts: boolean;
}

export interface ConfirmInput extends BatchRef, ConfirmPlan {
  /** Whether to look once more, and to end. Absent: until each row is confirmed. */
  readonly once?: true;
  /** Whether the snapshot may be older than the batch, so that an increment comes first. Absent: the batch was read back. */
  readonly readFirst?: true;
}

/** What one look has found. */
export interface ConfirmedRows {
  readonly counts: ConfirmationCounts;
  /** Written rows that another look may find. */
  readonly open: number;
  /** The increment that shows the rows again asks from this time on. */
  readonly since: UtcSeconds;
}

/** The result of `confirmWriteBackWorkflow`. */
export interface ConfirmResult {
  readonly batchId: string;
  readonly counts: ConfirmationCounts;
  readonly warnings: readonly string[];
}

/** A batch that holds or waits for the write-back lock of its resource. The token is unique to one run of the batch. */
export interface LockTicket {
  readonly workflowId: string;
  readonly token: string;
}

/** The state that a lock carries over a continue-as-new. */
export interface LockState {
  readonly connection: string;
  readonly resource: WritableResource;
  readonly holder: LockTicket | null;
  readonly waiting: readonly LockTicket[];
}

export const WRITE_BACK_WORKFLOW = 'writeBackWorkflow';

/**
 * A batch always has the same workflow id, so it never runs twice at the same time.
 *
 * @example
 * const input = await stageWriteBack(connection, { resource: 'time-entries', file: 'november.csv' });
 * const handle = temporal.client.workflow.getHandle(writeBackWorkflowId(input));
 */
export function writeBackWorkflowId({ connection, resource, batchId }: BatchRef): string {
  return `worktrack/${connection}/write-back/${resource}/${batchId}`;
}

/** A batch id for messages: the first 12 digits of a hash, which commands accept; a name as it is. */
export function shownBatchId(batchId: string): string {
  return /^[0-9a-f]{64}$/.test(batchId) ? batchId.slice(0, 12) : batchId;
}

/** A command about a batch, for messages: `worktrack write-back resend 3b860e3713d2 --rejected`. */
export function batchCommand(
  name: 'resend' | 'receipts' | 'confirm' | 'undo',
  batchId: string,
  options?: string,
): string {
  return [
    'worktrack write-back',
    name,
    shownBatchId(batchId),
    ...(options === undefined ? [] : [options]),
  ].join(' ');
}

export const CONFIRM_WORKFLOW = 'confirmWriteBackWorkflow';

/**
 * The id of the workflow that looks for the written rows of a batch.
 *
 * @param on `demand`: of a command, which looks once
 */
export function confirmWorkflowId({ connection, resource, batchId }: BatchRef, on?: 'demand'): string {
  return `worktrack/${connection}/confirm/${resource}/${batchId}${on === undefined ? '' : `/${on}`}`;
}

/** No batch id starts with an underscore, so this id never clashes with that of a batch. */
export function writeBackLockId(connection: string, resource: WritableResource): string {
  return `worktrack/${connection}/write-back/${resource}/_lane`;
}

/** No differences between rows and records. */
export const NO_DIFFERENCES = { differs: [], absent: [], differences: null } as const;

/** Zero for every outcome. */
export function noRows(): Record<RowOutcome, number> {
  return { created: 0, updated: 0, rejected: 0, unknown: 0, superseded: 0, skipped: 0 };
}
