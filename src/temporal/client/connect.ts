import {
  Client,
  type ClientInterceptors,
  Connection,
  type ConnectionLike,
  type DataConverter,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { NativeConnectionOptions } from '@temporalio/worker';
import { ConfigurationError } from '../../core/errors.js';
import { grpcProxyFor } from '../../core/proxy.js';
import { checkEnvironment, checkedSecret } from '../../core/secrets.js';
import { isRefusedPoll, statusCompleter } from './grpc.js';

/** As of gRPC, which is a dependency of the SDK's client only. */
type GrpcInterceptor = ReturnType<typeof makeGrpcRetryInterceptor>;

type ProxyConfig = NonNullable<NativeConnectionOptions['proxy']>;

export type { DataConverter };

/** Maximum pause between reconnect attempts. gRPC's default grows to two minutes. */
const MAX_RECONNECT_BACKOFF_MS = 5_000;

/** A client and its connection, configured like Temporal's own tools (docs/reference/configuration.md). */
export interface TemporalClient {
  readonly client: Client;
  readonly namespace: string;
  readonly address: string;
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** Overrides the environment and the profile. */
  readonly address?: string | undefined;
  readonly namespace?: string | undefined;
  /** Converters and codecs, for example for encryption. Clients and workers must use the same. Default: plain JSON. */
  readonly dataConverter?: DataConverter | undefined;
}

export interface ClientConnectOptions extends ConnectOptions {
  /** Client interceptors, such as those of a tracing library. */
  readonly interceptors?: ClientInterceptors | undefined;
}

/** What `temporalConfig` reads. */
export type TemporalConfig = ReturnType<typeof temporalConfig>;

/** Address, namespace, TLS and API key from `TEMPORAL_*` and the profile, for clients and workers alike. */
export function temporalConfig(options: Pick<ConnectOptions, 'address' | 'namespace'> = {}) {
  checkEnvironment('TEMPORAL_');
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const address = options.address ?? connectionOptions.address ?? 'localhost:7233';
  checkAddress(address, options.address === undefined);
  return {
    connectionOptions: { ...connectionOptions, ...apiKeyOf(connectionOptions), address },
    namespace: options.namespace ?? namespace ?? 'default',
  };
}

/** A host, with or without a port; a host with colons is in brackets (RFC 3986, section 3.2.2). */
const ADDRESS = /^(?:\[[0-9a-fA-F:.]+\]|[^\s"'`/:?#@[\]]+)(?::\d{1,5})?$/;

/** @throws ConfigurationError that says where an address comes from if it is none */
function checkAddress(address: string, isConfigured: boolean): void {
  if (ADDRESS.test(address)) return;
  const source = process.env.TEMPORAL_ADDRESS === address ? 'TEMPORAL_ADDRESS' : "Temporal's profile";
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? ', without a scheme' : '';
  throw new ConfigurationError(
    `${isConfigured ? source : '--address'} does not hold the address of a Temporal server: found ${JSON.stringify(address)}`,
    { remedy: `Set it to host:port, such as temporal.example.com:7233${scheme}.` },
  );
}

/** The API key as headers can carry it. gRPC would repeat a key that they cannot carry in its message. */
function apiKeyOf({ apiKey }: NativeConnectionOptions): Pick<NativeConnectionOptions, 'apiKey'> {
  if (typeof apiKey !== 'string' || apiKey === '') return {};
  return { apiKey: checkedSecret(apiKey, "The API key in Temporal's profile") };
}

/**
 * Connects to Temporal as Temporal's own tools do: `TEMPORAL_*` variables, a profile, or `options`.
 *
 * @throws ServiceError of the SDK if the server cannot be reached
 * @example
 * const temporal = await connectTemporal();
 * try {
 *   await startExport(temporal, { connection: 'acme' });
 * } finally {
 *   await temporal.close();
 * }
 */
export function connectTemporal(options: ClientConnectOptions = {}): Promise<TemporalClient> {
  return openClient(temporalConfig(options), options);
}

/** Connects with a configuration that has been read. */
export async function openClient(
  { connectionOptions, namespace }: TemporalConfig,
  { dataConverter, interceptors }: Pick<ClientConnectOptions, 'dataConverter' | 'interceptors'>,
): Promise<TemporalClient> {
  const connection = await Connection.connect({
    ...connectionOptions,
    interceptors: [repeatAndComplete],
    channelArgs: {
      'grpc.max_reconnect_backoff_ms': MAX_RECONNECT_BACKOFF_MS,
      ...proxyArgs(connectionOptions.address),
    },
  });
  return {
    client: new Client({
      connection,
      namespace,
      ...(dataConverter === undefined ? {} : { dataConverter }),
      ...(interceptors === undefined ? {} : { interceptors }),
    }),
    namespace,
    address: connectionOptions.address,
    close: () => connection.close(),
  };
}

const REPEATS = defaultGrpcRetryOptions();

/**
 * The client's own repetition of calls, whose errors also name a limit and the method that was denied. A call whose deadline passes
 * before the next attempt ends with the status of the last one, and not with that of the deadline, seconds after it.
 */
const repeatAndComplete: GrpcInterceptor = (options, nextCall) => {
  const complete = statusCompleter(options.method_definition.path);
  const deadline = Number(options.deadline ?? Number.POSITIVE_INFINITY);
  const interceptor = makeGrpcRetryInterceptor({
    ...REPEATS,
    retryableDecider(attempt, status) {
      const repeats =
        REPEATS.retryableDecider(attempt, status) &&
        Date.now() + REPEATS.delayFunction(attempt, status) < deadline;
      complete(status);
      return repeats;
    },
  });
  return interceptor(options, nextCall);
};

/**
 * Makes gRPC follow the same rule for proxies as all other connections. By itself, it reads only lower-case variables, and
 * it would send connections to this machine through the proxy.
 */
function proxyArgs(address: string): Record<string, number> {
  const proxy = grpcProxyFor(address);
  if (proxy === null) return { 'grpc.enable_http_proxy': 0 };
  // The only way to name a proxy. No other library reads this variable.
  process.env.grpc_proxy = proxy.url;
  return {};
}

/** The proxy of a worker's connection, whose core reads no variables. */
export function workerProxy(address: string): { proxy?: ProxyConfig } {
  const proxy = grpcProxyFor(address);
  if (proxy === null) return {};
  const { username, password, hostname, port } = new URL(proxy.url);
  return {
    proxy: {
      type: 'http-connect',
      targetHost: `${hostname}:${port || 80}`,
      ...(username === ''
        ? {}
        : { basicAuth: { username: decodeURIComponent(username), password: decodeURIComponent(password) } }),
    },
  };
}

/**
 * Wraps an existing SDK client. The caller still closes its connection.
 *
 * @example
 * const temporal = temporalClientOf(new Client());
 * const workflowId = await startExport(temporal, { connection: 'acme' });
 */
export function temporalClientOf(client: Client): TemporalClient {
  const { options } = client.connection as Partial<Connection>;
  return {
    client,
    namespace: client.options.namespace,
    address: options?.address ?? 'an unknown address',
    close: async () => {},
  };
}

/** Limits the time of a call. Without a limit, a query waits for a worker. */
export function withDeadline<T>(
  { client }: Pick<TemporalClient, 'client'>,
  call: () => Promise<T>,
  timeoutMs = 4_000,
): Promise<T> {
  return client.connection.withDeadline(Date.now() + timeoutMs, call);
}

/** Makes a call to the server, and may repeat it, such as until the server answers. */
export type RepeatCall = <T>(call: () => Promise<T>) => Promise<T>;

export const callOnce: RepeatCall = (call) => call();

/** Longest wait for the description of the namespace, in milliseconds. */
const DESCRIBED_WITHIN_MS = 4_000;
/** The server answers an idle poll two seconds before the deadline, and rejects a shorter one. */
const POLLED_WITHIN_MS = 3_000;

/**
 * Checks that Temporal answers on a connection, has the namespace, and lets the holder read it.
 *
 * @throws the SDK's error
 */
export async function probeNamespace(
  connection: ConnectionLike,
  namespace: string,
  timeoutMs = DESCRIBED_WITHIN_MS,
): Promise<void> {
  await connection.withDeadline(Date.now() + timeoutMs, () =>
    connection.workflowService.describeNamespace({ namespace }),
  );
}

/**
 * The same for a worker, which must also be allowed to poll. Credentials can lose that right alone. The poll is on a task
 * queue that has no tasks.
 *
 * @throws the SDK's error
 */
export async function probeWorker(
  connection: ConnectionLike,
  { namespace, taskQueue }: { readonly namespace: string; readonly taskQueue: string },
): Promise<void> {
  await probeNamespace(connection, namespace);
  try {
    await connection.withDeadline(Date.now() + POLLED_WITHIN_MS, () =>
      connection.workflowService.pollActivityTaskQueue({
        namespace,
        taskQueue: { name: `${taskQueue}/probe` },
        identity: 'temporal-worktrack probe',
      }),
    );
  } catch (error) {
    // A server that keeps the poll until its deadline has accepted it.
    if (isRefusedPoll(error)) throw error;
  }
}
