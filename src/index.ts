/**
 * The public surface of temporal-worktrack: connect, run a worker or add to yours, start and follow exports, keep the
 * Schedule, read the status, receive change notices, replay histories. Workflows for your own bundle are in
 * `temporal-worktrack/workflows`.
 */
export {
  configJsonSchema,
  type LoadOptions,
  loadSettings,
  parseSettings,
  SettingsError,
  type SettingsProblem,
  selectConnection,
} from './config/index.js';
export { ConfigurationError } from './core/configuration-error.js';
export {
  type ActiveRun,
  BACKFILL_WORKFLOW,
  type BackfillInput,
  CHANGE_NOTICE_WORKFLOW,
  DEFAULT_TASK_QUEUE,
  EXPORT_WORKFLOW,
  type ExportInput,
  type ExportProgress,
  type ExportResult,
  exportWorkflowId,
  type FailureType,
  MIRROR_WORKFLOW,
  type MirrorStatus,
  mirrorWorkflowId,
  noticesWorkflowId,
  PURGE_WORKFLOW,
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
} from './core/contract.js';
export { METRICS, type MetricDefinition } from './core/metrics.js';
export type { ConnectionSettings, LakeSettings, ResourceSettings, Settings } from './core/settings.js';
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
  writeBackWorkflowId,
} from './core/write-back-contract.js';
export {
  clashingResources,
  type DaySnapshot,
  DDL_VIEWS,
  type DdlInput,
  type DdlView,
  DIALECTS,
  type Dialect,
  ddlStatements,
  type Integers,
  renderDdl,
  type Statement,
} from './lake/ddl.js';
export type { Manifest, PublishedPart } from './lake/manifest.js';
export type { Pointer } from './lake/pointer.js';
export { maskedColumns } from './lake/profile.js';
export { type PublishedSnapshot, readPublished, readPublishedOn } from './lake/published.js';
export { readRows } from './lake/rows.js';
export { SnapshotNotFoundError } from './lake/snapshot-not-found-error.js';
export { type ObjectStore, openStore, StoreError, type StoreErrorKind } from './lake/store/index.js';
export { type ReportWanted, reportOf } from './report/index.js';
export {
  type ClientConnectOptions,
  type ConnectOptions,
  connectTemporal,
  type TemporalClient,
  temporalClientOf,
} from './temporal/connect.js';
export { exportResultOf } from './temporal/export-result.js';
export type { ExportView, ResourceView } from './temporal/export-view.js';
export { type FollowOptions, followExport } from './temporal/follow.js';
export {
  type FollowWriteBackOptions,
  followWriteBack,
  type WriteBackView,
} from './temporal/follow-write-back.js';
export { parseHistory, type RecordedHistory } from './temporal/history.js';
export { createNoticeSender, type NoticeSenderOptions, pingTemporal } from './temporal/notices.js';
export { WorktrackPlugin, type WorktrackPluginOptions } from './temporal/plugin.js';
export { OutOfReachError, type ReachOptions } from './temporal/reach.js';
export { type ReplayedHistory, replayHistories } from './temporal/replay.js';
export {
  type AppliedSchedule,
  applySchedule,
  type DescribedSchedule,
  deleteSchedule,
  describeSchedule,
  pauseSchedule,
  resumeSchedule,
  scheduleId,
  triggerSchedule,
} from './temporal/schedule.js';
export type { ScheduleChange } from './temporal/schedule-diff.js';
export type { ScheduledRun } from './temporal/schedule-runs.js';
export { type ServerHistoriesOptions, serverHistories } from './temporal/server-histories.js';
export { stageWriteBack, type WriteBackSource } from './temporal/stage-write-back.js';
export {
  manualId,
  requestSync,
  type StartOptions,
  startBackfill,
  startExport,
  startPurge,
  startRollback,
} from './temporal/start.js';
export {
  type StartedWriteBack,
  type StartWriteBackOptions,
  startWriteBack,
} from './temporal/start-write-back.js';
export { type ResourceStatus, readStatus, type StatusOptions } from './temporal/status.js';
export { prometheusMetrics } from './temporal/telemetry.js';
export { VERSION } from './temporal/version.js';
export {
  createWorker,
  type DeploymentVersion,
  type WorktrackWorker,
  type WorktrackWorkerOptions,
} from './temporal/worker.js';
export { writeBackResultOf } from './temporal/write-back-result.js';
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
export { InputError } from './write-back/index.js';
