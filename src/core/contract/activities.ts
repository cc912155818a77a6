import type { AlertSent, ReportAlertsInput, SendAlertInput, WatchInput } from './alerts.js';
import type { ExportInput, ExportPlan, StartedOnPublished, StartOnPublishedInput } from './run-reports.js';
import type {
  AbsentRecords,
  ConfirmDeletesInput,
  ConfirmedDeletes,
  DiscardRunInput,
  FindAbsentInput,
  MergedParts,
  MergePartsInput,
  MergePlanned,
  PlanMergeInput,
  PublishedRun,
  PublishInput,
  PurgeRecordInput,
  ReadInput,
  ReadResult,
  RecordPurged,
  RunDone,
  RunInput,
  RunRef,
  SweepInput,
  Swept,
  TableFollowed,
} from './steps.js';
import type { WriteBackActivities } from './write-back.js';

/** Activities by registered name. The prefix avoids clashes with other activities of the same worker. */
export interface Activities extends WriteBackActivities {
  'worktrack.planExport'(input: ExportInput): Promise<ExportPlan>;
  'worktrack.run'(input: RunInput): Promise<RunDone>;
  'worktrack.read'(input: ReadInput): Promise<ReadResult>;
  'worktrack.settle'(input: FindAbsentInput): Promise<AbsentRecords>;
  'worktrack.settleById'(input: ConfirmDeletesInput): Promise<ConfirmedDeletes>;
  'worktrack.mergePlan'(input: PlanMergeInput): Promise<MergePlanned>;
  'worktrack.merge'(input: MergePartsInput): Promise<MergedParts>;
  'worktrack.publish'(input: PublishInput): Promise<PublishedRun>;
  'worktrack.sweep'(input: SweepInput): Promise<Swept>;
  'worktrack.sweepFailedRun'(input: DiscardRunInput): Promise<void>;
  'worktrack.purgeRecord'(input: PurgeRecordInput): Promise<RecordPurged>;
  'worktrack.followTable'(input: RunRef): Promise<TableFollowed>;
  'worktrack.followOnPublished'(input: StartOnPublishedInput): Promise<StartedOnPublished>;
  'worktrack.reportAlerts'(input: ReportAlertsInput): Promise<void>;
  'worktrack.watch'(input: WatchInput): Promise<void>;
  'worktrack.notify'(input: SendAlertInput): Promise<AlertSent>;
}
