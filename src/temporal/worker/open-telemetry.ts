import type { SpanExporter } from '@opentelemetry/sdk-trace-node';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { WorkerOptions } from '@temporalio/worker';
import type { WorkflowInfo } from '@temporalio/workflow';
import { ConfigurationError, errorMessage } from '../../core/errors.js';
import { parseUrl } from '../../core/parse-url.js';
import { withTimeout } from '../../core/reachability.js';
import { checkEnvironment } from '../../core/secrets.js';
import { VERSION } from '../../core/version.js';
import { fileOf } from './bundle.js';
import { runAttributes } from './interceptors.js';

/** The tracing interceptors for the client and the worker of one process. */
export interface Traces {
  readonly client: readonly WorkflowClientInterceptor[];
  readonly worker: Pick<WorkerOptions, 'interceptors' | 'sinks'>;
  /** Sends the remaining spans, for at most five seconds. */
  close(): Promise<void>;
}

type Attributes = Readonly<Record<string, unknown>> | undefined;

/** The command that installs the optional packages in compatible versions. `--force`: see docs/how-to/logs-and-traces.md#traces. */
const INSTALL =
  'npm install --force @temporalio/interceptors-opentelemetry-v2@^1.23.0 @opentelemetry/api@~1.9.0 @opentelemetry/resources@2 @opentelemetry/sdk-trace-node@2 @opentelemetry/exporter-trace-otlp-http@0.223';
/** Maximum time to flush spans when the process ends. */
const FLUSH_TIMEOUT_MS = 5_000;

/**
 * Starts to send traces by OTLP over HTTP. Configured only by OpenTelemetry's environment variables (`OTEL_…`), because
 * headers and URLs may contain secrets. Only this function loads the OpenTelemetry packages.
 *
 * @param onError called when the collector starts to fail
 * @throws ConfigurationError if a package is missing, or a variable is invalid
 */
export async function openTraces(env: Environment, onError: (message: string) => void): Promise<Traces> {
  checkOtlpEnvironment(env);
  checkEnvironment('OTEL_');
  const { api, sdk, resources, exporter, temporal } = await load().catch((cause: unknown) => {
    const why = errorMessage(cause).split('\n')[0];
    throw new ConfigurationError(`cannot load the OpenTelemetry packages that traces need: ${why}`, {
      remedy: `Install them next to temporal-worktrack: ${INSTALL}`,
      cause,
    });
  });
  const own = { 'service.name': 'worktrack', 'service.version': VERSION };
  const processor = new sdk.BatchSpanProcessor(reportingFailures(new exporter.OTLPTraceExporter(), onError));
  const resource = resources
    .resourceFromAttributes(own)
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
  const provider = new sdk.NodeTracerProvider({ resource, spanProcessors: [processor] });
  provider.register();
  const tracer = provider.getTracer('temporal-worktrack', VERSION);
  const client = new temporal.OpenTelemetryWorkflowClientInterceptor({ tracer });
  const withAttributes = <T>(names: Attributes, next: () => T): T => {
    api.trace.getActiveSpan()?.setAttributes(spanAttributes(names));
    return next();
  };
  const sink = temporal.makeWorkflowExporter(processor, resource);
  return {
    client: [
      // Queries are not traced, because following a workflow sends two per second.
      {
        startWithDetails: (input, next) => client.startWithDetails(input, next),
        signalWithStart: (input, next) => client.signalWithStart(input, next),
      },
      {
        startWithDetails: (input, next) => withAttributes(input.options.memo, () => next(input)),
        signalWithStart: (input, next) => withAttributes(input.options.memo, () => next(input)),
      },
    ],
    worker: {
      // By default, the library adds the complete workflow info to each span, including the last result.
      sinks: {
        exporter: {
          export: { fn: (info, spans) => sink.export.fn(workflowAttributes(info) as never, spans as never) },
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
              execute: (input, next) => withAttributes(runAttributes(info, input.args), () => next(input)),
            },
          }),
        ],
      },
    },
    async close() {
      // `onError` has already reported a failure.
      await withTimeout(provider.shutdown(), FLUSH_TIMEOUT_MS).catch(() => {});
    },
  };
}

async function load() {
  return {
    api: await import('@opentelemetry/api'),
    sdk: await import('@opentelemetry/sdk-trace-node'),
    resources: await import('@opentelemetry/resources'),
    exporter: await import('@opentelemetry/exporter-trace-otlp-http'),
    temporal: await import('@temporalio/interceptors-opentelemetry-v2'),
  };
}

/** Wraps the exporter and reports when it starts to fail, instead of for every failed batch. */
function reportingFailures(exporter: SpanExporter, onError: (message: string) => void): SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.code !== 0;
        if (failed && !isFailing)
          onError(`cannot send traces: ${result.error?.message || 'the collector does not answer'}`);
        isFailing = failed;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

/** Uses the attribute names that the library uses in spans of activities. */
function workflowAttributes({ workflowId, runId, memo }: WorkflowInfo): Record<string, string> {
  return { temporalWorkflowId: workflowId, run_id: runId, ...spanAttributes(memo) };
}

/** Selects the attributes that may appear in a trace. */
function spanAttributes(names: Attributes): Record<string, string> {
  const { connection, resource, runId, phase } = names ?? {};
  const all = { connection, resource, run_id: runId, phase };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) =>
      typeof value === 'string' ? [[`worktrack.${name}`, value]] : [],
    ),
  );
}

type Environment = Readonly<Record<string, string | undefined>>;

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'];

/**
 * Checks the variables that the exporter would ignore without a message if they are invalid.
 *
 * @throws ConfigurationError for an unsupported protocol, and for an endpoint that is not a URL
 */
function checkOtlpEnvironment(env: Environment): void {
  const protocol = PROTOCOLS.find((name) => env[name]);
  if (protocol !== undefined && !env[protocol]!.startsWith('http/')) {
    throw new ConfigurationError(
      `${protocol} is ${JSON.stringify(env[protocol])}, but only HTTP is supported`,
      { remedy: `Set it to http/json, and set the endpoint to the collector's HTTP port (usually 4318).` },
    );
  }
  const endpoint = ENDPOINTS.find((name) => env[name]);
  const url = endpoint === undefined ? null : env[endpoint]!;
  if (url !== null && !(/^https?:\/\//i.test(url) && parseUrl(url) !== null)) {
    // The message does not repeat the value, which may contain a password.
    throw new ConfigurationError(`${endpoint} is not an http:// or https:// URL`, {
      remedy: 'Set it to the URL of a collector, such as http://127.0.0.1:4318.',
    });
  }
}
