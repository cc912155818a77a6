import { CancellationScope, condition, continueAsNew, isCancellation, log } from '@temporalio/workflow';
import type { EpochMs } from '../../src/core/brands.js';
import { ACTIVITIES } from '../../src/core/contract/activity-table.js';
import type { NoticesState, RunRecord } from '../../src/core/contract/index.js';
import { runSpec } from '../../src/core/mirror-requests.js';
import { parseRunDate } from '../../src/core/run-id.js';
import { changeNoticeProblem } from '../../src/core/signal-checks.js';
import {
  NOTICE_EVENTS,
  nextStep,
  noticeReceived,
  requestedRunEnded,
  runRequested,
} from '../../src/mirror/notice-rules.js';
import { MirrorRequester } from '../export/mirror-requester.js';
import { activity } from '../shared/activity-options.js';
import { reportAlerts } from '../shared/alert-reports.js';
import { shouldContinueAsNew } from '../shared/long-lived.js';
import { changeNotice, handleChecked } from '../shared/messages.js';
import { toRunError } from '../shared/run-errors.js';

const { maximumAttempts: _, ...PLAN_RETRY } = ACTIVITIES['worktrack.planExport'].limits.retry;

/** A run id has the second when the run started, or the next one if that is taken; ms. */
const MAX_RUN_ID_DELAY_MS = 1_000;

/**
 * Collects the change notices of one resource and requests increments from its mirror. The mirror receives one request at
 * a time, so neither many notices nor long runs enlarge a history. Completes when no notice is pending and
 * `sync.minInterval` has passed since the last run. The next notice starts the workflow again.
 *
 * A failed run is not requested again; see `requestedRunEnded`.
 */
export async function changeNoticeWorkflow(initial: NoticesState): Promise<void> {
  const { connection, resource } = initial;
  let state = initial;
  const requester = new MirrorRequester(connection);
  /** The report of the last run for alerts: the mirror leaves it to the sender of the request, even to one that is cancelled. */
  let reporting: Promise<void> = Promise.resolve();
  // A notice waits as long as the configuration does not know its resource.
  const planExport = activity('worktrack.planExport', connection, 'background', { retry: PLAN_RETRY });
  handleChecked(changeNotice, changeNoticeProblem, () => {
    state = noticeReceived(state, Date.now());
  });
  try {
    for (;;) {
      if (mustContinue()) await continueInNewHistory();
      const step = nextStep(state, Date.now());
      if (step.kind === 'end') return;
      if (step.kind === 'request-run') {
        const plan = await orContinue(planExport({ connection, resources: [resource] }));
        state = runRequested(state, plan, Date.now());
      } else if (step.kind === 'await-report') {
        // While the request is being sent, a new history could not know whether to send it again, and a report that has arrived
        // would be lost with this one.
        const isOpen = (): boolean =>
          requester.sent(resource) !== null && requester.report(resource) === null;
        const report = await orContinue(awaitReport(), isOpen);
        state = requestedRunEnded(state, startedAfter(report, state.requested!.at), Date.now());
      } else {
        const mayRest = step.kind === 'rest';
        await condition(() => (mayRest && state.pending !== null) || mustContinue(), step.ms);
      }
    }
  } catch (error) {
    if (isCancellation(error)) await Promise.all([requester.withdrawAll(), reporting]);
    throw error;
  }

  /** Sends the request unless it is already sent, and waits for its report. @returns `null` if the request failed */
  async function awaitReport(): Promise<RunRecord | null> {
    const { number, at, plan, sent } = state.requested!;
    const spec = runSpec(at, { alertedBy: 'sender', background: true });
    try {
      const report = await requester.request(resource, spec, `notices-${number}`, plan.giveUpAfterMs, sent);
      if (plan.alerts)
        reporting = CancellationScope.nonCancellable(() => reportAlerts({ connection, runs: [report] }));
      await reporting;
      if (report.outcome !== 'published')
        warn(report.error?.message ?? `the run was ${report.outcome}`, report.outcome);
      return report;
    } catch (error) {
      if (isCancellation(error)) throw error;
      warn(toRunError(error).message, 'failed');
      return null;
    }
  }

  function warn(message: string, outcome: string): void {
    log.warn('a run for change notices was not published; the next run reads the same changes', {
      connection,
      resource,
      outcome,
      message,
    });
  }

  /** Waits for long work. If the history becomes long enough meanwhile, continues as new. */
  async function orContinue<T>(work: Promise<T>, mayContinue: () => boolean = () => true): Promise<T> {
    let isDone = false;
    const done = (): void => {
      isDone = true;
    };
    work.then(done, done);
    // What arrives together with the signal that ends a wait may change the answer.
    do {
      await condition(() => isDone || (mustContinue() && mayContinue()));
    } while (!isDone && !mayContinue());
    return isDone ? work : continueInNewHistory();
  }

  function continueInNewHistory(): Promise<never> {
    const { requested } = state;
    return continueAsNew<typeof changeNoticeWorkflow>({
      ...state,
      requested:
        requested === null ? null : { ...requested, sent: requester.sent(resource) ?? requested.sent },
    });
  }
}

function mustContinue(): boolean {
  return shouldContinueAsNew(NOTICE_EVENTS);
}

/**
 * A published run did not start before this time; `null` for a run that was not published.
 */
function startedAfter(report: RunRecord | null, requestedAt: EpochMs): number | null {
  if (report?.outcome !== 'published' || report.runId === null) return null;
  const began = parseRunDate(report.runId) - MAX_RUN_ID_DELAY_MS;
  // After a clock was ahead, ids are ahead until the time has caught up.
  return began <= Date.now() ? began : requestedAt;
}
