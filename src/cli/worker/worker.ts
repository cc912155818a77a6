import { TransportError } from '@temporalio/worker';
import { configFingerprint } from '../../config/index.js';
import { parseBytes } from '../../core/bytes.js';
import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import { errorMessage, isAbort } from '../../core/errors.js';
import { reach } from '../../core/reach.js';
import type { Settings } from '../../core/settings.js';
import { VERSION } from '../../core/version.js';
import { worldReadableWarnings } from '../../doctor/secret.js';
import { grpcMessage, isDenied, isNamespaceMissing } from '../../temporal/client/grpc.js';
import {
  createWorker,
  type DeploymentVersion,
  type WorkerState,
  type WorktrackWorker,
} from '../../temporal/worker/worker.js';
import { temporalTarget, toUserError } from '../shared/context.js';
import { readDataConverter } from '../shared/data-converter.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { stopOnSignal } from '../shared/interrupt.js';
import { duration, type GlobalOptions, positive, reachTimeoutMs } from '../shared/options.js';
import { output } from '../shared/output.js';
import { readSettings } from '../shared/settings.js';
import { counted } from '../shared/text.js';
import { readTraces } from '../shared/traces.js';
import { UsageError } from '../shared/usage-error.js';
import { unreadableKeys } from './check-keys.js';
import { type DeploymentOptions, readDeployment } from './deployment.js';
import { type HealthServer, readHealth, startHealthServer } from './health.js';
import { readMetricsAddress, startMetrics } from './metrics-address.js';
import { reloadOnChange } from './reload.js';
import { installRuntime, type LogFormat, type LogLevelName } from './runtime.js';

export interface WorkerCommandOptions extends GlobalOptions, DeploymentOptions {
  readonly logFormat: LogFormat;
  readonly logLevel: LogLevelName;
  readonly metrics?: string;
  readonly maxActivities?: string;
  readonly maxActivityMemory?: string;
  readonly maxCachedWorkflows?: string;
  /** How long to stay without Temporal before the worker ends. */
  readonly giveUpAfter?: string;
  /** Address of `/healthz` and `/readyz`. */
  readonly health?: string;
  /** Loads the configuration file when it changes. */
  readonly watch?: boolean;
}

/**
 * `worktrack worker`: runs until SIGTERM or Ctrl-C, then drains; a second signal stops it immediately. SIGHUP loads the
 * configuration again.
 */
export async function runWorker(options: WorkerCommandOptions): Promise<ExitCode> {
  const { logFormat: format, logLevel: level } = options;
  const limits = {
    maxConcurrentActivities: optional('--max-activities', options.maxActivities),
    maxActivityMemoryBytes: optionalSize('--max-activity-memory', options.maxActivityMemory),
    maxCachedWorkflows: optional('--max-cached-workflows', options.maxCachedWorkflows),
  };
  const giveUpAfterMs =
    options.giveUpAfter === undefined
      ? undefined
      : duration('--give-up-after', options.giveUpAfter, '10m or 1h');
  const listen = options.health === undefined ? null : readHealth(options.health);
  const metrics = readMetricsAddress(options.metrics);
  const deployment = readDeployment(options, process.env);
  const dataConverter = await readDataConverter(options);
  const settings = readSettings(options);
  const place = temporalTarget(options);
  const { taskQueue } = options;
  const logger = startMetrics(metrics, () => installRuntime({ format, level, metrics }));
  if (format === 'json')
    output.note('starting a worker', 'info', startFields(options, place, settings, deployment));
  for (const warning of await worldReadableWarnings(settings.connections)) output.note(warning, 'warn');
  for (const { connection, error } of await unreadableKeys(settings.connections))
    logger.warn('the API key cannot be read, so runs of this connection fail', { connection, error });
  const traces = await readTraces(options, (message) => logger.warn(message));
  const traced = traces === null ? {} : { worker: traces.worker };
  const stop = stopOnSignal(
    'draining. Running activities save their position.',
    'Other workers take over after the heartbeat timeout.',
  );
  let worker: WorktrackWorker | null = null;
  let current = settings;
  // From here on, because SIGHUP without a handler ends a worker that is still connecting.
  const reloading = reloadOnChange({
    settings,
    read: () => readSettings(options),
    apply: (changed) => {
      current = changed;
      worker?.reload(changed);
    },
    onHangUp: () => void worker?.checkConnection(),
    watch: options.watch === true,
    logger,
  });
  const state = (): WorkerState => (stop.signal.aborted ? 'draining' : (worker?.state ?? 'connecting'));
  let health: HealthServer | null = null;
  try {
    // Starts before Temporal is reached, so that an orchestrator does not kill a worker that is still connecting.
    if (listen !== null) health = await startHealthServer(listen, state);
    if (health !== null) output.note(`Health on ${health.url}: GET /healthz, GET /readyz`);
    const created = await reach(
      `Temporal at ${place.address}`,
      () =>
        createWorker({
          ...{ address: options.address, namespace: options.namespace, taskQueue, settings, ...limits },
          ...{ giveUpAfterMs, deployment, dataConverter, ...traced },
        }),
      (error) => !isDenied(error) && !isNamespaceMissing(error) && isTransport(error),
      grpcMessage,
      {
        timeoutMs: reachTimeoutMs(process.env),
        onOutage: (message) => output.note(message, 'warn'),
        signal: stop.signal,
      },
    );
    worker = created;
    if (current !== settings) created.reload(current);
    if (format === 'text') announce(created, current, deployment);
    if (stop.signal.aborted) created.stop();
    else stop.signal.addEventListener('abort', () => created.stop(), { once: true });
    await created.run();
    return EXIT.done;
  } catch (error) {
    // Stopped before it was connected: there is nothing to drain.
    if (stop.signal.aborted && isAbort(error)) return EXIT.done;
    throw toUserError(error, place);
  } finally {
    reloading.close();
    stop.release();
    await health?.close();
    await traces?.close();
  }
}

/** Connections in the greeting, so that it fits on a terminal. */
const MAX_NAMED = 5;

/** What the first line of the log says about this worker. */
function startFields(
  { taskQueue = DEFAULT_TASK_QUEUE }: WorkerCommandOptions,
  { address, namespace }: { readonly address: string; readonly namespace: string },
  { connections }: Settings,
  deployment: DeploymentVersion | undefined,
) {
  return {
    version: VERSION,
    taskQueue,
    namespace,
    address,
    ...deployment,
    connections: connections.map((connection) => ({
      name: connection.name,
      resources: connection.resources.map(({ name }) => name),
      fingerprint: configFingerprint(connection),
    })),
  };
}

function announce(
  worker: { taskQueue: string; namespace: string; address: string },
  settings: { connections: readonly { name: string; resources: readonly unknown[] }[] },
  deployment: DeploymentVersion | undefined,
): void {
  const { taskQueue, namespace, address } = worker;
  const named = settings.connections.slice(0, MAX_NAMED);
  const served = named.map(({ name, resources }) => `${name} (${counted(resources.length, 'resource')})`);
  const others = settings.connections.length - named.length;
  if (others > 0) served.push(`and ${counted(others, 'other connection')}`);
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

function optionalSize(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    return parseBytes(text);
  } catch (error) {
    throw new UsageError(`${option}: ${errorMessage(error)}`);
  }
}

/** The native client throws its own error class for an unreachable server. */
function isTransport(error: unknown): boolean {
  return error instanceof TransportError || /connect|transport|timed? ?out/i.test(errorMessage(error));
}
