import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import type { LakeSettings } from '../../../core/settings.js';

/** An idle time-out: long enough for a busy store to complete a large upload, short enough for a dead peer. */
const SOCKET_TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 5_000;
const MAX_SOCKETS = 64;
/** Waits of at most 0.1 to 1.6 s between attempts, about 3 s in all; what lasts longer is for Temporal's retries. */
const MAX_ATTEMPTS = 6;

export interface S3Clients {
  readonly client: S3Client;
  /** For conditional writes: a repeated one would meet its own first attempt and take it for a conflict. */
  readonly onceClient: S3Client;
  /** Has the credentials read again: the SDK trusts the time that came with them, and keeps those without one for ever. */
  renewCredentials(): void;
  close(): void;
}

/**
 * Clients of the AWS SDK with its own ways of finding credentials and region (environment, profile, container,
 * instance), connections kept alive and shared by both, time-outs, and CRC32 on every request and answer.
 */
export function createS3Clients(lake: LakeSettings): S3Clients {
  const agentOptions = { keepAlive: true, maxSockets: MAX_SOCKETS };
  const httpAgent = new HttpAgent(agentOptions);
  const httpsAgent = new HttpsAgent(agentOptions);
  const common = {
    ...(lake.endpoint === undefined ? {} : { endpoint: lake.endpoint }),
    ...regionOf(lake),
    ...(lake.forcePathStyle === undefined ? {} : { forcePathStyle: lake.forcePathStyle }),
    retryMode: 'standard',
    requestChecksumCalculation: 'WHEN_SUPPORTED',
    responseChecksumValidation: 'WHEN_SUPPORTED',
    requestHandler: {
      // Agents of our own also keep their connections for bodies with `Expect: 100-continue`.
      httpAgent,
      httpsAgent,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
    },
  } satisfies S3ClientConfig;
  const client = new S3Client({ ...common, maxAttempts: MAX_ATTEMPTS });
  const onceClient = new S3Client({ ...common, maxAttempts: 1, credentials: client.config.credentials });
  return {
    client,
    onceClient,
    renewCredentials() {
      // Who needs them next learns why there are none.
      client.config.credentials({ forceRefresh: true }).catch(() => {});
    },
    close() {
      client.destroy();
      onceClient.destroy();
      httpAgent.destroy();
      httpsAgent.destroy();
    },
  };
}

/** Stores that are not AWS rarely care for a region, but a signature needs one. */
function regionOf(lake: LakeSettings): { region?: string } {
  if (lake.region !== undefined) return { region: lake.region };
  const inEnvironment = process.env.AWS_REGION ?? process.env.AWS_DEFAULT_REGION;
  return lake.endpoint !== undefined && !inEnvironment && !process.env.AWS_PROFILE
    ? { region: 'us-east-1' }
    : {};
}
