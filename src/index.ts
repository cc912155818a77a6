/**
 * The public surface of temporal-worktrack: connect, run a worker, start and follow exports, keep the Schedule,
 * read the status. Workflows for your own bundle are in `temporal-worktrack/workflows`.
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
  type RunCounts,
  type RunError,
  type RunMode,
  type RunOutcome,
  type RunPhase,
  type RunReport,
} from './core/contract.js';
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
export { type ObjectStore, openStore, StoreError, type StoreErrorKind } from './lake/store/index.js';
export { type ConnectOptions, connectTemporal, type TemporalClient } from './temporal/connect.js';
export { exportResultOf } from './temporal/export-result.js';
export type { ExportView, ResourceView } from './temporal/export-view.js';
export { type FollowOptions, followExport } from './temporal/follow.js';
export {
  type FollowWriteBackOptions,
  followWriteBack,
  type WriteBackView,
} from './temporal/follow-write-back.js';
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
export { stageWriteBack, type WriteBackSource } from './temporal/stage-write-back.js';
export { manualExportId, type StartExportOptions, startExport } from './temporal/start-export.js';
export {
  type StartedWriteBack,
  type StartWriteBackOptions,
  startWriteBack,
} from './temporal/start-write-back.js';
export { type ResourceStatus, readStatus, type StatusOptions } from './temporal/status.js';
export { VERSION } from './temporal/version.js';
export { createWorker, type WorktrackWorker, type WorktrackWorkerOptions } from './temporal/worker.js';
export { writeBackResultOf } from './temporal/write-back-result.js';
export { InputError } from './write-back/index.js';
