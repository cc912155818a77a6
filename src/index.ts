/**
 * The public API of temporal-worktrack: connect to Temporal, run a worker or extend your own, start and follow exports,
 * manage the Schedule, read the status, receive change notices, replay histories. `temporal-worktrack/workflows` exports the
 * workflows for your own bundle.
 */
export {
  type ConfigDifference,
  type ConfigDigest,
  configFingerprint,
  configJsonSchema,
  type LoadOptions,
  loadSettings,
  parseSettings,
  SettingsError,
  type SettingsProblem,
  selectConnection,
} from './config/index.js';
export type { ObjectKey, RunId } from './core/brands.js';
export {
  type ActiveRun,
  type AuditInput,
  type AuditReport,
  BACKFILL_WORKFLOW,
  type BackfillInput,
  CHANGE_NOTICE_WORKFLOW,
  type CheckOutcome,
  type CheckSummary,
  DEFAULT_TASK_QUEUE,
  EXPORT_WORKFLOW,
  type ExportInput,
  type ExportProgress,
  type ExportResult,
  exportWorkflowId,
  FAILURES,
  type FailureType,
  MIRROR_WORKFLOW,
  type MirrorStatus,
  mirrorWorkflowId,
  noticesWorkflowId,
  type OnPublishedInput,
  type OnPublishedTarget,
  onPublishedWorkflowId,
  PURGE_WORKFLOW,
  type PublishedReport,
  type PurgeCounts,
  type PurgeInput,
  ROLLBACK_WORKFLOW,
  type RollbackInput,
  type RunCounts,
  type RunError,
  type RunMode,
  type RunOutcome,
  type RunPhase,
  type RunReport,
  type SyncAccepted,
  type SyncInput,
  scheduleId,
} from './core/contract/index.js';
export {
  type InputFormat,
  type RowCounts,
  type RowOutcome,
  type UnknownPolicy,
  WRITABLE_RESOURCES,
  WRITE_BACK_WORKFLOW,
  type WritableResource,
  type WriteBackInput,
  type WriteBackOutcome,
  type WriteBackProgress,
  type WriteBackResult,
  type WrittenPolicy,
  writeBackWorkflowId,
} from './core/contract/write-back.js';
export type { DeploymentVersion } from './core/deployment-version.js';
export {
  ConfigurationError,
  ERROR_CODES,
  type ErrorCode,
  InvalidArgumentError,
  WorktrackError,
} from './core/errors.js';
export type { ExitCode } from './core/exit-code.js';
export type { ResourceState } from './core/find-problems.js';
export { InputError } from './core/input-error.js';
export { METRICS, type MetricDefinition } from './core/metrics.js';
export { OutOfReachError, type ReachOptions } from './core/reachability.js';
export type { Verdict } from './core/resource-state.js';
export { isRunId } from './core/run-id.js';
export type { ConnectionSettings, LakeSettings, ResourceSettings, Settings } from './core/settings.js';
export { VERSION } from './core/version.js';
export { DamagedError } from './lake/damaged-error.js';
export type { CheckResult } from './lake/documents/check-record.js';
export { LakeLayoutError } from './lake/documents/lake-layout.js';
export type { Manifest, PublishedPart } from './lake/documents/manifest.js';
export type { Pointer } from './lake/documents/pointer.js';
export {
  type PublishedSnapshot,
  readPublished,
  readPublishedOn,
  readSnapshotAt,
  SnapshotNotFoundError,
} from './lake/published/read-published.js';
export {
  columnNames,
  type LakeRecord,
  type ReadRecordsOptions,
  readRecords,
  readRows,
} from './lake/published/read-rows.js';
export { maskedColumns } from './lake/rows/profile.js';
export {
  type ObjectStore,
  openStore,
  StoreError,
  type StoreErrorKind,
  toObjectKey,
} from './lake/store/index.js';
export { DocumentTooLargeError } from './lake/too-large-error.js';
export type { EarlierRuns, VerifyOptions } from './lake/verify/read-runs.js';
export type { VerifyReport } from './lake/verify/verify-lake.js';
export { createReport, type FigureGroup, type ReportRequest } from './report/index.js';
export {
  clashingResources,
  type DaySnapshot,
  DDL_VIEWS,
  type DdlInput,
  type DdlView,
  DIALECTS,
  type Dialect,
  ddlStatements,
  type Numbers,
  type QueryColumn,
  QueryError,
  type QueryOptions,
  type QueryResult,
  type QueryValue,
  queryLake,
  renderDdl,
  type Statement,
  unreadableViews,
} from './sql/index.js';
export { verifyResource } from './table/index.js';
export {
  type ClientConnectOptions,
  type ConnectOptions,
  connectTemporal,
  type TemporalClient,
  temporalClientOf,
} from './temporal/client/connect.js';
export { exportResultOf } from './temporal/client/export-result.js';
export {
  createNoticeSender,
  type NoticeSenderOptions,
  pingTemporal,
} from './temporal/client/notice-sender.js';
export {
  manualId,
  requestSync,
  type StartedWriteBack,
  type StartOptions,
  type StartWriteBackOptions,
  startAudit,
  startBackfill,
  startExport,
  startPurge,
  startRollback,
  startWriteBack,
} from './temporal/client/start.js';
export type { ExportView, ResourceView } from './temporal/follow/follow-export.js';
export {
  type FollowOptions,
  followBackfill,
  followExport,
  followPurge,
  followRollback,
  type PurgeResult,
  type RollbackResult,
  type UnsuccessfulRequest,
} from './temporal/follow/follow-export.js';
export {
  type FollowWriteBackOptions,
  followWriteBack,
  type WriteBackView,
  writeBackResultOf,
} from './temporal/follow/follow-write-back.js';
export {
  RunFailedError,
  requirePublished,
  requireWritten,
  WriteBackFailedError,
} from './temporal/follow/require-published.js';
export {
  parseHistory,
  type RecordedHistory,
  type ReplayedHistory,
  replayHistories,
  type ServerHistoriesOptions,
  serverHistories,
} from './temporal/replay.js';
export type { ScheduleChange } from './temporal/schedule/create-or-update.js';
export {
  type AppliedSchedule,
  applySchedule,
  type DescribedSchedule,
  deleteSchedule,
  describeSchedule,
  pauseSchedule,
  resumeSchedule,
  type ScheduledRun,
  triggerSchedule,
} from './temporal/schedule/schedule.js';
export type { Retrying } from './temporal/status/read-mirror.js';
export { type LoggedRun, type RunLogOptions, readRunLog } from './temporal/status/run-log.js';
export {
  type ResourceStatus,
  readStatus,
  type StatusOptions,
  type StatusRun,
} from './temporal/status/status.js';
export {
  type PollingWorker,
  readWorkers,
  type WorkerDifference,
  workerDifferences,
} from './temporal/status/workers.js';
export { type StuckWork, stuckWork } from './temporal/versions/stuck-work.js';
export { type Unpinned, unpin } from './temporal/versions/unpin.js';
export { type UpgradeOptions, type UpgradeStep, upgradeTo } from './temporal/versions/upgrade.js';
export { WorktrackPlugin, type WorktrackPluginOptions } from './temporal/worker/plugin.js';
export type { ConfigRecord } from './temporal/worker/published-config.js';
export { prometheusMetrics } from './temporal/worker/telemetry.js';
export {
  createWorker,
  type WorktrackWorker,
  type WorktrackWorkerOptions,
} from './temporal/worker/worker.js';
export {
  createWebhookHandler,
  type SendNotice,
  startWebhookServer,
  type WebhookHandler,
  type WebhookHandlerOptions,
  type WebhookLog,
  type WebhookServer,
  type WebhookServerOptions,
} from './webhook/index.js';
export {
  stageWriteBack,
  stageWriteBackRows,
  type WriteBackRows,
  type WriteBackSource,
} from './write-back/index.js';
