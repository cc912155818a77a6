/**
 * The public surface of temporal-worktrack: connect, run a worker, start and follow exports, keep the Schedule,
 * read the status, receive change notices. Workflows for your own bundle are in `temporal-worktrack/workflows`.
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
  type RunCounts,
  type RunError,
  type RunMode,
  type RunOutcome,
  type RunPhase,
  type RunReport,
} from './core/contract.js';
export type { ConnectionSettings, LakeSettings, ResourceSettings, Settings } from './core/settings.js';
export { type ObjectStore, openStore, StoreError, type StoreErrorKind } from './lake/store/index.js';
export { type ConnectOptions, connectTemporal, type TemporalClient } from './temporal/connect.js';
export { exportResultOf } from './temporal/export-result.js';
export type { ExportView, ResourceView } from './temporal/export-view.js';
export { type FollowOptions, followExport } from './temporal/follow.js';
export { createNoticeSender, type NoticeSenderOptions, pingTemporal } from './temporal/notices.js';
export { OutOfReachError, type ReachOptions } from './temporal/reach.js';
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
export { manualExportId, type StartExportOptions, startExport } from './temporal/start-export.js';
export { type ResourceStatus, readStatus, type StatusOptions } from './temporal/status.js';
export { VERSION } from './temporal/version.js';
export { createWorker, type WorktrackWorker, type WorktrackWorkerOptions } from './temporal/worker.js';
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
