/**
 * Workflow interceptors for OpenTelemetry, bundled with the workflows. They adapt Temporal's own library to workflows that
 * run for months. They issue no commands, so a worker can turn traces on and off while workflows run.
 */
import {
  OpenTelemetryInboundInterceptor,
  OpenTelemetryInternalsInterceptor,
  OpenTelemetryOutboundInterceptor,
} from '@temporalio/interceptors-opentelemetry-v2/lib/workflow/index.js';
import {
  type Next,
  type WorkflowExecuteInput,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptorsFactory,
  workflowInfo,
} from '@temporalio/workflow';
import { ALERTS_WORKFLOW, CHANGE_NOTICE_WORKFLOW, MIRROR_WORKFLOW } from '../src/core/contract/index.js';
import { RunTraces } from './shared/run-traces.js';

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
