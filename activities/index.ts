import { Context } from '@temporalio/activity';
import type {
  Activities,
  AnnounceInput,
  PhaseEnded,
  PhaseName,
  PhaseRef,
} from '../src/core/contract/index.js';
import { AttemptProgress, temporalClock, withHeartbeat } from '../src/run/activity-context.js';
import type { ActivityDeps } from '../src/run/deps.js';
import { wholeRun } from '../src/run/execute-run.js';
import { toFailure, withFailures } from '../src/run/failures.js';
import { performPhase } from '../src/run/perform-phase.js';
import { dryConnection, dryStore } from '../src/run/preview/dry-store.js';
import { purgeRecord } from '../src/run/purge/purge-record.js';
import { failureInLake } from '../src/run/run-failures.js';
import { Staging } from '../src/run/staging.js';
import { discardRun } from '../src/run/sweep/discard-run.js';
import { sweep } from '../src/run/sweep/sweep-resource.js';
import { reportAlerts, watchConnection } from './alerts/report-alerts.js';
import { announceRun, sendAlert } from './alerts/send-alert.js';
import { SlowReceivers } from './alerts/slow-receivers.js';
import { planExport } from './export/plan-export.js';
import { writeAudit } from './export/write-audit.js';
import { followTable } from './follow/follow-table.js';
import { startOnPublished } from './follow/start-on-published.js';
import { claimRows, confirmRows, planWriteBack, sendRows, writeResults } from './write-back/index.js';

export { logSubjectOf } from '../src/run/activity-context.js';
export type { ActivityDeps, OpenConnection } from '../src/run/deps.js';

/** All activities, by the names that workflows schedule them under. */
export function createActivities(deps: ActivityDeps): Activities {
  /** A phase of a run that is in the lake. */
  const inLake =
    (phase: PhaseName) =>
    async (ref: PhaseRef): Promise<PhaseEnded> => {
      const clock = temporalClock();
      const { attempt } = Context.current().info;
      try {
        const opened = deps.connection(ref.connection);
        const connection = ref.isDry ? dryConnection(opened) : opened;
        const store = ref.isDry
          ? dryStore(connection.store, { ...ref, staged: ref.runId })
          : connection.store;
        const staging = new Staging(store, ref, attempt);
        const progress = new AttemptProgress();
        const perform = () => performPhase({ deps, connection, staging, clock, progress }, phase, ref);
        // Reading sends its own heartbeats, with its position.
        return await (phase === 'read' ? perform() : withHeartbeat(perform, progress));
      } catch (error) {
        throw await failureInLake(deps, ref, toFailure(error), clock);
      }
    };
  const plain = <Input, Output>(work: (deps: ActivityDeps, input: Input) => Promise<Output>) =>
    withFailures((input: Input) => work(deps, input));
  /** For work that saves no position. */
  const beating = <Input, Output>(work: (deps: ActivityDeps, input: Input) => Promise<Output>) =>
    plain((_, input: Input) => withHeartbeat(() => work(deps, input)));
  const receivers = new SlowReceivers(() => performance.now());
  return {
    'worktrack.planExport': plain(planExport),
    'worktrack.run': (input) => wholeRun(deps, input),
    'worktrack.read': inLake('read'),
    'worktrack.settle': inLake('settle'),
    'worktrack.settleById': inLake('settleById'),
    'worktrack.mergePlan': inLake('mergePlan'),
    'worktrack.merge': inLake('merge'),
    'worktrack.publish': inLake('publish'),
    'worktrack.preview': inLake('preview'),
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
    'worktrack.announce': plain((all, input: AnnounceInput) => announceRun(all, input, receivers)),
  };
}
