import type { RequestListener } from 'node:http';
import { TransportError } from '@temporalio/worker';
import { configFingerprint, readListen } from '../../config/index.js';
import { parseBytes } from '../../core/bytes.js';
import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import { type DeploymentVersion, upgradeCommand } from '../../core/deployment-version.js';
import { ConfigurationError, errorMessage, isAbort } from '../../core/errors.js';
import { reach } from '../../core/reachability.js';
import { resolveSecret } from '../../core/secrets.js';
import type { ConnectionSettings, Settings } from '../../core/settings.js';
import { systemCause } from '../../core/system-error.js';
import { VERSION } from '../../core/version.js';
import { worldReadableWarnings } from '../../doctor/check-secrets.js';
import { isDenied, isNamespaceMissing, outageReason } from '../../temporal/client/grpc.js';
import {
  createWorker,
  type WorkerState,
  type WorktrackWorker,
  workflowBundleOf,
} from '../../temporal/worker/worker.js';
import { startWebhookServer, type WebhookServer } from '../../webhook/index.js';
import { EXIT, type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import {
  durationOption,
  type GlobalOptions,
  parsed,
  positive,
  reachTimeoutMs,
} from '../shared/command-options.js';
import { readDataConverter, readTraces, temporalTarget, toUserError } from '../shared/context.js';
import { readSettings } from '../shared/each-connection.js';
import { stopOnSignal } from '../shared/interrupt.js';
import { counted, output } from '../shared/output.js';
import { reloadOnChange } from './reload.js';
import { installRuntime, type LogFormat, type LogLevelName } from './runtime.js';

interface WorkerCommandOptions extends GlobalOptions {
  readonly logFormat: LogFormat;
  readonly logLevel: LogLevelName;
  readonly metrics?: string;
  readonly maxActivities?: string;
  readonly maxActivityMemory?: string;
  readonly maxCachedWorkflows?: string;
  readonly giveUpAfter?: string;
  readonly health?: string;
  readonly watch?: boolean;
  readonly deploymentName?: string;
  readonly buildId?: string;
}

/**
 * `worktrack worker`: runs until SIGTERM or Ctrl-C, then drains; a second signal stops it immediately. SIGHUP loads the
 * configuration again.
 */
export async function runWorker(options: WorkerCommandOptions): Promise<ExitCode> {
  const { logFormat: format, logLevel: level } = options;
  const { maxActivities, maxActivityMemory, maxCachedWorkflows, giveUpAfter, health: at } = options;
  const limits = {
    maxConcurrentActivities: given(maxActivities, (text) => positive('--max-activities', text)),
    maxActivityMemoryBytes: given(maxActivityMemory, (text) =>
      parsed('--max-activity-memory', text, parseBytes),
    ),
    maxCachedWorkflows: given(maxCachedWorkflows, (text) => positive('--max-cached-workflows', text)),
    giveUpAfterMs: given(giveUpAfter, (text) => durationOption('--give-up-after', text, '10m or 1h')),
  };
  const listen = given(at, readHealth);
  const metrics = given(options.metrics, (text) => parsed('--metrics', text, metricsAddress));
  const deployment = readDeployment(options, process.env);
  const dataConverter = await readDataConverter(options);
  const settings = readSettings(options);
  const place = temporalTarget(options);
  const { taskQueue } = options;
  const logger = startRuntime({ format, level, metrics });
  if (format === 'json')
    output.note('starting a worker', 'info', startFields(options, place, settings, deployment));
  for (const warning of await worldReadableWarnings(settings.connections)) output.note(warning, 'warn');
  for (const { connection, error } of await unreadableKeys(settings.connections))
    logger.warn('the API key cannot be read, so runs of this connection fail', { connection, error });
  const traces = await readTraces(options, (message) => logger.warn(message));
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
  let health: WebhookServer | null = null;
  try {
    // Starts before Temporal is reached, so that an orchestrator does not kill a worker that is still connecting.
    if (listen !== undefined) health = await startHealthServer(listen, state);
    if (health !== null) output.note(`Health on ${health.url}: GET /healthz, GET /readyz`);
    // Only the connection has a limit of time.
    const workflowBundle = await workflowBundleOf({ deployment, dataConverter, worker: traces?.worker });
    const create = () =>
      createWorker({
        ...{ address: options.address, namespace: options.namespace, taskQueue, settings, ...limits },
        ...{ deployment, dataConverter, worker: { ...traces?.worker, workflowBundle } },
      });
    const onOutage = (message: string): void => output.note(message, 'warn');
    const reaching = { timeoutMs: reachTimeoutMs(process.env), onOutage, signal: stop.signal };
    const created = await reach(`Temporal at ${place.address}`, create, isOutage, outageReason, reaching);
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
  { taskQueue, namespace, address }: WorktrackWorker,
  { connections }: Settings,
  deployment: DeploymentVersion | undefined,
): void {
  const named = connections.slice(0, MAX_NAMED);
  const served = named.map(({ name, resources }) => `${name} (${counted(resources.length, 'resource')})`);
  const others = connections.length - named.length;
  if (others > 0) served.push(`and ${counted(others, 'other connection')}`);
  output.note(`Worker on task queue "${taskQueue}", namespace "${namespace}", Temporal at ${address}`);
  output.note(`Serving ${served.join(', ')}. SIGTERM or Ctrl-C drains the worker.`);
  if (deployment === undefined) return;
  const { deploymentName, buildId } = deployment;
  output.note(
    `Build ${buildId} of deployment ${deploymentName}. It receives tasks once it is the current version: ${upgradeCommand(deployment)}`,
  );
}

function isOutage(error: unknown): boolean {
  if (isDenied(error) || isNamespaceMissing(error)) return false;
  // The native client throws its own error class for an unreachable server.
  return error instanceof TransportError || /connect|transport|timed? ?out/i.test(errorMessage(error));
}

/**
 * The connections whose API key cannot be read. A worker that could not run anything must not look healthy; a worker of
 * several connections serves the others.
 *
 * @throws ConfigurationError if no key can be read
 */
async function unreadableKeys(connections: readonly ConnectionSettings[]) {
  const found: { readonly connection: string; readonly error: unknown }[] = [];
  for (const { name, apiKey } of connections)
    await resolveSecret(apiKey, { path: `connections.${name}.apiKey` }).catch((error: unknown) =>
      found.push({ connection: name, error }),
    );
  if (found.length > 0 && found.length === connections.length) throw found[0]!.error;
  return found.map(({ connection, error }) => ({ connection, error: errorMessage(error) }));
}

/**
 * The deployment version of a worker, from its options or `WORKTRACK_DEPLOYMENT_NAME` and `WORKTRACK_BUILD_ID`;
 * `undefined` if neither is set, which turns versioning off.
 *
 * @throws UsageError if only one of the two is set
 */
export function readDeployment(
  options: Pick<WorkerCommandOptions, 'deploymentName' | 'buildId'>,
  env: Readonly<Record<string, string | undefined>>,
): DeploymentVersion | undefined {
  const deploymentName = options.deploymentName ?? (env.WORKTRACK_DEPLOYMENT_NAME || undefined);
  const buildId = options.buildId ?? (env.WORKTRACK_BUILD_ID || undefined);
  if (deploymentName === undefined && buildId === undefined) return undefined;
  if (deploymentName === undefined || buildId === undefined) {
    const [given, missing] =
      buildId === undefined ? ['deployment name', '--build-id'] : ['build id', '--deployment-name'];
    throw new UsageError(
      `a ${given} requires ${missing} too; pass both, or neither to run without versioning`,
    );
  }
  // The server joins the two with a dot.
  if (deploymentName.includes('.'))
    throw new UsageError(`--deployment-name must not contain "."; found ${JSON.stringify(deploymentName)}`);
  return { deploymentName, buildId };
}

function given<T>(text: string | undefined, parse: (text: string) => T): T | undefined {
  return text === undefined ? undefined : parse(text);
}

/** `--metrics` in the form that the SDK accepts: IP addresses only. @throws RangeError */
function metricsAddress(text: string): string {
  const { host, port } = readListen(text);
  const address = host === 'localhost' ? '127.0.0.1' : host;
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

/** @throws ConfigurationError if the metrics endpoint cannot listen on its address */
function startRuntime(log: Parameters<typeof installRuntime>[0]): ReturnType<typeof installRuntime> {
  try {
    return installRuntime(log);
  } catch (cause) {
    if (log.metrics === undefined) throw cause;
    const text = errorMessage(cause);
    const why = /address already in use/i.test(text) ? 'another process uses this port' : text;
    throw new ConfigurationError(`cannot serve metrics on ${log.metrics}: ${why}`, {
      remedy: 'Choose an unused address and port of this machine with --metrics.',
      cause,
    });
  }
}

/** Parses `--health`: a port on loopback, or a host and a port. @throws UsageError */
function readHealth(text: string): { host: string; port: number } {
  return parsed('--health', text, (address) =>
    readListen(/^\d+$/.test(address) ? `127.0.0.1:${address}` : address),
  );
}

/**
 * Answers `GET /healthz` with 200 while the process runs, and `GET /readyz` with 200 while the worker polls for tasks and
 * Temporal accepts it, otherwise with 503. The body contains the worker's state.
 *
 * @throws ConfigurationError if it cannot listen on the address
 */
async function startHealthServer(
  listen: { host: string; port: number },
  state: () => WorkerState,
): Promise<WebhookServer> {
  try {
    return await startWebhookServer({ listen, handle: answerWith(state), maxConnections: 64 });
  } catch (cause) {
    const why = systemCause(cause);
    throw new ConfigurationError(`cannot listen on ${listen.host}, port ${listen.port}: ${why}`, {
      remedy: 'Choose another address with --health.',
      cause,
    });
  }
}

function answerWith(state: () => WorkerState): RequestListener {
  return ({ method, url = '/' }, response) => {
    const path = url.split('?')[0];
    const known = path === '/healthz' || path === '/readyz';
    const now = state();
    const status = !known
      ? 404
      : method !== 'GET' && method !== 'HEAD'
        ? 405
        : path === '/readyz' && now !== 'polling'
          ? 503
          : 200;
    const body = status === 404 ? { message: 'GET /healthz or /readyz' } : { state: now };
    response.writeHead(status, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    });
    response.end(method === 'HEAD' ? undefined : `${JSON.stringify(body)}\n`);
  };
}
