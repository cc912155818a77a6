import {
  condition,
  continueAsNew,
  isCancellation,
  log,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities, NoticesState, RunReport } from '../src/core/contract.js';
import { answered, askedFor, NOTICE_EVENTS, nextStep, noticed } from '../src/core/notices.js';
import { parseRunDate } from '../src/lake/run-id.js';
import { Asking } from './asking.js';
import { toRunError } from './failures.js';
import { changeNotice } from './messages.js';

const { 'worktrack.planExport': planExport } = proxyActivities<Activities>({
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '1 day',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
});

/** A mirror names a run after the second in which it began, or after the next one when that is taken. */
const NAMED_LATE_BY = 1_000;

/**
 * Gathers the change notices of one resource and asks its mirror for increments, so that neither many notices nor
 * long runs swell a history: the mirror hears of one request at a time. Ends when all is quiet and
 * `sync.minInterval` since its last run is over; the next notice starts it anew.
 *
 * A run that fails is not asked for again; see `answered`.
 */
export async function changeNoticeWorkflow(initial: NoticesState): Promise<void> {
  const { connection, resource } = initial;
  let state = initial;
  const asking = new Asking(connection);
  setHandler(changeNotice, () => {
    state = noticed(state, Date.now());
  });
  try {
    for (;;) {
      if (mustContinue()) await renew();
      const step = nextStep(state, Date.now());
      if (step.kind === 'end') return;
      if (step.kind === 'ask') {
        const plan = await orContinue(planExport({ connection, resources: [resource] }));
        state = askedFor(state, plan, Date.now());
      } else if (step.kind === 'await-answer') {
        // While the question is on its way it is not known whether it would have to be sent again.
        const report = await orContinue(ask(), () => asking.sent(resource) !== null);
        state = answered(state, beganAfter(report), Date.now());
      } else {
        const mayRest = step.kind === 'rest';
        await condition(() => (mayRest && state.owed !== null) || mustContinue(), step.ms);
      }
    }
  } catch (error) {
    if (isCancellation(error)) await asking.withdrawAll();
    throw error;
  }

  /** Asks the mirror, or goes on waiting for its answer. @returns `null` when it cannot be asked */
  async function ask(): Promise<RunReport | null> {
    const { number, at, plan, sent } = state.asked!;
    const wish = {
      kind: 'run',
      mode: 'increment',
      reconcile: false,
      adopt: false,
      allowDeletes: false,
      since: null,
      nominalStart: at,
      ...(plan.notify === undefined ? {} : { notify: plan.notify }),
    } as const;
    try {
      const report = await asking.ask(resource, wish, `notices-${number}`, plan.giveUpAfterMs, sent);
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
    log.warn('a run that change notices asked for was not published; the next one reads the same changes', {
      connection,
      resource,
      outcome,
      message,
    });
  }

  /** Waits for something that takes long; when the history has grown meanwhile, goes on in a new one. */
  async function orContinue<T>(work: Promise<T>, mayContinue: () => boolean = () => true): Promise<T> {
    let isDone = false;
    const done = (): void => {
      isDone = true;
    };
    work.then(done, done);
    await condition(() => isDone || (mustContinue() && mayContinue()));
    return isDone ? work : renew();
  }

  function renew(): Promise<never> {
    const { asked } = state;
    return continueAsNew<typeof changeNoticeWorkflow>({
      ...state,
      asked: asked === null ? null : { ...asked, sent: asking.sent(resource) ?? asked.sent },
    });
  }
}

function mustContinue(): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  return continueAsNewSuggested || historyLength >= NOTICE_EVENTS;
}

function beganAfter(report: RunReport | null): number | null {
  if (report?.outcome !== 'published' || report.runId === null) return null;
  return parseRunDate(report.runId) - NAMED_LATE_BY;
}
