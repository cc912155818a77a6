import { hash } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { MINUTE_MS } from '../../../core/duration.js';
import { rememberSecret } from '../../../core/known-secrets.js';
import { parseHttpDate } from '../../../core/parse-retry-after.js';
import { proxyFor, storeAddress } from '../../../core/proxy.js';
import { checkEnvironment } from '../../../core/secrets.js';
import type { LakeSettings } from '../../../core/settings.js';
import { signWithKnownDigests } from './body-digest.js';
import { credentialsOf } from './credentials.js';
import { sortMiddlewareOnce } from './middleware-order.js';
import { readAnswer, type S3Answer, wordsOf } from './s3-answer.js';
import { errorKind } from './s3-causes.js';
import { sdk } from './sdk.js';

/**
 * How large uploads are checked. `whole`: the store compares a CRC32 of the whole object. `parts`: it compares one for each
 * part. `none`: it accepts no checksums, so this process reads the object again.
 */
export type UploadChecksums = 'whole' | 'parts' | 'none';

/**
 * What a store has turned out not to do, so that each request is refused only once. All stores that share a client share
 * this. It begins with what AWS S3 does.
 */
export interface StoreFeatures {
  uploadChecksums: UploadChecksums;
  /** The search for the checksums that the store accepts, while it is in progress or after it has ended. */
  learning: Promise<UploadChecksums> | null;
  /** Whether it removes many objects with one request. */
  removesBatches: boolean;
  copies: boolean;
  /** Whether it, and a proxy in front of it, accepts `Expect: 100-continue`. */
  expects: boolean;
  readonly logged: Set<string>;
}

export function allFeatures(): StoreFeatures {
  return {
    ...{ uploadChecksums: 'whole', learning: null, removesBatches: true },
    ...{ copies: true, expects: true, logged: new Set() },
  };
}

const require = createRequire(import.meta.url);

/** Idle timeout: long enough for a busy store to complete a large upload, short enough to detect a dead peer. */
const SOCKET_TIMEOUT_MS = MINUTE_MS;
const CONNECT_TIMEOUT_MS = 5_000;
/** Of all stores that share the clients. */
const MAX_SOCKETS = 256;
/** The SDK waits at most 0.1 to 1.6 s between attempts, about 3 s in total. Temporal retries longer outages. */
const MAX_ATTEMPTS = 6;

/** A store's clock, as its responses show it. */
export interface StoreClock {
  /** As `ObjectStore.serverTime`. */
  now(): number | null;
}

export interface S3Clients {
  readonly client: S3Client;
  /** A client without retries, for conditional writes: a retry would report its own first attempt as a conflict. */
  readonly singleAttemptClient: S3Client;
  /** A client that adds no checksums by itself, for a store that accepts none. */
  unchecked(): S3Client;
  /** What the store has turned out not to do. */
  readonly features: StoreFeatures;
  readonly clock: StoreClock;
  /** Makes the SDK read the credentials again. It otherwise keeps them until their expiry time, or forever without one. */
  renewCredentials(): void;
  close(): void;
}

/**
 * Creates the AWS SDK clients. The SDK finds credentials and region (environment, profile, container, instance). All
 * clients share keep-alive connections and timeouts, and use CRC32 for requests and responses.
 *
 * @param features what earlier clients have found out about the store
 */
export function createS3Clients(lake: LakeSettings, features: StoreFeatures = allFeatures()): S3Clients {
  checkEnvironment('AWS_');
  const { httpAgent, httpsAgent } = createAgents(lake);
  const common = {
    ...(lake.endpoint === undefined ? {} : { endpoint: lake.endpoint }),
    ...regionOf(lake),
    ...(lake.profile === undefined ? {} : { profile: lake.profile }),
    credentials: credentialsOf(lake),
    ...(lake.forcePathStyle === undefined ? {} : { forcePathStyle: lake.forcePathStyle }),
    // After an answer such as 503 SlowDown, the SDK sends fewer requests, and more again as they succeed.
    retryMode: 'adaptive',
    requestChecksumCalculation: 'WHEN_SUPPORTED',
    // `streamObject` checks the bytes that it passes on. The SDK would compute the same checksum in one more stream.
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      // These agents also reuse connections for requests with `Expect: 100-continue`.
      httpAgent,
      httpsAgent,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
    },
  } satisfies S3ClientConfig;
  const clock = new ResponseClock();
  const create = (options: S3ClientConfig): S3Client => {
    const one = new (sdk().S3Client)({ ...common, maxAttempts: MAX_ATTEMPTS, ...options });
    // This middleware prepares log entries, and there is no logger.
    one.middlewareStack.remove('loggerMiddleware');
    addAccountParameters(one, lake);
    askForChecksums(one);
    signWithKnownDigests(one);
    rememberCredentials(one);
    repeatRaces(one);
    leaveOutExpect(one, features);
    reportLimits(one);
    clock.follow(one);
    sortMiddlewareOnce(one);
    return one;
  };
  const client = create({});
  const { credentials } = client.config;
  const singleAttemptClient = create({ maxAttempts: 1, credentials });
  let uncheckedClient: S3Client | null = null;
  return {
    client,
    singleAttemptClient,
    features,
    clock,
    unchecked() {
      uncheckedClient ??= create({ credentials, requestChecksumCalculation: 'WHEN_REQUIRED' });
      return uncheckedClient;
    },
    renewCredentials() {
      // The next request fails with the reason.
      client.config.credentials({ forceRefresh: true }).catch(() => {});
    },
    close() {
      client.destroy();
      singleAttemptClient.destroy();
      uncheckedClient?.destroy();
      httpAgent.destroy();
      httpsAgent.destroy();
    },
  };
}

/** Agents that connect directly or through the proxy of the environment (see `proxyFor`). The proxy only tunnels. */
function createAgents(lake: LakeSettings): { httpAgent: HttpAgent; httpsAgent: HttpsAgent } {
  const options = { keepAlive: true, maxSockets: MAX_SOCKETS };
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

/** Requests that create an object. UploadPart is not among them: AWS rejects its headers for encryption. */
const CREATING: ReadonlySet<string> = new Set([
  'PutObjectCommand',
  'CopyObjectCommand',
  'CreateMultipartUploadCommand',
]);

/** Objects that stay. All others are removed or replaced within hours, and other classes charge for 30 days or more. */
const LASTING = /(?:^|\/)(?:snapshots|changes|table)\//;

type Parameters = Readonly<Record<string, unknown>>;

/**
 * The parameters that a company's bucket can require of a request (https://docs.aws.amazon.com/AmazonS3/latest/API): the
 * expected owner and the payer of every request; encryption, ACL, tags and storage class of every new object.
 *
 * @param command name of the SDK's command, such as `PutObjectCommand`
 * @param key key of the object in the bucket; absent: the request is not about one object
 */
export function accountParameters(lake: LakeSettings, command: string, key: string | undefined): Parameters {
  const isCopy = command === 'CopyObjectCommand' || command === 'UploadPartCopyCommand';
  const owner = lake.expectedBucketOwner;
  return {
    ...(lake.requesterPays === true ? { RequestPayer: 'requester' } : {}),
    ...(owner === undefined ? {} : { ExpectedBucketOwner: owner }),
    ...(owner === undefined || !isCopy ? {} : { ExpectedSourceBucketOwner: owner }),
    ...(CREATING.has(command) ? objectParameters(lake, command, key ?? '') : {}),
  };
}

function objectParameters(lake: LakeSettings, command: string, key: string): Parameters {
  const { encryption, storageClass, acl } = lake;
  const tags = Object.entries(lake.tags ?? {});
  return {
    ...(encryption === undefined
      ? {}
      : encryption === 'sse-s3'
        ? { ServerSideEncryption: 'AES256' }
        : { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: encryption.kmsKey }),
    ...(acl === undefined ? {} : { ACL: acl }),
    ...(storageClass === undefined || !LASTING.test(key) ? {} : { StorageClass: storageClass }),
    ...(tags.length === 0
      ? {}
      : {
          Tagging: tags.map((pair) => pair.map(encodeURIComponent).join('=')).join('&'),
          // Otherwise a copy has the tags of its source, which may be older than the setting.
          ...(command === 'CopyObjectCommand' ? { TaggingDirective: 'REPLACE' } : {}),
        }),
  };
}

/** Adds the parameters to each request of a client, in the one place that sees all of them. */
function addAccountParameters(client: S3Client, lake: LakeSettings): void {
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        const { Key } = args.input as { Key?: string };
        return next({
          ...args,
          input: { ...args.input, ...accountParameters(lake, commandName ?? '', Key) },
        });
      },
    { step: 'initialize', name: 'worktrackAccount' },
  );
}

/** Asks for the checksum of each object that is read. As a parameter of the request, it would make the SDK check the bytes, too. */
function askForChecksums(client: S3Client): void {
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        const { headers } = args.request as { headers: Record<string, string> };
        if (commandName === 'GetObjectCommand') headers['x-amz-checksum-mode'] = 'ENABLED';
        return next(args);
      },
    { step: 'build', name: 'worktrackChecksums' },
  );
}

interface Shared {
  readonly clients: S3Clients;
  /** Stores that use the clients now. */
  users: number;
}

const open = new Map<string, Shared>();
/** What is known about stores, even while no client is open: a worker closes the clients of idle connections. */
const known = new Map<string, StoreFeatures>();

/**
 * Clients for a lake. Stores that are open at the same time and differ only in their bucket or prefix share them: a worker
 * with hundreds of lakes in one bucket then asks for credentials once, and connects once. `close` ends the share of one
 * store, and the last one to close closes the sockets.
 */
export function shareS3Clients(lake: LakeSettings): S3Clients {
  const key = keyOf(lake);
  const features = known.get(key) ?? allFeatures();
  known.set(key, features);
  const shared = open.get(key) ?? { clients: createS3Clients(lake, features), users: 0 };
  open.set(key, shared);
  shared.users++;
  let isClosed = false;
  return {
    ...shared.clients,
    close() {
      if (isClosed) return;
      isClosed = true;
      shared.users--;
      if (shared.users > 0) return;
      open.delete(key);
      shared.clients.close();
    },
  };
}

/** The SDK reads settings and credentials from the environment, which a program may change between two stores. */
function keyOf({ url: _, ...settings }: LakeSettings): string {
  const environment = Object.entries(process.env).filter(([name]) => name.startsWith('AWS_'));
  // A hash, because the environment contains secrets.
  return hash('sha256', JSON.stringify([settings, environment.sort()]));
}

export interface StoreLimit {
  /** The store's words, such as `503 SlowDown: Please reduce your request rate`. */
  readonly said: string;
}

/**
 * Receives a `StoreLimit` for each request that a store limits, in the asynchronous context of the caller. The client sends the
 * request again, so the caller itself only notices that it takes longer.
 */
export const storeLimits = channel('temporal-worktrack:store-limits');

/** A folder that is really in the way ends a write after half a second. */
const RACE_TRIES = 5;
const RACE_WAIT_MS = 50;

/**
 * Repeats a write if the store answers that a folder has the object's name. versitygw gives this answer to a lost race too: it
 * removes a folder with the last object in it, while another request creates the object's folder there. It has written
 * nothing then, so a conditional write can be repeated as well.
 */
function repeatRaces(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      for (let tries = 1; ; tries++) {
        try {
          return await next(args);
        } catch (error) {
          if (tries === RACE_TRIES || readAnswer(error).name !== 'ExistingObjectIsDirectory') throw error;
          await sleep(tries * RACE_WAIT_MS);
        }
      }
    },
    { step: 'finalizeRequest', priority: 'low', name: 'worktrackRaces' },
  );
}

/**
 * Sends large bodies without `Expect: 100-continue` once the store, or a proxy in front of it, has refused it
 * (RFC 9110, section 10.1.1: a client may send the request again without it after 417). The header is never signed.
 */
function leaveOutExpect(client: S3Client, features: StoreFeatures): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const { headers } = args.request as { headers: Record<string, string> };
      const without = (): typeof args => {
        for (const name of Object.keys(headers)) if (name.toLowerCase() === 'expect') delete headers[name];
        return args;
      };
      if (!features.expects) return next(without());
      try {
        return await next(args);
      } catch (error) {
        if (answerSeen(error).status !== EXPECTATION_FAILED) throw error;
        features.expects = false;
        return next(without());
      }
    },
    { step: 'finalizeRequest', priority: 'low', name: 'worktrackExpect' },
  );
}

const EXPECTATION_FAILED = 417;

/** The answer that a middleware inside of the SDK's retries sees: the SDK adds the status to the error later. */
function answerSeen(error: unknown): S3Answer {
  const answer = readAnswer(error);
  const { $response } = error as { $response?: { statusCode?: number } };
  return { ...answer, status: answer.status ?? $response?.statusCode ?? null };
}

/** Publishes the limits that a client meets. The middleware is inside of the SDK's retries, so it sees every attempt. */
function reportLimits(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        const answer = answerSeen(error);
        if (storeLimits.hasSubscribers && errorKind(answer) === 'throttled')
          storeLimits.publish({ said: wordsOf(answer) } satisfies StoreLimit);
        throw error;
      }
    },
    { step: 'finalizeRequest', priority: 'low', name: 'worktrackLimits' },
  );
}

/** The `Date` of the last response of any client that it follows, and the time since then on this machine's monotonic timer. */
class ResponseClock implements StoreClock {
  #last: { readonly date: number; readonly at: number } | null = null;

  now(): number | null {
    return this.#last === null ? null : Math.round(this.#last.date + performance.now() - this.#last.at);
  }

  /** The middleware is inside of the one that turns responses into errors, so it sees those of refused requests, too. */
  follow(client: S3Client): void {
    client.middlewareStack.add(
      (next) => async (args) => {
        const result = await next(args);
        const { headers } = result.response as { readonly headers?: Readonly<Record<string, string>> };
        const date = parseHttpDate(headers?.date ?? '', Date.now());
        if (date !== null) this.#last = { date, at: performance.now() };
        return result;
      },
      { step: 'deserialize', priority: 'low', name: 'worktrackClock' },
    );
  }
}

/** Lets messages hide the credentials that a request was signed with, wherever the SDK has found them. */
function rememberCredentials(client: S3Client): void {
  client.middlewareStack.add(
    (next, context) => (args) => {
      const { selectedHttpAuthScheme: scheme } = getSmithyContext(context);
      const { secretAccessKey, sessionToken } = (scheme as AuthScheme)?.identity ?? {};
      for (const secret of [secretAccessKey, sessionToken]) if (secret !== undefined) rememberSecret(secret);
      return next(args);
    },
    { step: 'finalizeRequest', name: 'rememberCredentials', priority: 'low' },
  );
}

type AuthScheme = { identity?: { secretAccessKey?: string; sessionToken?: string } } | undefined;

/** What the SDK has decided about a request. */
function getSmithyContext(context: object): Readonly<Record<string, unknown>> {
  return (context as { __smithy_context?: Record<string, unknown> }).__smithy_context ?? {};
}
