import type { WriteBackActivities } from '../write-back-contract.js';
import type { ExportInput } from './runs.js';
import type {
  BeginRunInput,
  ConfirmGoneInput,
  ExportPlan,
  ExtractInput,
  ExtractResult,
  FindAbsentInput,
  KeysFound,
  MergedParts,
  MergePartsInput,
  MergePlanned,
  NotifyInput,
  PlanMergeInput,
  PublishedRun,
  PublishInput,
  PurgeRecordInput,
  RecordPurged,
  RollBackInput,
  RolledBack,
  RunBegun,
  RunRef,
} from './steps.js';

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
