import type { SpanExporter } from '@opentelemetry/sdk-trace-node';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { WorkerOptions } from '@temporalio/worker';
import type { WorkflowInfo } from '@temporalio/workflow';
import { ConfigurationError } from '../core/configuration-error.js';
import { fileOf } from './bundle.js';
import { namesOf } from './log-context.js';
import { checkOtlpEnvironment, type Environment } from './otlp-environment.js';
import { VERSION } from './version.js';

/** What sends traces, for the client and for the worker of one process. */
export interface Traces {
  readonly client: readonly WorkflowClientInterceptor[];
  readonly worker: Pick<WorkerOptions, 'interceptors' | 'sinks'>;
  /** Sends what is left, for some seconds at most. */
  close(): Promise<void>;
}

type Names = Readonly<Record<string, unknown>> | undefined;

/** What has to be installed; the versions go together. */
const INSTALL =
  'npm install @temporalio/interceptors-opentelemetry@^1.24.0 @opentelemetry/api@~1.9.0 @opentelemetry/resources@^1.30.1 @opentelemetry/sdk-trace-node@^1.30.1 @opentelemetry/exporter-trace-otlp-http@^0.57.2';
/** How long the end of a process may wait for a collector, ms. */
const LAST_SENDING_MS = 5_000;

/**
 * Begins to send traces by OTLP over HTTP, configured by the environment variables of OpenTelemetry (`OTEL_…`) alone,
 * since headers and addresses may hold secrets. Its packages are loaded here and nowhere else.
 *
 * @param onTrouble hears when the collector begins to take none
 * @throws ConfigurationError when a package is missing, or a variable cannot be used
 */
export async function openTraces(env: Environment, onTrouble: (message: string) => void): Promise<Traces> {
  checkOtlpEnvironment(env);
  const { api, sdk, resources, exporter, temporal } = await load().catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message.split('\n')[0] : String(cause);
    throw new ConfigurationError(`traces need packages of OpenTelemetry that cannot be loaded: ${why}`, {
      remedy: `Install them beside temporal-worktrack: ${INSTALL}`,
      cause,
    });
  });
  const own = { 'service.name': 'worktrack', 'service.version': VERSION };
  const processor = new sdk.BatchSpanProcessor(telling(new exporter.OTLPTraceExporter(), onTrouble));
  const provider = new sdk.NodeTracerProvider({
    resource: new resources.Resource(own).merge(resources.envDetectorSync.detect()),
    spanProcessors: [processor],
  });
  provider.register();
  const tracer = provider.getTracer('temporal-worktrack', VERSION);
  const client = new temporal.OpenTelemetryWorkflowClientInterceptor({ tracer });
  const marked = <T>(names: Names, next: () => T): T => {
    api.trace.getActiveSpan()?.setAttributes(attributes(names));
    return next();
  };
  const sink = temporal.makeWorkflowExporter(processor, provider.resource);
  return {
    client: [
      // Not queries: who follows a workflow asks it twice a second.
      {
        startWithDetails: (input, next) => client.startWithDetails(input, next),
        signalWithStart: (input, next) => client.signalWithStart(input, next),
      },
      {
        startWithDetails: (input, next) => marked(input.options.memo, () => next(input)),
        signalWithStart: (input, next) => marked(input.options.memo, () => next(input)),
      },
    ],
    worker: {
      // The library would put all that is known of a workflow into each span, its last result too.
      sinks: {
        exporter: {
          export: { fn: (info, spans) => sink.export.fn(ofWorkflow(info) as never, spans as never) },
        },
      },
      interceptors: {
        workflowModules: [fileOf('dist/workflows/traces.js')],
        activity: [
          (ctx) => ({
            inbound: new temporal.OpenTelemetryActivityInboundInterceptor(ctx, { tracer }),
            outbound: new temporal.OpenTelemetryActivityOutboundInterceptor(ctx),
          }),
          ({ info }) => ({
            inbound: {
              execute: (input, next) => marked(namesOf(info, input.args), () => next(input)),
            },
          }),
        ],
      },
    },
    async close() {
      let timer: NodeJS.Timeout | undefined;
      const enough = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, LAST_SENDING_MS);
      });
      // What is to be said of a failure has been said.
      await Promise.race([provider.shutdown().catch(() => {}), enough]);
      clearTimeout(timer);
    },
  };
}

async function load() {
  return {
    api: await import('@opentelemetry/api'),
    sdk: await import('@opentelemetry/sdk-trace-node'),
    resources: await import('@opentelemetry/resources'),
    exporter: await import('@opentelemetry/exporter-trace-otlp-http'),
    temporal: await import('@temporalio/interceptors-opentelemetry'),
  };
}

/** The exporter, which tells when it begins to fail; each batch that fails would be too much. */
function telling(exporter: SpanExporter, onTrouble: (message: string) => void): SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.code !== 0;
        if (failed && !isFailing)
          onTrouble(`traces cannot be sent: ${result.error?.message || 'the collector does not answer'}`);
        isFailing = failed;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

/** Under the names that the library gives to them in spans of activities. */
function ofWorkflow({ workflowId, runId, memo }: WorkflowInfo): Record<string, string> {
  return { temporalWorkflowId: workflowId, run_id: runId, ...attributes(memo) };
}

/** Of what names a workflow or an activity, what may be in a trace. */
function attributes(names: Names): Record<string, string> {
  const { connection, resource, runId, phase } = names ?? {};
  const all = { connection, resource, run_id: runId, phase };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) =>
      typeof value === 'string' ? [[`worktrack.${name}`, value]] : [],
    ),
  );
}
