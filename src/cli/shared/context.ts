import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ClientInterceptors, ScheduleNotFoundError, WorkflowFailedError } from '@temporalio/client';
import type { Millis } from '../../core/brands.js';
import { ConfigurationError, errorMessage, WorktrackError } from '../../core/errors.js';
import { OutOfReachError, partsOf, type ReachOptions, reach } from '../../core/reachability.js';
import {
  connectTemporal,
  type DataConverter,
  openClient,
  probeNamespace,
  type TemporalClient,
  temporalConfig,
  withDeadline,
} from '../../temporal/client/connect.js';
import {
  grpcMessage,
  isDenied,
  isNamespaceMissing,
  isUnreachable,
  outageReason,
} from '../../temporal/client/grpc.js';
import { KeptConnection, type KeptConnectionOptions } from '../../temporal/client/kept-connection.js';
import { isUndecodable, UNDECODABLE } from '../../temporal/client/payloads.js';
import type { Traces } from '../../temporal/worker/open-telemetry.js';
import { UsageError } from './choose-exit-code.js';
import { type GlobalOptions, reachTimeoutMs } from './command-options.js';
import { output } from './output.js';

type Target = Readonly<Record<'address' | 'namespace', string>>;

/** Temporal's address and namespace. @throws ConfigurationError for an unreadable profile or variable */
export function temporalTarget(options: GlobalOptions): Target {
  try {
    const { connectionOptions, namespace } = temporalConfig(options);
    return { address: connectionOptions.address, namespace };
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    throw new ConfigurationError(`Temporal's configuration cannot be read: ${grpcMessage(cause)}`, {
      remedy: 'Correct the TEMPORAL_* variables, or the profile file in TEMPORAL_CONFIG_FILE.',
      cause,
    });
  }
}

/** What a client needs apart from address and credentials. */
interface ClientOptions {
  readonly dataConverter: DataConverter | undefined;
  readonly interceptors: ClientInterceptors | undefined;
}

/**
 * Makes the first connection of a command, and retries until Temporal answers.
 *
 * @returns also the traces, which the caller closes after the connection
 * @throws OutOfReachError after `WORKTRACK_REACH_TIMEOUT`; ConfigurationError if it rejects the credentials
 */
async function reachFirst<T>(
  options: GlobalOptions,
  connect: (target: Target, client: ClientOptions) => Promise<T>,
  limits: ReachOptions = { timeoutMs: reachTimeoutMs(process.env), onOutage: output.note },
) {
  const target = temporalTarget(options);
  const dataConverter = await readDataConverter(options);
  const traces = await readTraces(options, output.note);
  const first = () => connect(target, { dataConverter, interceptors: clientInterceptors(traces) });
  const isOutage = (error: unknown): boolean => !isDenied(error);
  const reached = reach(`Temporal at ${target.address}`, first, isOutage, outageReason, limits);
  const connected = await reached.catch((error: unknown) => {
    throw toUserError(error, target);
  });
  return { connected, target, traces };
}

async function openTemporal(options: GlobalOptions, limits?: ReachOptions): Promise<TemporalClient> {
  const connect = (target: Target, client: ClientOptions) => connectTemporal({ ...target, ...client });
  const { connected, traces } = await reachFirst(options, connect, limits);
  return {
    ...connected,
    async close() {
      await connected.close();
      await traces?.close();
    },
  };
}

/** Time limit for Temporal in a command that also works without it. */
const OPTIONAL_TEMPORAL_TIMEOUT_MS = 4_000;

/** How a command that also works without Temporal connects to it. */
interface OptionalTemporal {
  /** Default: 4,000. */
  readonly timeoutMs?: Millis;
  /** Shows whether the server serves the namespace. Default: it describes the namespace, which costs one request. */
  readonly check?: (temporal: TemporalClient, timeoutMs: Millis) => Promise<void>;
}

/**
 * Runs the work of a command that also works with the lake alone. If Temporal is unreachable, or answers but does not serve
 * the namespace, it notes that and passes `null`.
 *
 * @param instead a sentence that says what the command shows without Temporal
 * @throws ConfigurationError if Temporal rejects the credentials, or has no such namespace
 */
export async function withOptionalTemporal<T>(
  options: GlobalOptions,
  instead: string,
  work: (temporal: TemporalClient | null) => Promise<T>,
  { timeoutMs: given = OPTIONAL_TEMPORAL_TIMEOUT_MS, check = describeOwnNamespace }: OptionalTemporal = {},
): Promise<T> {
  const timeoutMs = Math.min(given, reachTimeoutMs(process.env));
  const until = performance.now() + timeoutMs;
  const temporal = await openTemporal(options, { timeoutMs })
    .then((opened) => checked(opened, (one) => check(one, Math.max(until - performance.now(), MIN_CHECK_MS))))
    .catch((error: unknown) => {
      if (!(error instanceof OutOfReachError)) throw error;
      output.note(`${error.message}. ${instead}`);
      return null;
    });
  try {
    return await work(temporal);
  } finally {
    await temporal?.close();
  }
}

/** The check has this long even if connecting took almost all of the time. */
const MIN_CHECK_MS = 1_000;

/** To connect asks only for the server's version, which needs no namespace, no right on it and no database. */
function describeOwnNamespace({ client, namespace }: TemporalClient, timeoutMs: Millis): Promise<void> {
  return probeNamespace(client.connection, namespace, timeoutMs);
}

/** Closes a connection that cannot be used. @throws ConfigurationError; OutOfReachError for any other cause */
async function checked(
  temporal: TemporalClient,
  check: (temporal: TemporalClient) => Promise<void>,
): Promise<TemporalClient> {
  try {
    await check(temporal);
    return temporal;
  } catch (error) {
    await temporal.close();
    const known = toUserError(error, temporal);
    throw known instanceof WorktrackError ? known : outOfReach(error, temporal);
  }
}

/** An attempt ends before the time limit, so that its error has the server's reason. */
const ATTEMPT_SHARE = 0.75;

/** Repeats calls until Temporal answers. @param timeoutMs default: `WORKTRACK_REACH_TIMEOUT`. @throws OutOfReachError */
export function reachTemporal<T>(
  temporal: TemporalClient,
  calls: () => Promise<T>,
  timeoutMs: Millis = reachTimeoutMs(process.env),
): Promise<T> {
  const attempt = () => withDeadline(temporal, calls, ATTEMPT_SHARE * timeoutMs);
  const options = { timeoutMs, onOutage: output.note };
  return reach(`Temporal at ${temporal.address}`, attempt, isUnreachable, outageReason, options);
}

/** Runs a command's work with a client. Converts errors that the user can fix to ConfigurationError. */
export async function withTemporal<T>(
  options: GlobalOptions,
  work: (temporal: TemporalClient) => Promise<T>,
): Promise<T> {
  const temporal = await openTemporal(options);
  try {
    return await orUserError(temporal, () => work(temporal));
  } finally {
    await temporal.close();
  }
}

/** The same for a command that runs until it is stopped: its connection is probed and renewed, as a worker's is. */
export async function withKeptTemporal<T>(
  options: GlobalOptions,
  holder: string,
  log: KeptConnectionOptions<TemporalClient>['log'],
  work: (temporal: TemporalClient) => Promise<T>,
): Promise<T> {
  const connect = ({ namespace }: Target, client: ClientOptions) =>
    KeptConnection.open<TemporalClient>({
      holder,
      read: () => temporalConfig(options),
      connect: (config) => openClient(config, client),
      probe: (temporal) => probeNamespace(temporal.client.connection, namespace),
      close: (temporal) => temporal.close(),
      log,
    });
  const { connected: kept, target, traces } = await reachFirst(options, connect);
  kept.start();
  try {
    return await work({
      get client() {
        return kept.current.client;
      },
      get address() {
        return kept.address;
      },
      namespace: target.namespace,
      close: async () => {},
    });
  } catch (error) {
    throw toUserError(error, target);
  } finally {
    await kept.close();
    await traces?.close();
  }
}

/** Runs work with Temporal, such as that on one of several connections. @throws what `toUserError` returns */
export async function orUserError<T>(target: Target, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toUserError(error, target);
  }
}

/** An outage as the user reads it, with the server's reason and what to do. */
function outOfReach(error: unknown, { address }: Pick<Target, 'address'>): OutOfReachError {
  const { text, remedy } = partsOf(outageReason(error));
  return new OutOfReachError(`Temporal at ${address} is unreachable: ${text}`, remedy);
}

/** Converts an error of Temporal that the user can fix, or that means an outage; returns any other error unchanged. */
export function toUserError(error: unknown, target: Target): unknown {
  if (error instanceof ConfigurationError) return error;
  if (error instanceof ScheduleNotFoundError) {
    return new ConfigurationError('There is no schedule yet; create it with `worktrack schedule apply`');
  }
  if (isDenied(error)) {
    const { apiKey, tls } = temporalConfig().connectionOptions;
    const hasCredentials =
      apiKey !== undefined || (typeof tls === 'object' && tls?.clientCertPair !== undefined);
    const [what, remedy] = hasCredentials
      ? [
          `Temporal at ${target.address} rejected the credentials`,
          'Correct TEMPORAL_API_KEY or the TLS certificate, and check that it has access to the namespace.',
        ]
      : [
          `Temporal at ${target.address} requires credentials, and none are configured`,
          'Set TEMPORAL_API_KEY, or a TLS certificate, or TEMPORAL_PROFILE.',
        ];
    return new ConfigurationError(`${what}: ${grpcMessage(error)}`, { remedy, cause: error });
  }
  if (isNamespaceMissing(error)) {
    return new ConfigurationError(`Temporal at ${target.address} has no namespace "${target.namespace}"`, {
      remedy: 'Correct TEMPORAL_NAMESPACE or --namespace, or create the namespace.',
      cause: error,
    });
  }
  if (isUndecodable(errorMessage(error))) {
    const remedy =
      'Give the command the same --data-converter (or $WORKTRACK_DATA_CONVERTER) and the same keys as the workers. What it started continues.';
    return new ConfigurationError(`A payload cannot be read: ${errorMessage(error)}`, {
      remedy,
      cause: error,
    });
  }
  // The failure of a workflow came from a server that answered, whatever its words are.
  const isAnswer = error instanceof WorktrackError || error instanceof WorkflowFailedError;
  return !isAnswer && isUnreachable(error) ? outOfReach(error, target) : error;
}

const KEYS = ['payloadCodecs', 'payloadConverterPath', 'failureConverterPath', 'externalStorage'];

/**
 * Loads the user's data converter: the export `dataConverter` (or default) of the module that `--data-converter` or
 * `$WORKTRACK_DATA_CONVERTER` names; `undefined` if neither is set.
 *
 * @throws UsageError if it cannot be loaded or is not a data converter
 */
export async function readDataConverter(
  options: GlobalOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<DataConverter | undefined> {
  const file = options.dataConverter ?? (env.WORKTRACK_DATA_CONVERTER || undefined);
  if (file === undefined) return undefined;
  const origin = options.dataConverter === undefined ? '$WORKTRACK_DATA_CONVERTER' : '--data-converter';
  const loaded = await import(pathToFileURL(resolve(file)).href).catch((cause: unknown) => {
    throw new UsageError(`${file}, which ${origin} names, cannot be loaded: ${errorMessage(cause)}`);
  });
  const converter: unknown = loaded.dataConverter ?? loaded.default;
  if (typeof converter === 'object' && converter !== null && KEYS.some((key) => key in converter))
    return withNamedFailures(converter);
  throw new UsageError(
    `${file}, which ${origin} names, exports no data converter; it must export \`dataConverter\`, an object with ${KEYS.join(', ')}`,
  );
}

/** Makes the codecs of a converter say that they failed: their own words, such as those of a cipher, do not. */
function withNamedFailures(converter: DataConverter): DataConverter {
  const { payloadCodecs } = converter;
  if (payloadCodecs === undefined) return converter;
  return {
    ...converter,
    payloadCodecs: payloadCodecs.map((codec) => ({
      encode: (payloads) => codec.encode(payloads),
      decode: (payloads) =>
        codec.decode(payloads).catch((cause: unknown) => {
          throw new Error(`${UNDECODABLE}: ${errorMessage(cause)}`, { cause });
        }),
    })),
  };
}

/**
 * Sets up traces if `--traces` is set. Otherwise returns `null` and does not load OpenTelemetry.
 *
 * @throws ConfigurationError if a package is missing or a variable of OpenTelemetry is not valid
 */
export async function readTraces(
  { traces }: GlobalOptions,
  onWarning: (message: string) => void,
): Promise<Traces | null> {
  if (traces !== true) return null;
  const { openTraces } = await import('../../temporal/worker/open-telemetry.js');
  return openTraces(process.env, onWarning);
}

/** The interceptors of a client; `undefined` without traces. */
export function clientInterceptors(traces: Traces | null): ClientInterceptors | undefined {
  return traces === null ? undefined : { workflow: [...traces.client] };
}
