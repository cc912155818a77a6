/**
 * Workflow interceptors for OpenTelemetry, to be bundled with the workflows: those of Temporal's own library, made fit
 * for mirrors. Nothing in here gives a command, so that a worker may turn traces on and off with workflows under way.
 */
import {
  OpenTelemetryInboundInterceptor,
  OpenTelemetryInternalsInterceptor,
  OpenTelemetryOutboundInterceptor,
} from '@temporalio/interceptors-opentelemetry/lib/workflow/index.js';
import {
  getRandomStream,
  type Next,
  type WorkflowExecuteInput,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptorsFactory,
  workflowInfo,
} from '@temporalio/workflow';
import { CHANGE_NOTICE_WORKFLOW, MIRROR_WORKFLOW } from '../src/core/contract.js';
import { RunTraces } from './run-traces.js';

/** They outlive whoever started them, so they are no part of that one's trace. */
const LASTING: readonly string[] = [MIRROR_WORKFLOW, 'writeBackLaneWorkflow'];

export const interceptors: WorkflowInterceptorsFactory = () => {
  const runs = new RunTraces();
  const inbound = unnoticed(new OpenTelemetryInboundInterceptor());
  const outbound = unnoticed(new OpenTelemetryOutboundInterceptor());
  return {
    // The first is the outermost: of what comes in, the library's spans are there already when we look.
    inbound: [{ execute: beginOwnTrace }, withoutQueries(inbound), runs],
    outbound: [runs, outbound],
    internals: [new OpenTelemetryInternalsInterceptor()],
  };
};

/** One trace for each history: a trace that goes on for months is of use to nobody. */
function beginOwnTrace(
  input: WorkflowExecuteInput,
  next: Next<WorkflowInboundCallsInterceptor, 'execute'>,
): Promise<unknown> {
  const { workflowType, continuedFromExecutionRunId } = workflowInfo();
  const isLasting =
    LASTING.includes(workflowType) ||
    (workflowType === CHANGE_NOTICE_WORKFLOW && continuedFromExecutionRunId !== undefined);
  return next(isLasting ? { ...input, headers: {} } : input);
}

/** Who follows a workflow asks it twice a second; as spans that would be most of all traces. */
function withoutQueries(library: WorkflowInboundCallsInterceptor): WorkflowInboundCallsInterceptor {
  return {
    execute: (input, next) => library.execute!(input, next),
    handleSignal: (input, next) => library.handleSignal!(input, next),
    handleUpdate: (input, next) => library.handleUpdate!(input, next),
  };
}

/**
 * The library, without what a workflow could tell that it is there by:
 *
 * - It draws ids of spans from the workflow's own random numbers. A mirror that is replayed with traces and had run
 *   without would come by other run ids than those in its lake, and take itself for displaced. So it draws from a stream
 *   of its own; what comes after it in the chain has the workflow's again.
 * - Its promises take longer than those that they stand for, so that commands would come in another order. So the
 *   workflow gets the latter.
 */
function unnoticed<T extends object>(library: T): T {
  return new Proxy(library, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== 'function') return method;
      return (input: unknown, next: (input: unknown) => unknown): unknown => {
        let answer: unknown;
        const remembering = (inner: unknown): unknown => {
          answer = next(inner);
          return answer;
        };
        const traced: unknown = getRandomStream('temporal-worktrack/traces').with(() =>
          method.call(target, input, remembering),
        );
        // It threw before it came to that, or there is nothing to wait for.
        if (!(traced instanceof Promise && answer instanceof Promise)) return traced;
        // Whatever is wrong is in the answer as well.
        traced.catch(() => {});
        return answer;
      };
    },
  });
}
