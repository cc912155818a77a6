import { setFlagsFromString } from 'node:v8';
import { grpcMessage, isDenied } from '../temporal/grpc.js';
import { reach } from '../temporal/reach.js';
import {
  createWorker,
  type DeploymentVersion,
  type WorkerState,
  type WorktrackWorker,
} from '../temporal/worker.js';
import { readSettings, temporalPlace, toUserError } from './context.js';
import { readDataConverter } from './data-converter.js';
import { type DeploymentOptions, readDeployment } from './deployment.js';
import { EXIT, type ExitCode } from './exit-code.js';
import { type HealthServer, readHealth, startHealthServer } from './health.js';
import { warnOfOpenKeys } from './key-warnings.js';
import { readMetricsAddress, startMetrics } from './metrics-address.js';
import { type GlobalOptions, positive, reachTimeoutMs } from './options.js';
import { lastWords, output } from './output.js';
import { installRuntime, LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevelName } from './runtime.js';
import { readTraces } from './traces.js';
import { UsageError } from './usage-error.js';

export interface WorkerCommandOptions extends GlobalOptions, DeploymentOptions {
  readonly logFormat: string;
  readonly logLevel: string;
  readonly metrics?: string;
  readonly maxActivities?: string;
  readonly maxCachedWorkflows?: string;
  /** Where to answer `/healthz` and `/readyz`. */
  readonly health?: string;
}

/**
 * V8 lets garbage double before it looks for it, which a worker that moves much data through little memory pays for with a
 * hundred megabytes. In percent of what is in use.
 */
const HEAP_GROWTH = 50;

/** `worktrack worker`: works until SIGTERM or Ctrl-C, then drains; a second signal ends it at once. */
export async function runWorker(options: WorkerCommandOptions): Promise<ExitCode> {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH}`);
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
  const place = temporalPlace(options);
  const { taskQueue } = options;
  await warnOfOpenKeys(settings.connections);
  const logger = startMetrics(metrics, () => installRuntime({ format, level, metrics }));
  const traces = await readTraces(options, (message) => logger.warn(message));
  const traced = traces === null ? {} : { worker: traces.worker };
  const stopping = new AbortController();
  const release = listenForStop(stopping);
  let worker: WorktrackWorker | null = null;
  const state = (): WorkerState => (stopping.signal.aborted ? 'draining' : (worker?.state ?? 'connecting'));
  let health: HealthServer | null = null;
  try {
    // Before Temporal is reached: an orchestrator must not take a patient worker for a dead one.
    if (listen !== null) health = await startHealthServer(listen, state);
    if (health !== null) output.note(`Health on ${health.url}: GET /healthz, GET /readyz`);
    const created = await reach(
      `Temporal at ${place.address}`,
      () => createWorker({ ...place, taskQueue, settings, ...limits, deployment, dataConverter, ...traced }),
      (error) => !isDenied(error) && isTransport(error),
      grpcMessage,
      { timeoutMs: reachTimeoutMs(process.env), onTrouble: output.note, signal: stopping.signal },
    );
    worker = created;
    if (format === 'text') announce(created, settings, deployment);
    if (stopping.signal.aborted) created.stop();
    else stopping.signal.addEventListener('abort', () => created.stop(), { once: true });
    await created.run();
    return EXIT.done;
  } catch (error) {
    // Told to stop before it had connected: there is nothing to drain.
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
  output.note(`Serves ${served.join(', ')}. SIGTERM or Ctrl-C drains it.`);
  if (deployment === undefined) return;
  const { deploymentName, buildId } = deployment;
  output.note(
    `Build ${buildId} of deployment ${deploymentName}; it gets work once it is current: temporal worker deployment set-current-version --deployment-name ${deploymentName} --build-id ${buildId}`,
  );
}

function optional(option: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : positive(option, text);
}

function listenForStop(stopping: AbortController): () => void {
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping.signal.aborted) {
      lastWords(`${signal} again: ending at once; other workers take over after the heartbeat time-out.`);
      process.exit(EXIT.failed);
    }
    output.note(`${signal}: draining; what is under way saves its position. A second signal ends at once.`);
    stopping.abort();
  };
  const signals = ['SIGTERM', 'SIGINT'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

/** The native client throws errors of its own class for a server that is not there. */
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
