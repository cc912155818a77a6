import { type Context, context } from '@opentelemetry/api';
import type {
  ActivityInput,
  Next,
  SignalInput,
  UpdateInput,
  WorkflowInboundCallsInterceptor,
  WorkflowOutboundCallsInterceptor,
} from '@temporalio/workflow';
import type { Activities, MirrorRequest, SyncInput } from '../../src/core/contract/index.js';
import { mirrorRequestProblem } from '../../src/core/signal-checks.js';
import { syncRequest } from '../mirror/sync-request.js';

/** The first activity of a run, by name, and the kind of request that leads to it. */
const FIRST_ACTIVITY: Readonly<Partial<Record<string, MirrorRequest['kind']>>> = {
  'worktrack.run': 'run',
  'worktrack.purgeRecord': 'purge',
} satisfies Partial<Record<keyof Activities, MirrorRequest['kind']>>;

/** Requests, and runs, whose trace is remembered. */
const MAX_REMEMBERED = 100;

/**
 * Adds the activities of a mirror's run to the trace of the workflow that requested the run. A mirror runs forever, so
 * its own trace would collect all runs, and no run would be in the trace of its export.
 *
 * It does not affect the mirror, so histories replay with and without traces.
 */
export class RunTraces implements WorkflowInboundCallsInterceptor, WorkflowOutboundCallsInterceptor {
  /** Requests whose run has not started, oldest first. */
  #requested: { readonly request: MirrorRequest; readonly from: Context }[] = [];
  /** By run id. */
  readonly #runs = new Map<string, Context>();

  handleSignal(
    input: SignalInput,
    next: Next<WorkflowInboundCallsInterceptor, 'handleSignal'>,
  ): Promise<void> {
    // A malformed request starts no run.
    const isRequest = input.signalName === 'requestRun' && mirrorRequestProblem(input.args[0]) === null;
    if (isRequest) this.#remember(input.args[0] as MirrorRequest);
    return next(input);
  }

  handleUpdate(
    input: UpdateInput,
    next: Next<WorkflowInboundCallsInterceptor, 'handleUpdate'>,
  ): Promise<unknown> {
    if (input.name === 'sync')
      this.#remember(syncRequest(input.args[0] as SyncInput | undefined, '', Date.now()));
    return next(input);
  }

  scheduleActivity(
    input: ActivityInput,
    next: Next<WorkflowOutboundCallsInterceptor, 'scheduleActivity'>,
  ): Promise<unknown> {
    const subject = (input.args[0] ?? {}) as Readonly<Record<string, unknown>>;
    const kind = FIRST_ACTIVITY[input.activityType];
    if (kind !== undefined) this.#startRun(kind, subject);
    const from = this.#runs.get(String(subject.runId)) ?? context.active();
    return context.with(from, () => next(input));
  }

  #remember(request: MirrorRequest): void {
    this.#requested = [...this.#requested, { request, from: context.active() }].slice(-MAX_REMEMBERED);
  }

  #startRun(kind: MirrorRequest['kind'], subject: Readonly<Record<string, unknown>>): void {
    const matches = (request: MirrorRequest): boolean =>
      request.kind === kind && isRequestOf(request, subject);
    const found = this.#requested.find(({ request }) => matches(request));
    if (found === undefined) return;
    this.#requested = this.#requested.filter(({ request }) => !matches(request));
    this.#runs.set(String(subject.runId), found.from);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > MAX_REMEMBERED) this.#runs.delete(oldest!);
  }
}

/** Whether the input of a run's first activity matches the request in all fields that both have. */
function isRequestOf(request: MirrorRequest, subject: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(request).every(
    ([name, wanted]) => !(name in subject) || JSON.stringify(subject[name]) === JSON.stringify(wanted),
  );
}
