import { Context } from '@temporalio/activity';
import type { Activities, Audited, Previewed, PublishInput, StepRef } from '../src/core/contract/index.js';
import { AttemptProgress, temporalClock, withHeartbeat } from '../src/run/activity-context.js';
import type { ActivityDeps } from '../src/run/deps.js';
import { wholeRun } from '../src/run/execute-run.js';
import { toFailure, withFailures } from '../src/run/failures.js';
import { LakeStaging } from '../src/run/lake-staging.js';
import { mergeParts } from '../src/run/merge/merge-parts.js';
import { planMerge } from '../src/run/merge/plan-merge.js';
import { auditRun } from '../src/run/preview/audit-run.js';
import { saveUse } from '../src/run/preview/dry-staging.js';
import { dryConnection, dryStore } from '../src/run/preview/dry-store.js';
import { previewRun } from '../src/run/preview/preview-run.js';
import { publishRun } from '../src/run/publish/publish-run.js';
import { purgeRecord } from '../src/run/purge/purge-record.js';
import { readPages } from '../src/run/read/read-pages.js';
import { failureInLake } from '../src/run/run-failures.js';
import { confirmDeletes } from '../src/run/settle/confirm-deletes.js';
import { findAbsentRecords } from '../src/run/settle/find-absent.js';
import { once, type RunAt } from '../src/run/staging.js';
import { discardRun } from '../src/run/sweep/discard-run.js';
import { sweep } from '../src/run/sweep/sweep-resource.js';
import { reportAlerts, watchConnection } from './alerts/report-alerts.js';
import { announceRun, sendAlert } from './alerts/send-alert.js';
import { planExport } from './export/plan-export.js';
import { writeAudit } from './export/write-audit.js';
import { followTable } from './follow/follow-table.js';
import { startOnPublished } from './follow/start-on-published.js';
import { claimRows, confirmRows, planWriteBack, sendRows, writeResults } from './write-back/index.js';

export { logSubjectOf } from '../src/run/activity-context.js';
export type { ActivityDeps, OpenConnection } from '../src/run/deps.js';

/** All activities, by the names that workflows schedule them under. */
export function createActivities(deps: ActivityDeps): Activities {
  /** A phase of a run that is in the lake. @param beats who sends its heartbeats: `phase`, with its position */
  const inLake =
    <Input extends StepRef, Output>(
      phase: (at: RunAt, input: Input) => Promise<Output>,
      beats: 'here' | 'phase' = 'here',
    ) =>
    async (input: Input): Promise<Output> => {
      const clock = temporalClock();
      const { attempt } = Context.current().info;
      try {
        const opened = deps.connection(input.connection);
        const connection = input.isDry ? dryConnection(opened) : opened;
        const store = input.isDry
          ? dryStore(connection.store, { ...input, staged: input.runId })
          : connection.store;
        const staging = new LakeStaging(store, input, attempt);
        const progress = new AttemptProgress();
        const at = { deps, connection, staging, clock, progress };
        if (beats === 'phase') return await phase(at, input);
        return await withHeartbeat(() => phase(at, input), progress);
      } catch (error) {
        throw await failureInLake(deps, input, toFailure(error), clock);
      }
    };
  /** A phase that asks the service: a dry run notes what it has used. */
  const asking =
    <Input extends StepRef, Output>(phase: (at: RunAt, input: Input) => Promise<Output>) =>
    async (at: RunAt, input: Input): Promise<Output> => {
      const result = await phase(at, input);
      if (input.isDry) await saveUse(at.staging);
      return result;
    };
  const plain = <Input, Output>(work: (deps: ActivityDeps, input: Input) => Promise<Output>) =>
    withFailures((input: Input) => work(deps, input));
  /** For work that saves no position. */
  const beating = <Input, Output>(work: (deps: ActivityDeps, input: Input) => Promise<Output>) =>
    plain((_, input: Input) => withHeartbeat(() => work(deps, input)));
  return {
    'worktrack.planExport': plain(planExport),
    'worktrack.run': (input) => wholeRun(deps, input),
    'worktrack.read': inLake(once(asking(readPages)), 'phase'),
    'worktrack.settle': inLake(once(findAbsentRecords)),
    'worktrack.settleById': inLake(once(asking(confirmDeletes))),
    'worktrack.mergePlan': inLake(once(planMerge)),
    'worktrack.merge': inLake(mergeParts),
    'worktrack.publish': inLake(async (at, input: PublishInput) => (await publishRun(at, input)).run),
    'worktrack.preview': inLake(async (at, input: PublishInput): Promise<Previewed | Audited> => {
      const { audit } = (await at.staging.journal()).run;
      return audit === undefined ? previewRun(at, input) : auditRun(at, input);
    }),
    'worktrack.writeAudit': plain(writeAudit),
    'worktrack.followTable': beating(followTable),
    'worktrack.followOnPublished': beating(startOnPublished),
    'worktrack.sweep': beating(sweep),
    'worktrack.sweepFailedRun': beating(discardRun),
    'worktrack.purgeRecord': beating(purgeRecord),
    'worktrack.planWriteBack': beating(planWriteBack),
    'worktrack.claimRows': beating(claimRows),
    'worktrack.sendRows': plain(sendRows),
    'worktrack.writeResults': beating(writeResults),
    'worktrack.confirmRows': beating(confirmRows),
    'worktrack.reportAlerts': plain(reportAlerts),
    'worktrack.watch': plain(watchConnection),
    'worktrack.notify': plain(sendAlert),
    'worktrack.announce': plain(announceRun),
  };
}
