import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { createRequire } from 'node:module';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { MINUTE_MS } from '../../../core/duration.js';
import { proxyFor, storeAddress } from '../../../core/proxy.js';
import type { LakeSettings } from '../../../core/settings.js';
import { accountCredentials, addAccountParameters } from './account.js';
import { allFeatures, type StoreFeatures } from './features.js';
import { reportLimits } from './limits.js';
import { sdk } from './sdk.js';

const require = createRequire(import.meta.url);

/** Idle timeout: long enough for a busy store to complete a large upload, short enough to detect a dead peer. */
const SOCKET_TIMEOUT_MS = MINUTE_MS;
const CONNECT_TIMEOUT_MS = 5_000;
/** Of all stores that share the clients. */
const MAX_SOCKETS = 256;
/** The SDK waits at most 0.1 to 1.6 s between attempts, about 3 s in total. Temporal retries longer outages. */
const MAX_ATTEMPTS = 6;

/** The clients of one or more stores. */
export interface S3Clients {
  readonly client: S3Client;
  /** A client without retries, for conditional writes: a retry would report its own first attempt as a conflict. */
  readonly singleAttemptClient: S3Client;
  /** What the store has turned out not to do. */
  readonly features: StoreFeatures;
  /** Makes the SDK read the credentials again. It otherwise keeps them until their expiry time, or forever without one. */
  renewCredentials(): void;
  close(): void;
}

/**
 * Creates the AWS SDK clients. The SDK finds credentials and region (environment, profile, container, instance). Both
 * clients share keep-alive connections and timeouts, and use CRC32 for requests and responses.
 *
 * @param features what earlier clients have found out about the store
 */
export function createS3Clients(lake: LakeSettings, features: StoreFeatures = allFeatures()): S3Clients {
  const agentOptions = { keepAlive: true, maxSockets: MAX_SOCKETS };
  const { httpAgent, httpsAgent } = createAgents(lake, agentOptions);
  const common = {
    ...(lake.endpoint === undefined ? {} : { endpoint: lake.endpoint }),
    ...regionOf(lake),
    ...accountCredentials(lake),
    ...(lake.forcePathStyle === undefined ? {} : { forcePathStyle: lake.forcePathStyle }),
    // After an answer such as 503 SlowDown, the SDK sends fewer requests, and more again as they succeed.
    retryMode: 'adaptive',
    requestChecksumCalculation: 'WHEN_SUPPORTED',
    responseChecksumValidation: 'WHEN_SUPPORTED',
    requestHandler: {
      // These agents also reuse connections for requests with `Expect: 100-continue`.
      httpAgent,
      httpsAgent,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
    },
  } satisfies S3ClientConfig;
  const client = new (sdk().S3Client)({ ...common, maxAttempts: MAX_ATTEMPTS });
  const singleAttemptClient = new (sdk().S3Client)({
    ...common,
    maxAttempts: 1,
    credentials: client.config.credentials,
  });
  // This middleware prepares log entries, and there is no logger.
  for (const one of [client, singleAttemptClient]) {
    one.middlewareStack.remove('loggerMiddleware');
    addAccountParameters(one, lake);
    reportLimits(one);
  }
  return {
    client,
    singleAttemptClient,
    features,
    renewCredentials() {
      // The next request fails with the reason.
      client.config.credentials({ forceRefresh: true }).catch(() => {});
    },
    close() {
      client.destroy();
      singleAttemptClient.destroy();
      httpAgent.destroy();
      httpsAgent.destroy();
    },
  };
}

/** Agents that connect directly or through the proxy of the environment (see `proxyFor`). The proxy only tunnels. */
function createAgents(
  lake: LakeSettings,
  options: { readonly keepAlive: boolean; readonly maxSockets: number },
): { httpAgent: HttpAgent; httpsAgent: HttpsAgent } {
  const proxy = proxyFor(storeAddress(lake));
  if (proxy === null) return { httpAgent: new HttpAgent(options), httpsAgent: new HttpsAgent(options) };
  // Loaded only where there is a proxy. `openStore` is synchronous, so this is no `import()`.
  const { HttpsProxyAgent } = require('https-proxy-agent') as typeof import('https-proxy-agent');
  // It tunnels connections to both kinds of addresses, with and without TLS.
  const agent = new HttpsProxyAgent(proxy.url, options);
  return { httpAgent: agent as HttpAgent, httpsAgent: agent as unknown as HttpsAgent };
}

/** The region from the configuration or environment. Other stores than AWS rarely use it, but a signature needs one. */
function regionOf(lake: LakeSettings): { region?: string } {
  if (lake.region !== undefined) return { region: lake.region };
  const inEnvironment = process.env.AWS_REGION ?? process.env.AWS_DEFAULT_REGION;
  return lake.endpoint !== undefined &&
    !inEnvironment &&
    !process.env.AWS_PROFILE &&
    lake.profile === undefined
    ? { region: 'us-east-1' }
    : {};
}
