import type { ObjectKey, RunId } from '../brands.js';
import { EXIT, type ExitCode } from '../exit-code.js';
import type { SchemaChanges } from '../schema-changes.js';
import type { Warning } from '../warnings.js';

export type { DeletesProblem } from '../warnings.js';

/** Rows (docs/explanation/guarantees.md#verification). */
export interface RunCounts {
  readonly fetched: number;
  readonly duplicates: number;
  readonly unchanged: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  readonly retained: number;
  readonly rows: number;
  /** Rows in the change log whose cells changed because of new settings (docs/explanation/guarantees.md#changed-settings). */
  readonly restated: number;
  /** Rows that a full read found changed, and that no increment has shown; 0 without a comparison, too. */
  readonly missed?: number | undefined;
  /** Rows that stay, because the service returned one with an earlier "updated at"; absent: not counted. */
  readonly wentBack?: number | undefined;
}

export type RunMode = 'full' | 'increment';
/**
 * The outcome of a check before publish. `warned` and `accepted`: it failed, and the run was published nevertheless.
 * `skipped`: there was nothing to judge yet.
 */
export type CheckOutcome = 'passed' | 'warned' | 'failed' | 'accepted' | 'skipped';
/** How a published run got its rows: from the service, or, for a rollback, from an earlier snapshot. */
export type PublishedMode = RunMode | 'rollback';
/**
 * `would-publish`: a dry run that has ended as a run that is published does. `equal`, `different`, `not-compared`: an audit has found
 * no difference, or some, or could compare no row.
 */
export type RunOutcome =
  | 'published'
  | 'would-publish'
  | 'equal'
  | 'different'
  | 'not-compared'
  | 'failed'
  | 'refused'
  | 'cancelled';

/**
 * The types of failures and their effect on a run and on the exit code. Activities throw all but `Failed`, which is any
 * other failure. Only `Transient` is retried (docs/explanation/guarantees.md#errors).
 */
export const FAILURES = {
  Refused: { outcome: 'refused', exitCode: EXIT.refused },
  Configuration: { outcome: 'failed', exitCode: EXIT.usage },
  Transient: { outcome: 'failed', exitCode: EXIT.failed },
  BrokenPromise: { outcome: 'failed', exitCode: EXIT.failed },
  DeletesHeld: { outcome: 'failed', exitCode: EXIT.failed },
  Lake: { outcome: 'failed', exitCode: EXIT.failed },
  Displaced: { outcome: 'failed', exitCode: EXIT.failed },
  VerificationFailed: { outcome: 'failed', exitCode: EXIT.failed },
  Check: { outcome: 'failed', exitCode: EXIT.failed },
  /** A dry run ended because another request waited for the mirror. */
  GaveWay: { outcome: 'failed', exitCode: EXIT.failed },
  Failed: { outcome: 'failed', exitCode: EXIT.failed },
} as const satisfies Record<string, { outcome: RunOutcome; exitCode: ExitCode }>;

export type FailureType = Exclude<keyof typeof FAILURES, 'Failed'>;

/** The type of a failure as a report names it: `Failed` for one that this connector does not define. */
export function runErrorType(type: string | null | undefined): RunError['type'] {
  return Object.hasOwn(FAILURES, type ?? '') ? (type as FailureType) : 'Failed';
}

export interface RunError {
  readonly type: keyof typeof FAILURES;
  readonly message: string;
  /** Of a refusal: `key` and `plan` affect every resource. */
  readonly scope?: 'key' | 'plan' | 'grant';
  /** Of a run that checks have stopped: the names of the first ones. */
  readonly checks?: readonly string[];
}

/** The checks of a published run in short; the manifest has each result. The names are those of the first ones. */
export interface CheckSummary {
  readonly passed: number;
  readonly skipped: number;
  readonly warned: readonly string[];
  readonly accepted: readonly string[];
}

/**
 * What is known of one resource's run that has ended, inside the program: in a mirror's state and in the messages between
 * workflows. `toReport` makes the report that users get.
 */
export interface RunRecord {
  readonly resource: string;
  readonly outcome: RunOutcome;
  readonly runId: RunId | null;
  /** In the published snapshot, including tombstones. */
  readonly rows: number | null;
  readonly counts: RunCounts | null;
  /** Key of the snapshot's `_datapackage.json`. */
  readonly snapshot: ObjectKey | null;
  readonly warnings: readonly Warning[];
  /** New columns, and new types of known ones; absent: none. */
  readonly schemaChanges?: SchemaChanges;
  /** What is known about deletes of the resource; absent: the run was not published, or it was a rollback or a purge. */
  readonly deletes?: DeleteDetection;
  /** The run before it knew the same about deletes, apart from the number of rows. Absent: it did not, or there was none. */
  readonly deletesAsBefore?: true;
  /** Absent: the run was not published, or the resource has no checks. */
  readonly checks?: CheckSummary;
  readonly error: RunError | null;
  /** Of a dry run that would be published: what it would change, and what it used. */
  readonly dryRun?: DryRunReport;
  /** Of an audit: what it found. */
  readonly audit?: AuditReport;
  /** Of a purge: what held the record. */
  readonly purged?: PurgeCounts;
  /** Of a rollback: the run whose rows it published. */
  readonly rolledBackTo?: RunId;
  /** Of a rollback: the run that `latest.json` named before. */
  readonly rolledBackFrom?: RunId;
}

/** The result of one resource's run; one element of `export --json` (docs/reference/json-output.md). */
export interface RunReport extends Omit<RunRecord, 'warnings' | 'schemaChanges'> {
  /** In English, schema changes included. */
  readonly warnings: readonly string[];
}

/**
 * What a dry run found, in addition to the counts, warnings and checks that it shares with a run that is published. It is part of
 * a history, so it has no cell and no key of a record.
 */
export interface DryRunReport {
  /** New columns, and known columns with values of new JSON types: these types. */
  readonly columns: readonly { readonly name: string; readonly types: readonly string[] }[];
  /** Data files of the Delta table that a commit would write and keep; `null`: the resource has no table. */
  readonly tableFiles: { readonly written: number; readonly kept: number } | null;
  /** Requests to the service. */
  readonly requests: number;
  /** Bytes of the list's pages, uncompressed. */
  readonly bytes: number;
  /** The object with the cells that differ (`DiffCell` as NDJSON); `null`: none was requested. */
  readonly diff: ObjectKey | null;
}

/** A cell that a run would change; `null`: no value. Texts are those of the lake. */
export interface DiffCell {
  /** The values of the record's key, in the order of its fields. */
  readonly key: readonly (string | null)[];
  readonly column: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** What an audit compares (docs/how-to/audit.md). */
export interface AuditRequest {
  /** Share of the rows, more than 0 and less than 1, which are read by id. Absent: all rows, from the list. */
  readonly sample?: number;
  /** Most requests to the service; of all resources together in the input of an export. Absent: no limit. */
  readonly maxRequests?: number;
}

/** Input of `startAudit`. */
export interface AuditInput extends AuditRequest {
  readonly connection: string;
  /** Absent: all configured resources. */
  readonly resources?: readonly string[];
  /** Cells that differ, which the lake keeps for an hour for a person to see. Absent: none. */
  readonly cells?: number;
}

/** Rows of a published snapshot, and of the service, by what an audit found. */
export interface AuditCounts {
  /** Rows of the snapshot that were looked at, tombstones included. */
  readonly rows: number;
  /** Cells that were compared. */
  readonly cells: number;
  readonly equal: number;
  readonly different: number;
  /** Records of the service that the snapshot lacks. */
  readonly missing: number;
  /** Rows of the snapshot whose records the service no longer has, although deletes were to be detected by now. */
  readonly extra: number;
  /** Records that have changed since the snapshot's checkpoint, or while the audit read. */
  readonly pending: number;
  /** Rows whose records the service no longer has; the next detection of deletes is not due yet. */
  readonly notYetLookedFor: number;
  readonly notComparable: number;
}

/** Why an audit is partial. */
export type AuditLimit =
  | 'sample'
  /** Rows cannot be requested by id, so no row of the sample could be compared. */
  | 'no-fetch-by-id'
  | 'requests'
  | 'list-incomplete'
  | 'list-shifted'
  /** The changes since the checkpoint could not be read, so a difference may be a pending change. */
  | 'changes-unknown';

/** What an audit found. It is part of a history, so it has no cell and no key of a record. */
export interface AuditReport extends AuditCounts {
  /** The published run that was compared. */
  readonly runId: RunId;
  readonly snapshot: { readonly key: ObjectKey; readonly sha256: string };
  /** Since when changes count as pending. */
  readonly checkpoint: string | null;
  /** Different rows whose "updated at" is later than that of the service: a full read leaves them as they are. */
  readonly keptNewer: number;
  readonly limits: readonly AuditLimit[];
  /** Readings of the list, or of the sample. */
  readonly readings: number;
  readonly requests: number;
  /** Bytes of the list's pages, uncompressed. */
  readonly bytes: number;
  /** As in `DryRunReport`. */
  readonly diff: ObjectKey | null;
}

/** Settings that shape a resource's rows, by name (`src/core/row-settings.ts`): a dry run may preview others than the worker's. */
export type RowSettings = Readonly<Record<string, unknown>>;

/** What a dry run is asked for (docs/how-to/checks.md#see-a-run-before-it-is-published). */
export interface DryRunRequest {
  /** Cells that its diff has at most. Absent: it has no diff. */
  readonly cells?: number;
  /** Replace those of the worker. Absent: the worker's apply. */
  readonly settings?: RowSettings;
  /** Compare the published snapshot with the service. Absent: find what a run would publish. */
  readonly audit?: AuditRequest;
}

/** A dry run of an export, or an audit. */
export interface DryRunInput extends Pick<DryRunRequest, 'cells' | 'audit'> {
  /** The configuration to preview. Absent: the worker's. */
  readonly preview?: {
    /** Hashes of all its keys, to find differences that a dry run cannot preview. */
    readonly digest: Readonly<Record<string, string>>;
    /** By resource. */
    readonly settings: Readonly<Record<string, RowSettings>>;
  };
}

/** What held the record that a purge removed. */
export interface PurgeCounts {
  readonly snapshots: number;
  readonly changeLogs: number;
  /** Files of quarantined records. Absent: an earlier build has purged. */
  readonly quarantineFiles?: number;
}

export interface ExportInput {
  readonly connection: string;
  /** Absent: all configured resources. */
  readonly resources?: readonly string[];
  readonly full?: boolean;
  /** Reads everything and detects deletes (docs/explanation/guarantees.md#deletes). */
  readonly reconcile?: boolean;
  /** Does everything but publish. */
  readonly dryRun?: DryRunInput;
  readonly adopt?: boolean;
  /**
   * Goes on with an API key whose organization is not shown (docs/explanation/guarantees.md#organization-check), and reads
   * everything.
   */
  readonly adoptOrganization?: boolean;
  /** Publishes even if more than a tenth of the rows would be marked as deleted (docs/explanation/guarantees.md#deletes). */
  readonly allowDeletes?: boolean;
  /**
   * Publishes once in spite of failed checks. The value is who accepts them, such as `alice@laptop`; the manifest records it
   * (docs/how-to/checks.md).
   */
  readonly acceptChecks?: string;
}

export interface ExportResult {
  readonly outcome: RunOutcome;
  readonly runs: readonly RunReport[];
  /** Of an audit: its statement in the lake. */
  readonly statement?: ObjectKey;
  /** Of an audit whose command has requested a full read: the id of its workflow. */
  readonly repair?: string;
}

export interface ExportProgress {
  readonly connection: string;
  /** By resource, in order; `null` until the run has ended. */
  readonly runs: readonly { readonly resource: string; readonly report: RunReport | null }[];
}

export interface BackfillInput
  extends Pick<ExportInput, 'connection' | 'resources' | 'adoptOrganization' | 'allowDeletes'> {
  /**
   * Reads the changes since this time: a date such as `2026-08-01` (midnight UTC), or a time with its zone such as
   * `2026-08-01T12:00:00Z`. Absent: everything.
   */
  readonly since?: string;
  /** Reads everything and detects deletes (docs/explanation/guarantees.md#deletes). */
  readonly reconcile?: boolean;
}

export interface RollbackInput {
  readonly connection: string;
  readonly resource: string;
  /** The id of a published run, earlier than the one in `latest.json`, such as `20261121T020000Z-1a2b3c4d`. */
  readonly to: string;
}

export interface PurgeInput extends Pick<RollbackInput, 'connection' | 'resource'> {
  /** The values of the record's key, in the order of the key's fields, as the service writes them. */
  readonly key: readonly string[];
}

/** The settings of an export, from the worker's configuration. */
export interface ExportPlan {
  readonly resources: readonly string[];
  readonly giveUpAfterMs: number;
  /** Minimum interval between two runs that change notices request. */
  readonly minIntervalMs: number;
  /** Whether the connection has targets for alerts. */
  readonly alerts: boolean;
}

/**
 * What a run knows about the deletes of a resource (docs/explanation/guarantees.md#deletes). It is in the manifest, in the state
 * of the mirror and in reports, so it holds no record content and its size is bounded.
 */
export interface DeleteDetection {
  /**
   * What a delete is concluded from. `by-id`: the service answers 404 or 410 for the record's id; `two-readings`: the record
   * is absent from two complete readings of the list; `none`: deletes are not detected.
   */
  readonly basis: 'by-id' | 'two-readings' | 'none';
  /** The field that shows whether a row is inside the list's window; `null` if the list has no window or no field is configured. */
  readonly windowField: string | null;
  /** Why the basis is `none`, or why it is not `by-id`, although `fetchById` is set or cannot help; `null` if there is nothing to explain. */
  readonly reason: DetectionReason | null;
  /** Rows of the snapshot that the last full read did not list, including rows already marked as deleted; `null`: not known. */
  readonly notListed: number | null;
}

/**
 * `kept`: `deletes: keep`; `no-window-field`: the list has a window and no `windowField` is configured; `no-dates`: no row has
 * a value in that field; `not-dates`: the field has values that are no dates; `endpoint`: GET by id did not find a record that
 * the list had just shown; `no-id`: the key has several fields or is masked, so the record cannot be requested by it.
 */
export type DetectionReason = 'kept' | 'no-window-field' | 'no-dates' | 'not-dates' | 'endpoint' | 'no-id';

/** The report of a published run. Its strings have no brand, so that a test can write one. */
export interface PublishedReport extends Pick<RunReport, 'resource' | 'warnings' | 'deletes' | 'checks'> {
  readonly outcome: 'published';
  readonly runId: string;
  /** In the published snapshot, including tombstones. */
  readonly rows: number;
  readonly counts: RunCounts;
  /** Key of the snapshot's `_datapackage.json`, for `readSnapshotAt`. */
  readonly snapshot: string;
  /** Of a rollback: the run whose rows it published. */
  readonly rolledBackTo?: string;
}

/**
 * The argument of the workflow in `onPublished`.
 *
 * @example
 * export async function loadWarehouse({ connection, report }: OnPublishedInput): Promise<void> {
 *   console.log(`${connection}: run ${report.runId} of ${report.resource} has ${report.rows} rows`);
 * }
 */
export interface OnPublishedInput {
  readonly connection: string;
  readonly report: PublishedReport;
}

/** A published run, and the ids of the targets of `notify` that hear of it. */
export interface AnnounceInput extends OnPublishedInput {
  readonly targets: readonly string[];
}

/**
 * What follows each published run: the user's workflow, and announcements to targets of `notify`; `announce`: only these. They
 * have the worker's task queue.
 */
export type PublishedHook = OnPublishedTarget | 'announce';

/** The workflow of a user that starts after each published run. */
export interface OnPublishedTarget {
  /** The workflow's type. */
  readonly workflow: string;
  readonly taskQueue: string;
}

/** Input of the activity that starts the workflow once for each run. A repeated start has no effect. */
export interface StartOnPublishedInput {
  readonly hook: PublishedHook;
  readonly connection: string;
  readonly resource: string;
  /** The run that was published. The workflow starts for this run and the runs of its chain since `after`. */
  readonly runId: RunId;
  /** As `hookedTo` in the mirror's state. */
  readonly after: RunId | 'beginning' | null;
}

export interface StartedOnPublished {
  /** The last run that the workflow was started for. Also the first detail of the activity's failure. */
  readonly hookedTo: RunId;
  readonly warnings: readonly Warning[];
}

/** The report of a run as that of a published one; `null` for any other outcome, and for rollbacks and purges. */
export function toPublishedReport(report: RunReport): PublishedReport | null {
  const { resource, outcome, runId, rows, counts, snapshot, warnings } = report;
  if (outcome !== 'published' || runId === null || rows === null || counts === null || snapshot === null)
    return null;
  return { resource, outcome, runId, rows, counts, snapshot, warnings };
}
