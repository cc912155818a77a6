import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type WorkflowExecutionInfo, WorkflowFailedError } from '@temporalio/client';
import { inject } from 'vitest';
import { parseSettings } from '../../src/config/index.js';
import {
  alertsWorkflowId,
  type ExportInput,
  type ExportResult,
  mirrorWorkflowId,
} from '../../src/core/contract/index.js';
import type { Settings } from '../../src/core/settings.js';
import { type ObjectStore, openStore } from '../../src/lake/store/index.js';
import { ensureBucket } from '../../src/servers/index.js';
import {
  DEMO_KEY,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '../../src/simulator/index.js';
import {
  connectTemporal,
  type DataConverter,
  type TemporalClient,
} from '../../src/temporal/client/connect.js';
import type { History } from '../../src/temporal/replay.js';
import { createWorker, type WorktrackWorkerOptions } from '../../src/temporal/worker/worker.js';
import type { SharedServers } from './global-setup.js';
import { historiesOf } from './histories.js';
import './runtime.js';
import { sharedS3 } from './shared-s3.js';

export interface StackOptions {
  readonly simulator?: SimulatorOptions;
  /** More keys of the connection, as YAML with an indentation of four spaces. */
  readonly yaml?: string;
  readonly resources?: string;
  /**
   * Uses a lake in S3: a bucket on the shared server. Otherwise, the lake is a folder in `npm test`, which needs a quarter less CPU
   * time, and in S3 in `npm run test:long`.
   */
  readonly s3?: true;
  /** More keys of `lake` for a lake in S3, as YAML, such as `requesterPays: true`. */
  readonly lake?: string;
  /** The key that the worker reads; default: one that may do everything. */
  readonly apiKey?: string;
  /** The service's URL. Default: a separate simulator for this test. */
  readonly baseUrl?: string;
  /** A folder for the lake, as a URL. Default: one of this test's own, or a bucket (`s3`). */
  readonly lakeUrl?: string;
  /** Another way to the shared S3 server, such as through a proxy. */
  readonly s3Endpoint?: string;
  /** Uses the connection name, service and lake of another stack, like a second cluster. */
  readonly beside?: Stack;
  /** Name of the connection; default: one of this test's own. */
  readonly connection?: string;
  /** Another Temporal than the shared one. */
  readonly temporalAddress?: string;
  /** Of the client and of the workers. */
  readonly dataConverter?: DataConverter;
}

/** A separate connection for one test on the shared servers: service, bucket, task queue, client. */
export interface Stack {
  readonly connection: string;
  readonly taskQueue: string;
  readonly settings: Settings;
  /** The same configuration as a file, for separate processes. */
  readonly configFile: string;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly servers: SharedServers;
  readonly simulator: Simulator;
  readonly temporal: TemporalClient;
  readonly store: ObjectStore;
  /** Of a lake in S3. */
  readonly bucket: string;
  readonly lakeUrl: string;
  /** The lake's folder on disk. */
  readonly lakeFolder: string;
  /** Starts a worker in this process. */
  startWorker(
    settings?: Settings,
    options?: Partial<WorktrackWorkerOptions>,
  ): Promise<{ stop(): Promise<void> }>;
  /** Starts an export and waits for its end; a failed one gives its result too. */
  export(input?: Partial<ExportInput>): Promise<ExportResult>;
  /** The events of a workflow, those of earlier histories, which it continued as new from, first. */
  history(workflowId: string): Promise<History>;
  /** All workflows of this stack; others in the namespace may have memos that our converter cannot read. */
  workflows(): AsyncIterable<WorkflowExecutionInfo>;
  mirrorId(resource: string): string;
  /** Has something ended, such as a process, when the stack stops: before all else, what came last first. */
  beforeStop(end: () => Promise<void>): void;
  stop(): Promise<void>;
}

const RESOURCES =
  '[projects, tasks, time-entries, { name: calendar-entries, window: 90d, key: [source, sourceKey] }, members]';

/**
 * For a worker of hundreds of workflows, or of very long histories: their tasks would keep the thread of the test from all else,
 * and end too late.
 */
export const OWN_THREAD = { worker: { debugMode: false } } as const;

export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const servers = inject('servers');
  const id = randomBytes(4).toString('hex');
  const { beside } = options;
  const connection = options.connection ?? beside?.connection ?? `acme-${id}`;
  const taskQueue = `worktrack-${id}`;
  const bucket = beside?.bucket ?? `lake-${id}`;
  const s3Endpoint = options.s3Endpoint ?? servers.s3Endpoint;
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-stack-'));
  const simulator = beside?.simulator ?? (await startSimulator(options.simulator ?? {}));
  // vitest.config.ts names the place of lakes that are folders. Chaos, engines and `npm run test:long` have theirs in S3.
  const { WORKTRACK_TEST_LAKES: place } = process.env;
  const given = options.lakeUrl ?? beside?.lakeUrl;
  const isInS3 = [options.s3, options.lake, options.s3Endpoint].some((option) => option !== undefined);
  const lakes =
    given !== undefined || isInS3 || place === undefined
      ? null
      : await mkdtemp(join(place, 'worktrack-lake-'));
  const url = given ?? (lakes === null ? `s3://${bucket}/lake` : pathToFileURL(join(lakes, 'lake')).href);
  const s3 = url.startsWith('s3:')
    ? `, endpoint: "${s3Endpoint}", region: ${servers.s3Region}, forcePathStyle: true${options.lake === undefined ? '' : `, ${options.lake}`}`
    : '';
  const yaml = `connections:
  ${connection}:
    baseUrl: ${options.baseUrl ?? simulator.url}
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "${url}"${s3} }
    resources: ${options.resources ?? RESOURCES}
${options.yaml ?? ''}`;
  const configFile = join(folder, 'worktrack.yaml');
  await writeFile(configFile, yaml);
  const credentials = {
    AWS_ACCESS_KEY_ID: servers.s3AccessKeyId,
    AWS_SECRET_ACCESS_KEY: servers.s3SecretAccessKey,
  };
  const address = options.temporalAddress ?? servers.temporalAddress;
  const secrets = { ...credentials, WORKTRACK_API_KEY: options.apiKey ?? DEMO_KEY };
  Object.assign(process.env, secrets, { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' });
  if (url.startsWith('s3:')) await ensureBucket(sharedS3(), bucket);
  const settings = parseSettings(yaml, configFile);
  const { dataConverter } = options;
  const temporal = await connectTemporal({ address, dataConverter });
  const store = openStore(settings.connections[0]!.lake);
  const workers: { stop(): Promise<void> }[] = [];
  const ends: (() => Promise<void>)[] = [];
  const mirrorId = (resource: string): string => mirrorWorkflowId(connection, resource);
  const stack: Stack = {
    connection,
    taskQueue,
    settings,
    configFile,
    folder,
    // Where the tests' own output is coloured, that of commands, which goes to files, is plain nevertheless.
    env: {
      ...process.env,
      FORCE_COLOR: undefined,
      COLUMNS: undefined,
      ...secrets,
      TEMPORAL_ADDRESS: address,
    },
    servers,
    simulator,
    temporal,
    store,
    bucket,
    lakeUrl: url,
    lakeFolder: url.startsWith('s3:') ? join(servers.s3DataFolder, bucket, 'lake') : fileURLToPath(url),
    async startWorker(changed = settings, more = {}) {
      const worker = await createWorker({
        ...{ settings: changed, taskQueue, address, dataConverter, ...more },
        worker: {
          // By default, the second heartbeat follows only two seconds before the server gives an activity up.
          maxHeartbeatThrottleInterval: '1 second',
          // Workflows run in this thread, because to start and end one of their own takes half a second of CPU time. Workers in
          // separate processes have one, and `OWN_THREAD`.
          debugMode: true,
          ...more.worker,
        },
      });
      const done = worker.run();
      const handle = {
        async stop() {
          if (workers.includes(handle)) {
            workers.splice(workers.indexOf(handle), 1);
            worker.stop();
          }
          await done;
        },
      };
      workers.push(handle);
      return handle;
    },
    async export(input = {}) {
      try {
        return (await temporal.client.workflow.execute('exportWorkflow', {
          workflowId: `${connection}-export-${randomBytes(4).toString('hex')}`,
          taskQueue,
          args: [{ connection, ...input }],
        })) as ExportResult;
      } catch (error) {
        return resultOf(error);
      }
    },
    workflows: () => temporal.client.workflow.list({ query: `TaskQueue = '${taskQueue}'` }),
    async history(workflowId) {
      const histories = await historiesOf(temporal.client, workflowId);
      return { events: histories.flatMap(({ events }) => events ?? []) };
    },
    mirrorId,
    beforeStop: (end) => void ends.unshift(end),
    async stop() {
      for (const end of ends.splice(0)) await end();
      for (const worker of [...workers]) await worker.stop();
      const longLived = settings.connections[0]!.resources.map(({ name }) => mirrorId(name));
      for (const workflowId of [...longLived, alertsWorkflowId(taskQueue)]) {
        await temporal.client.workflow
          .getHandle(workflowId)
          .terminate('end of the test')
          .catch(() => {});
      }
      await temporal.close();
      store.close();
      if (beside === undefined) await simulator.close();
      for (const path of [folder, ...(lakes === null ? [] : [lakes])])
        await rm(path, { recursive: true, force: true });
    },
  };
  return stack;
}

/** The result that a failed export carries in its failure. @throws what else went wrong */
export function resultOf(error: unknown): ExportResult {
  const cause = error instanceof WorkflowFailedError ? error.cause : undefined;
  const details = (cause as { details?: unknown[] } | undefined)?.details ?? [];
  if (details[0] === undefined) throw error;
  return details[0] as ExportResult;
}

/** A limit of waiting that an idle machine stays far below. */
const WAIT_MS = 250_000;
/** Between two looks of a wait, at most. */
const LONGEST_PAUSE_MS = 250;

/** Resolves when the condition holds. @throws Error when it does not within the time */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  ms = WAIT_MS,
): Promise<void> {
  const deadline = Date.now() + ms;
  for (;;) {
    const began = Date.now();
    if (await condition()) return;
    if (Date.now() > deadline) throw new Error(`condition not met within ${ms} ms: ${what}`);
    // To answer a look takes CPU time, and a busy machine has none to spare.
    const pause = Math.min(LONGEST_PAUSE_MS, Math.max(20, 2 * (Date.now() - began)));
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** Waits until the times of a store, which are whole seconds, tell what is written next from what is there. */
export async function nextSecond(): Promise<void> {
  const second = Math.floor(Date.now() / 1000);
  await until(() => Math.floor(Date.now() / 1000) > second, 'the next second');
}
