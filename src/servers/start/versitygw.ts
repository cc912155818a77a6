import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CreateBucketCommand, ListBucketsCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import type { Environment } from '../../core/home-folder.js';
import { serverSpec } from '../install/known-servers.js';
import { loopback, type RunningServer, type ServerOptions, startServer } from './start-server.js';

interface VersitygwOptions extends ServerOptions {
  /** Data folder, created if missing. Buckets are folders in it, and objects are plain files. */
  readonly dataDir: string;
  /** Folder of the accounts, created if missing. It must be outside `dataDir`, where it would be a bucket. */
  readonly iamDir: string;
  /** Default: `worktrack`. */
  readonly accessKey?: string | undefined;
  /** Default: random. */
  readonly secretKey?: string | undefined;
  /** Access log with a line per request. Default: none. */
  readonly accessLog?: string | undefined;
}

interface Versitygw extends S3Access, RunningServer {
  readonly port: number;
}

/** The arguments of `versitygw`. They contain no secrets, because every user can read them in the process list. */
export function versitygwArgs(options: {
  readonly port: number;
  readonly region: string;
  readonly iamDir: string;
  readonly dataDir: string;
  readonly accessLog?: string | undefined;
}): string[] {
  return [
    '--port',
    `${loopback}:${options.port}`,
    '--region',
    options.region,
    // With accounts in a folder, the response to an unknown access key is 403.
    '--iam-dir',
    options.iamDir,
    // Like S3. By default, versitygw closes each connection after one request.
    '--keep-alive',
    '--quiet',
    ...(options.accessLog === undefined ? [] : ['--access-log', options.accessLog]),
    'posix',
    options.dataDir,
  ];
}

/**
 * The environment of `versitygw`: its keys and the variables it needs. It reads about a hundred variables, some with
 * common names (LOGFILE, WEBHOOK), and must not see the secrets of this process.
 */
export function versitygwEnvironment(env: Environment, accessKey: string, secretKey: string): Environment {
  const { PATH, HOME, TMPDIR } = env;
  return { PATH, HOME, TMPDIR, ROOT_ACCESS_KEY: accessKey, ROOT_SECRET_KEY: secretKey };
}

/**
 * Starts versitygw on loopback and waits until it answers a request signed with its keys. No other server accepts these
 * keys, so an answer comes from this server.
 *
 * @throws ServerStartError with the last lines of the log
 */
export async function startVersitygw(options: VersitygwOptions): Promise<Versitygw> {
  const [dataDir, iamDir] = [resolve(options.dataDir), resolve(options.iamDir)];
  await Promise.all([dataDir, iamDir].map((folder) => mkdir(folder, { recursive: true })));
  const { accessLog, accessKey: accessKeyId = 'worktrack' } = options;
  const region = 'us-east-1';
  const secretAccessKey = options.secretKey ?? randomBytes(24).toString('hex');
  return startServer(serverSpec('versitygw'), options, (port) => {
    const access: S3Access = { endpoint: `http://${loopback}:${port}`, region, accessKeyId, secretAccessKey };
    return {
      args: versitygwArgs({ port, region, iamDir, dataDir, accessLog }),
      env: versitygwEnvironment(process.env, accessKeyId, secretAccessKey),
      async checkReady(signal) {
        const client = new S3Client({ ...s3ClientConfig(access), maxAttempts: 1 });
        try {
          await client.send(new ListBucketsCommand({}), { abortSignal: signal });
        } finally {
          client.destroy();
        }
      },
      details: { ...access, port },
    };
  });
}

/** The settings that a client of a local S3 server needs. */
export interface S3Access {
  /** `http://127.0.0.1:PORT`. */
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** The configuration of an `S3Client` for a local server: path style, because bucket host names do not resolve. */
export function s3ClientConfig(access: S3Access): S3ClientConfig & { readonly region: string } {
  const { endpoint, region, accessKeyId, secretAccessKey } = access;
  return { endpoint, region, forcePathStyle: true, credentials: { accessKeyId, secretAccessKey } };
}

/** Creates a bucket if it does not exist. */
export async function ensureBucket(access: S3Access, bucket: string): Promise<void> {
  const client = new S3Client(s3ClientConfig(access));
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    if (name !== 'BucketAlreadyOwnedByYou' && name !== 'BucketAlreadyExists') throw error;
  } finally {
    client.destroy();
  }
}
