import { setFlagsFromString } from 'node:v8';
import { reach } from '../../core/reach.js';
import { grpcMessage, isDenied } from '../../temporal/client/grpc.js';
import {
  createWorker,
  type DeploymentVersion,
  type WorkerState,
  type WorktrackWorker,
} from '../../temporal/worker/worker.js';
import { temporalTarget, toUserError } from '../shared/context.js';
import { readDataConverter } from '../shared/data-converter.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { type GlobalOptions, positive, reachTimeoutMs } from '../shared/options.js';
import { output, writeStderrSync } from '../shared/output.js';
import { warnOfReadableSecrets } from '../shared/secret-warnings.js';
import { readSettings } from '../shared/settings.js';
import { readTraces } from '../shared/traces.js';
import { UsageError } from '../shared/usage-error.js';
import { type DeploymentOptions, readDeployment } from './deployment.js';
import { type HealthServer, readHealth, startHealthServer } from './health.js';
import { readMetricsAddress, startMetrics } from './metrics-address.js';
import { installRuntime, LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevelName } from './runtime.js';

export interface WorkerCommandOptions extends GlobalOptions, DeploymentOptions {
  readonly logFormat: string;
  readonly logLevel: string;
  readonly metrics?: string;
  readonly maxActivities?: string;
  readonly maxCachedWorkflows?: string;
  /** Address of `/healthz` and `/readyz`. */
  readonly health?: string;
}

/**
 * V8's default lets the heap double between collections, which costs a worker about a hundred megabytes. In percent of
 * the heap in use.
 */
const HEAP_GROWING_PERCENT = 50;

/** `worktrack worker`: runs until SIGTERM or Ctrl-C, then drains; a second signal stops it immediately. */
export async function runWorker(options: WorkerCommandOptions): Promise<ExitCode> {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
  const format = oneOf<LogFormat>('--log-format', options.logFormat, LOG_FORMATS);
  const level = oneOf<LogLevelName>('--log-level', options.logLevel, LOG_LEVELS);
  const limits = {
    maxConcurrentActivities: optional('--max-activities', options.maxActivities),
    maxCachedWorkflows: optional('--max-cached-workflows', options.maxCachedWorkflows),
  };
  const listen = options.health === undefined ? null : readHealth(options.health);
  const metrics = readMetricsAddress(options.metrics);
  const deployment = readDeployment(options, process.env);
  const dataConverter = await readDataConverter(options);
  const settings = readSettings(options);
  const place = temporalTarget(options);
  const { taskQueue } = options;
  await warnOfReadableSecrets(settings.connections);
  const logger = startMetrics(metrics, () => installRuntime({ format, level, metrics }));
  const traces = await readTraces(options, (message) => logger.warn(message));
  const traced = traces === null ? {} : { worker: traces.worker };
  const stopping = new AbortController();
  const release = listenForStop(stopping);
  let worker: WorktrackWorker | null = null;
  const state = (): WorkerState => (stopping.signal.aborted ? 'draining' : (worker?.state ?? 'connecting'));
  let health: HealthServer | null = null;
  try {
    // Starts before Temporal is reached, so that an orchestrator does not kill a worker that is still connecting.
    if (listen !== null) health = await startHealthServer(listen, state);
    if (health !== null) output.note(`Health on ${health.url}: GET /healthz, GET /readyz`);
    const created = await reach(
      `Temporal at ${place.address}`,
      () => createWorker({ ...place, taskQueue, settings, ...limits, deployment, dataConverter, ...traced }),
      (error) => !isDenied(error) && isTransport(error),
      grpcMessage,
      { timeoutMs: reachTimeoutMs(process.env), onOutage: output.note, signal: stopping.signal },
    );
    worker = created;
    if (format === 'text') announce(created, settings, deployment);
    if (stopping.signal.aborted) created.stop();
    else stopping.signal.addEventListener('abort', () => created.stop(), { once: true });
    await created.run();
    return EXIT.done;
  } catch (error) {
    // Stopped before it was connected: there is nothing to drain.
    if (stopping.signal.aborted && error instanceof Error && error.name === 'AbortError') return EXIT.done;
    throw toUserError(error, place);
  } finally {
    release();
    await health?.close();
    await traces?.close();
  }
}

function announce(
  worker: { taskQueue: string; namespace: string; address: string },
  settings: { connections: readonly { name: string; resources: readonly unknown[] }[] },
  deployment: DeploymentVersion | undefined,
): void {
  const { taskQueue, namespace, address } = worker;
  const served = settings.connections.map(({ name, resources }) => `${name} (${resources.length} resources)`);
  output.note(`Worker on task queue "${taskQueue}", namespace "${namespace}", Temporal at ${address}`);
  output.note(`Serving ${served.join(', ')}. SIGTERM or Ctrl-C drains the worker.`);
  if (deployment === undefined) return;
  const { deploymentName, buildId } = deployment;
  output.note(
    `Build ${buildId} of deployment ${deploymentName}. It receives tasks once it is the current version: temporal worker deployment set-current-version --deployment-name ${deploymentName} --build-id ${buildId}`,
  );
}

function optional(option: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : positive(option, text);
}

function listenForStop(stopping: AbortController): () => void {
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping.signal.aborted) {
      writeStderrSync(
        `${signal} again: stopping immediately. Other workers take over after the heartbeat timeout.`,
      );
      process.exit(EXIT.failed);
    }
    output.note(
      `${signal}: draining. Running activities save their position. A second signal stops immediately.`,
    );
    stopping.abort();
  };
  const signals = ['SIGTERM', 'SIGINT'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

/** The native client throws its own error class for an unreachable server. */
function isTransport(error: unknown): boolean {
  return (
    error instanceof Error &&
    (error.name === 'TransportError' || /connect|transport|timed? ?out/i.test(error.message))
  );
}

function oneOf<T extends string>(option: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === text);
  if (found !== undefined) return found;
  throw new UsageError(`${option} must be one of ${allowed.join(', ')}; found ${JSON.stringify(text)}`);
}
