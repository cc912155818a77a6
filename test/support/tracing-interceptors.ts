import { proxySinks, type Sinks, type WorkflowInterceptorsFactory } from '@temporalio/workflow';

/** As a tracing library's: spans leave the sandbox through a sink. */
export interface TraceSinks extends Sinks {
  readonly traces: { span(name: string): void };
}

export const interceptors: WorkflowInterceptorsFactory = () => ({
  inbound: [],
  outbound: [
    {
      async scheduleActivity(input, next) {
        const { traces } = proxySinks<TraceSinks>();
        traces.span(input.activityType);
        return next({ ...input, headers: { ...input.headers, traceparent: { data: new Uint8Array([1]) } } });
      },
    },
  ],
});
