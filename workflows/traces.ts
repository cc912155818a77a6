/**
 * Workflow interceptors for OpenTelemetry, bundled with the workflows. They adapt Temporal's own library to workflows that
 * run for months. They issue no commands, so a worker can turn traces on and off while workflows run.
 */

import { type Context, context } from '@opentelemetry/api';
import {
  OpenTelemetryInboundInterceptor,
  OpenTelemetryInternalsInterceptor,
  OpenTelemetryOutboundInterceptor,
} from '@temporalio/interceptors-opentelemetry-v2/lib/workflow/index.js';
import {
  type ActivityInput,
  type Next,
  type SignalInput,
  type UpdateInput,
  type WorkflowExecuteInput,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptorsFactory,
  type WorkflowOutboundCallsInterceptor,
  workflowInfo,
} from '@temporalio/workflow';
import { activityFacts } from '../src/core/contract/activity-table.js';
import {
  ALERTS_WORKFLOW,
  CHANGE_NOTICE_WORKFLOW,
  MIRROR_WORKFLOW,
  type MirrorRequest,
  type SyncInput,
} from '../src/core/contract/index.js';
import { mirrorRequestProblem } from '../src/core/signal-checks.js';
import { syncRequest } from '../src/mirror/request-queue.js';

/** These workflows outlive their starter, so they do not belong to its trace. */
const LONG_LIVED: readonly string[] = [MIRROR_WORKFLOW, ALERTS_WORKFLOW, 'writeBackLockWorkflow'];

export const interceptors: WorkflowInterceptorsFactory = () => {
  const runs = new RunTraces();
  const inbound = withoutSideEffects(new OpenTelemetryInboundInterceptor());
  const outbound = withoutSideEffects(new OpenTelemetryOutboundInterceptor());
  return {
    // The first is the outermost. `runs` comes last, so that it sees the library's span of each message.
    inbound: [{ execute: startOwnTrace }, withoutQueries(inbound), runs],
    outbound: [runs, outbound],
    internals: [new OpenTelemetryInternalsInterceptor()],
  };
};

/** Starts one trace per history, because a trace that spans months cannot be read. */
function startOwnTrace(
  input: WorkflowExecuteInput,
  next: Next<WorkflowInboundCallsInterceptor, 'execute'>,
): Promise<unknown> {
  const { workflowType, continuedFromExecutionRunId } = workflowInfo();
  const isLongLived =
    LONG_LIVED.includes(workflowType) ||
    (workflowType === CHANGE_NOTICE_WORKFLOW && continuedFromExecutionRunId !== undefined);
  return next(isLongLived ? { ...input, headers: {} } : input);
}

/** Omits queries: a client that follows a workflow sends two per second, and their spans would fill the traces. */
function withoutQueries(library: WorkflowInboundCallsInterceptor): WorkflowInboundCallsInterceptor {
  return {
    execute: (input, next) => library.execute!(input, next),
    handleSignal: (input, next) => library.handleSignal!(input, next),
    handleUpdate: (input, next) => library.handleUpdate!(input, next),
  };
}

/**
 * Wraps the library so that it has no effect on the workflow. The library's promises settle later than the promises that
 * they wrap, which would change the order of commands. The wrapper returns the inner promise. Span ids come from a separate
 * random stream of the library, so ids of the workflow, such as run ids in the lake, are the same with and without traces.
 */
function withoutSideEffects<T extends object>(library: T): T {
  return new Proxy(library, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== 'function') return method;
      return (input: unknown, next: (input: unknown) => unknown): unknown => {
        let answer: unknown;
        const capturing = (inner: unknown): unknown => {
          answer = next(inner);
          return answer;
        };
        const traced: unknown = method.call(target, input, capturing);
        // The library threw before it called `next`, or the call is synchronous.
        if (!(traced instanceof Promise && answer instanceof Promise)) return traced;
        // The inner promise rejects with the same error.
        traced.catch(() => {});
        return answer;
      };
    },
  });
}

/** Requests, and runs, whose trace is remembered. */
const MAX_REMEMBERED = 100;

/**
 * Adds the activities of a mirror's run to the trace of the workflow that requested the run. A mirror runs forever, so
 * its own trace would collect all runs, and no run would be in the trace of its export.
 *
 * It does not affect the mirror, so histories replay with and without traces.
 */
class RunTraces implements WorkflowInboundCallsInterceptor, WorkflowOutboundCallsInterceptor {
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
    const kind = activityFacts(input.activityType)?.begins;
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
