import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseSettings } from '../../../src/config/index.js';
import type { Settings } from '../../../src/core/settings.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import {
  ensureBucket,
  type S3Access,
  startTemporalDevServer,
  startVersitygw,
} from '../../../src/servers/index.js';
import { DEMO_KEY } from '../../../src/simulator/index.js';
import { connectTemporal, type TemporalClient } from '../../../src/temporal/client/connect.js';
import type { SharedServers } from '../../support/global-setup.js';
import { freePort } from '../../support/ports.js';
import { until } from '../../support/stack.js';
import { Batches } from './batches.js';
import { type Restartable, startModule } from './processes.js';

export const VICTIMS = ['worker', 'rival', 'temporal', 's3', 'service'] as const;
export type Victim = (typeof VICTIMS)[number];

const CONNECTION = 'acme';
const BUCKET = 'lake';
const TASK_QUEUE = 'worktrack';
/** The namespace of a second installation that has the same configuration, as after a move to another cluster. */
const RIVAL_NAMESPACE = 'rival';
/** Slow enough to kill a process in the middle of a read. */
const PAGE_LATENCY_MS = 15;

/** All servers that an export needs. Each is a separate process that keeps its port and its state on disk. */
export interface World {
  readonly folder: string;
  readonly connection: string;
  readonly settings: Settings;
  readonly taskQueue: string;
  readonly temporal: TemporalClient;
  /** The same connection in another namespace, with a worker there. */
  readonly rival: TemporalClient;
  readonly store: ObjectStore;
  readonly s3: S3Access;
  readonly bucket: string;
  /** The lake's folder on disk. */
  readonly lakeFolder: string;
  readonly resources: readonly string[];
  /** The rows of past and future write-backs. */
  readonly batches: Batches;
  /** How many records were purged, by resource. */
  readonly purged: Map<string, number>;
  /** Resources with a purge in progress. */
  readonly purging: Set<string>;
  kill(victim: Victim, signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Restarts all processes that are not running. A worker that exited by itself is added to `unexpectedExits`. */
  restart(victim: Victim): Promise<void>;
  /** Processes that exited without being killed by the test. */
  readonly unexpectedExits: string[];
  /** A request to the simulator's control endpoints; the answer is text. */
  control(method: string, path: string, body?: unknown): Promise<string>;
  log(victim: Victim): Promise<string>;
  stop(): Promise<void>;
}

const SIMULATOR = new URL('../../support/simulator-process.mjs', import.meta.url);

export async function startWorld(
  servers: SharedServers,
  options: {
    readonly seed: number;
    readonly counts: Readonly<Record<string, number>>;
    readonly yaml?: string;
    /** More arguments of the service. */
    readonly service?: readonly string[];
  },
): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-chaos-'));
  const logOf = (victim: Victim): string => join(folder, `${victim}.log`);
  const resources = Object.keys(options.counts);
  const ports = { temporal: await freePort(), s3: await freePort(), service: await freePort() };
  const controlPort = await freePort();
  const secret = 'chaos-secret-key-of-this-test';
  const credentials = { AWS_ACCESS_KEY_ID: 'worktrack', AWS_SECRET_ACCESS_KEY: secret };
  Object.assign(process.env, credentials, { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' });
  const s3: S3Access = {
    endpoint: `http://127.0.0.1:${ports.s3}`,
    region: 'us-east-1',
    accessKeyId: 'worktrack',
    secretAccessKey: secret,
  };
  const serviceUrl = `http://127.0.0.1:${ports.service}`;
  const controlUrl = `http://127.0.0.1:${controlPort}`;
  const configFile = join(folder, 'worktrack.yaml');
  const yaml = `connections:
  ${CONNECTION}:
    baseUrl: ${serviceUrl}
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "s3://${BUCKET}/lake", endpoint: "${s3.endpoint}", region: us-east-1, forcePathStyle: true }
    resources: [${resources.join(', ')}]
${options.yaml ?? ''}`;
  await writeFile(configFile, yaml);
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ...credentials,
    WORKTRACK_API_KEY: DEMO_KEY,
    TEMPORAL_ADDRESS: `127.0.0.1:${ports.temporal}`,
  };

  const starts: Record<Victim, () => Promise<Restartable>> = {
    async temporal() {
      const server = await startTemporalDevServer({
        executable: servers.temporalCli,
        headless: true,
        port: ports.temporal,
        dbFile: join(folder, 'temporal.db'),
        extraArgs: ['--namespace', RIVAL_NAMESPACE],
        logFile: logOf('temporal'),
      });
      return ofServer(server);
    },
    async s3() {
      const server = await startVersitygw({
        executable: servers.versitygw,
        dataDir: join(folder, 's3'),
        iamDir: join(folder, 'iam'),
        port: ports.s3,
        accessKey: s3.accessKeyId,
        secretKey: secret,
        logFile: logOf('s3'),
      });
      return ofServer(server);
    },
    async service() {
      const args = ['--port', String(ports.service), '--seed', String(options.seed)];
      for (const [name, count] of Object.entries(options.counts)) args.push(`--${name}`, String(count));
      args.push('--state', join(folder, 'service.state'), ...(options.service ?? []));
      const started = startModule(SIMULATOR, args, {
        env: { ...env, WORKTRACK_TEST_CONTROL_PORT: String(controlPort) },
        cwd: folder,
        log: logOf('service'),
      });
      await until(() => {
        if (!started.running())
          throw new Error(`the service ended: ${readFileSync(logOf('service'), 'utf8')}`);
        return fetch(`${controlUrl}/stats`).then(
          (answer) => answer.ok,
          () => false,
        );
      }, 'the service answers');
      await control('POST', 'faults', { fault: { kind: 'latency', ms: PAGE_LATENCY_MS } });
      return started;
    },
    async worker() {
      const args = ['worker', '--config', configFile, '--task-queue', TASK_QUEUE];
      return startModule('cli/main.js', args, { env, cwd: folder, log: logOf('worker') });
    },
    async rival() {
      const args = [
        'worker',
        '--config',
        configFile,
        '--task-queue',
        TASK_QUEUE,
        '--namespace',
        RIVAL_NAMESPACE,
      ];
      return startModule('cli/main.js', args, { env, cwd: folder, log: logOf('rival') });
    },
  };
  async function control(method: string, path: string, body?: unknown): Promise<string> {
    const answer = await fetch(`${controlUrl}/${path}`, {
      method,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text;
  }

  const [temporalServer, s3Server, service] = await Promise.all([
    starts.temporal(),
    starts.s3(),
    starts.service(),
  ]);
  await ensureBucket(s3, BUCKET);
  const running: Record<Victim, Restartable> = {
    temporal: temporalServer,
    s3: s3Server,
    service,
    worker: await starts.worker(),
    rival: await starts.rival(),
  };
  const unexpectedExits: string[] = [];
  const settings = parseSettings(yaml, configFile);
  const temporal = await connectTemporal({ address: env.TEMPORAL_ADDRESS });
  const rival = await connectTemporal({ address: env.TEMPORAL_ADDRESS, namespace: RIVAL_NAMESPACE });
  const store = openStore(settings.connections[0]!.lake);
  return {
    folder,
    connection: CONNECTION,
    settings,
    taskQueue: TASK_QUEUE,
    temporal,
    rival,
    store,
    s3,
    bucket: BUCKET,
    lakeFolder: join(folder, 's3', BUCKET, 'lake'),
    resources,
    batches: new Batches(),
    purged: new Map(),
    purging: new Set(),
    unexpectedExits,
    control,
    async kill(victim, signal) {
      if (running[victim].running()) await running[victim].end(signal);
      else unexpectedExits.push(victim);
    },
    async restart(victim) {
      if (!running[victim].running()) running[victim] = await starts[victim]();
    },
    log: (victim) => readFile(logOf(victim), 'utf8').catch(() => ''),
    async stop() {
      await temporal.close();
      await rival.close();
      store.close();
      await Promise.all(
        VICTIMS.map((victim) => (running[victim].running() ? running[victim].end('SIGKILL') : undefined)),
      );
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function ofServer(server: { pid: number; stop(): Promise<void>; kill(): Promise<void> }): Restartable {
  let ended = false;
  return {
    pid: server.pid,
    running: () => !ended,
    async end(signal) {
      ended = true;
      await (signal === 'SIGKILL' ? server.kill() : server.stop());
    },
  };
}
