import { Client, type ClientInterceptors, Connection, type DataConverter } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';

export type { DataConverter };

/** A server that comes back is seen after this: gRPC's own pause between attempts grows to two minutes, ms. */
const MOST_RECONNECT_BACKOFF = 5_000;

/** A client with its connection, configured the way Temporal's own tools are (DESIGN 4). */
export interface TemporalClient {
  readonly client: Client;
  readonly namespace: string;
  readonly address: string;
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** Overrides what the environment and the profile say. */
  readonly address?: string | undefined;
  readonly namespace?: string | undefined;
  /** Converters and codecs (encryption, say); clients and workers must have the same. Default: the SDK's, plain JSON. */
  readonly dataConverter?: DataConverter | undefined;
}

export interface ClientConnectOptions extends ConnectOptions {
  /** Of the client, such as those of a tracing library. */
  readonly interceptors?: ClientInterceptors | undefined;
}

/** Address, namespace, TLS and API key from `TEMPORAL_*` and the profile, for clients and workers alike. */
export function temporalConfig(options: ConnectOptions = {}) {
  const { connectionOptions, namespace } = loadClientConnectConfig();
  return {
    connectionOptions: {
      ...connectionOptions,
      address: options.address ?? connectionOptions.address ?? 'localhost:7233',
    },
    namespace: options.namespace ?? namespace ?? 'default',
  };
}

/** @throws ServiceError of the SDK when the server cannot be reached */
export async function connectTemporal(options: ClientConnectOptions = {}): Promise<TemporalClient> {
  const { connectionOptions, namespace } = temporalConfig(options);
  const connection = await Connection.connect({
    ...connectionOptions,
    channelArgs: { 'grpc.max_reconnect_backoff_ms': MOST_RECONNECT_BACKOFF },
  });
  const { dataConverter, interceptors } = options;
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

/** For applications that have a client of the SDK already; closing its connection stays their business. */
export function temporalClientOf(client: Client): TemporalClient {
  const { options } = client.connection as Partial<Connection>;
  return {
    client,
    namespace: client.options.namespace,
    address: options?.address ?? 'an address of the application',
    close: async () => {},
  };
}
