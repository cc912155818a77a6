import type { AlertSent, ReportAlertsInput, SendAlertInput, WatchInput } from './alerts.js';
import type { StartedOnPublished, StartOnPublishedInput } from './published.js';
import type { ExportInput } from './runs.js';
import type {
  AbsentRecords,
  ConfirmDeletesInput,
  ConfirmedDeletes,
  DiscardRunInput,
  ExportPlan,
  ExtractInput,
  ExtractResult,
  FindAbsentInput,
  MergedParts,
  MergePartsInput,
  MergePlanned,
  PlanMergeInput,
  PublishedRun,
  PublishInput,
  PurgeRecordInput,
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
  'worktrack.extractPages'(input: ExtractInput): Promise<ExtractResult>;
  'worktrack.findAbsent'(input: FindAbsentInput): Promise<AbsentRecords>;
  'worktrack.confirmDeletes'(input: ConfirmDeletesInput): Promise<ConfirmedDeletes>;
  'worktrack.planMerge'(input: PlanMergeInput): Promise<MergePlanned>;
  'worktrack.mergeParts'(input: MergePartsInput): Promise<MergedParts>;
  'worktrack.publish'(input: PublishInput): Promise<PublishedRun>;
  'worktrack.sweep'(input: SweepInput): Promise<Swept>;
  'worktrack.discardRun'(input: DiscardRunInput): Promise<void>;
  'worktrack.purgeRecord'(input: PurgeRecordInput): Promise<RecordPurged>;
  'worktrack.followTable'(input: RunRef): Promise<TableFollowed>;
  'worktrack.startOnPublished'(input: StartOnPublishedInput): Promise<StartedOnPublished>;
  'worktrack.reportAlerts'(input: ReportAlertsInput): Promise<void>;
  'worktrack.watch'(input: WatchInput): Promise<void>;
  'worktrack.notify'(input: SendAlertInput): Promise<AlertSent>;
}
