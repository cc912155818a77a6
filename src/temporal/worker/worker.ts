import type { AsyncLocalStorage } from 'node:async_hooks';
import { totalmem } from 'node:os';
import {
  NativeConnection,
  Runtime,
  Worker,
  type WorkerOptions,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import type { DeploymentVersion } from '../../core/deployment-version.js';
import { SECOND_MS } from '../../core/duration.js';
import type { OutOfReachError } from '../../core/reachability.js';
import type { Settings } from '../../core/settings.js';
import {
  type ConnectOptions,
  probeNamespace,
  probeWorker,
  type TemporalConfig,
  temporalConfig,
  workerProxy,
} from '../client/connect.js';
import { KeptConnection } from '../client/kept-connection.js';
import { bundleFor } from './bundle.js';
import { WorktrackPlugin } from './plugin.js';
import { untilRegistered } from './registration.js';
import { runtimeLogger, runtimeMeter } from './telemetry.js';

/** Longest drain of a worker whose connection to Temporal is lost. Its activities save their positions in the lake. */
const GIVE_UP_DRAIN_MS = 30 * SECOND_MS;

export interface WorktrackWorkerOptions extends ConnectOptions {
  readonly settings: Settings;
  readonly taskQueue?: string | undefined;
  /** Concurrent activities in this process. Default: 16. */
  readonly maxConcurrentActivities?: number | undefined;
  /**
   * Memory for concurrent activities, in bytes. It limits their number, because each counts as 64 MiB. Default: half of what
   * an idle worker leaves free of the machine's or the container's memory.
   */
  readonly maxActivityMemoryBytes?: number | undefined;
  /**
   * Workflows cached in memory between their tasks. Default: one for each mirror and export and 20 more, or 100 if there are
   * more than 400 mirrors and exports.
   */
  readonly maxCachedWorkflows?: number | undefined;
  /**
   * Turns worker deployment versioning on. The worker receives no tasks until its version is the current one on the
   * server (`temporal worker deployment set-current-version`). Default: off.
   */
  readonly deployment?: DeploymentVersion | undefined;
  /** `run` rejects after this many milliseconds without an accepted connection to Temporal. Default: never. */
  readonly giveUpAfterMs?: number | undefined;
  /**
   * Further options of the SDK's worker, such as `interceptors` and `sinks` for traces. Workflow interceptors
   * (`interceptors.workflowModules`) are bundled with the workflows, which takes some seconds at the start.
   */
  readonly worker?: Partial<WorkerOptions> | undefined;
}

/**
 * `connecting`: not polling yet, or Temporal does not know the worker's version yet. `disconnected`: Temporal has not answered or accepted the worker for 30 s. `draining`:
 * stopping or failed; takes no more tasks.
 */
export type WorkerState = 'connecting' | 'polling' | 'disconnected' | 'draining';

export interface WorktrackWorker {
  readonly taskQueue: string;
  readonly namespace: string;
  readonly address: string;
  readonly state: WorkerState;
  /** Runs until `stop` or a failure of the worker. @throws OutOfReachError after `giveUpAfterMs` */
  run(): Promise<void>;
  /** Checks the connection to Temporal now, and uses changed credentials; without it, this happens every ten seconds. */
  checkConnection(): Promise<void>;
  /** Uses another configuration from the next run on. Runs and write-backs in progress keep theirs. */
  reload(settings: Settings): void;
  /** Drains: takes no more tasks, and lets running activities save their position. Before `run`, makes `run` end immediately. */
  stop(): void;
}

/**
 * Creates a connected worker that runs the workflows and activities of this package.
 *
 * @example
 * const worker = await createWorker({ settings });
 * process.once('SIGTERM', () => worker.stop());
 * await worker.run();
 */
export async function createWorker(options: WorktrackWorkerOptions): Promise<WorktrackWorker> {
  const taskQueue = options.taskQueue ?? DEFAULT_TASK_QUEUE;
  const { namespace } = temporalConfig(options);
  let worker: Worker | null = null;
  let giveUp: (error: OutOfReachError) => void = () => {};
  const kept = await KeptConnection.open<NativeConnection>({
    holder: 'this worker',
    read: () => temporalConfig(options),
    connect: connectNative,
    probe: (connection) => probeWorker(connection, { namespace, taskQueue }),
    close: closeNative,
    exchange(next) {
      if (worker !== null) worker.connection = next;
      runtimeMeter().record('reconnects', 1, { namespace });
    },
    log: Runtime.instance().logger,
    onProbe: (seconds) => runtimeMeter().record('disconnected', seconds, { namespace }),
    giveUpAfterMs: options.giveUpAfterMs,
    onGiveUp: (error) => giveUp(error),
  });
  try {
    // Otherwise the SDK would say only in words that the namespace is missing.
    await probeNamespace(kept.current, namespace);
    const { plugins = [], ...more } = options.worker ?? {};
    // The bundle contains the workflow modules. Passing them again would only cause a warning.
    const { workflowModules: _, ...interceptors } = more.interceptors ?? {};
    const plugin = new WorktrackPlugin({ settings: options.settings });
    const workerOptions = {
      connection: kept.current,
      namespace,
      taskQueue,
      // The workflows need little CPU, so one thread is enough. Each thread costs the memory of an isolate.
      workflowThreadPoolSize: 1,
      ...(await optionsOf(options)),
      ...more,
      interceptors,
      plugins: [...plugins, plugin],
    };
    const created = await Worker.create(workerOptions);
    worker = created;
    let stopped = false;
    let isRegistered = options.deployment === undefined;
    const ended = new AbortController();
    const stop = (): void => {
      stopped = true;
      // The SDK throws if the worker is not running yet or is already stopping.
      if (created.getState() === 'RUNNING') created.shutdown();
    };
    const register = async (version: DeploymentVersion): Promise<void> => {
      const { warn } = runtimeLogger;
      const watched = { namespace, version, connection: () => kept.current, warn, signal: ended.signal };
      isRegistered = await untilRegistered(watched);
    };
    let lost: OutOfReachError | null = null;
    const drainedTooLong = new Promise<void>((resolve) => {
      giveUp = (error) => {
        lost = error;
        stop();
        // Without Temporal, a drain may not end.
        setTimeout(resolve, GIVE_UP_DRAIN_MS);
      };
    });
    return {
      taskQueue,
      namespace,
      get address() {
        return kept.address;
      },
      get state() {
        const state = created.getState();
        if (stopped) return 'draining';
        if (state === 'INITIALIZED' || (state === 'RUNNING' && !isRegistered)) return 'connecting';
        return state !== 'RUNNING' ? 'draining' : kept.isDisconnected ? 'disconnected' : 'polling';
      },
      async run() {
        try {
          if (!stopped) await plugin.announce(created);
          const running = created.run();
          if (workerOptions.connection === kept.current) kept.start();
          if (options.deployment !== undefined) void register(options.deployment);
          if (stopped) created.shutdown();
          await Promise.race([running, drainedTooLong]);
          if (lost !== null) throw lost;
        } finally {
          ended.abort();
          // A worker that has not drained still holds its connection.
          await kept.close().catch((error: unknown) => {
            if (lost === null) throw error;
          });
        }
      },
      checkConnection: () => kept.check(),
      reload: (settings) => plugin.reload(settings),
      stop,
    };
  } catch (error) {
    await kept.close();
    throw error;
  }
}

function connectNative({ connectionOptions }: TemporalConfig): Promise<NativeConnection> {
  return NativeConnection.connect({ ...connectionOptions, ...workerProxy(connectionOptions.address) });
}

/**
 * Closes a connection. The SDK leaves its context of calls enabled, unlike that of `Connection`. On Node 20, each one that stays makes every
 * promise of the process slower.
 */
async function closeNative(connection: NativeConnection): Promise<void> {
  await connection.close();
  const { callContextStorage } = connection as unknown as { callContextStorage?: AsyncLocalStorage<unknown> };
  callContextStorage?.disable();
}

/** The workflows with the converters and interceptors of the options. Bundling them takes seconds, or a minute on a busy machine. */
export function workflowBundleOf({
  dataConverter,
  deployment,
  worker = {},
}: Pick<WorktrackWorkerOptions, 'dataConverter' | 'deployment' | 'worker'>): Promise<WorkflowBundleOption> {
  return bundleFor(deployment === undefined ? 'index' : 'versioned', {
    converter: dataConverter,
    interceptorModules: worker.interceptors?.workflowModules,
    logger: Runtime.instance().logger,
  });
}

async function optionsOf(options: WorktrackWorkerOptions): Promise<Partial<WorkerOptions>> {
  const { settings, dataConverter, deployment } = options;
  const maxCachedWorkflows = options.maxCachedWorkflows ?? cachedWorkflows(settings);
  return {
    workflowBundle: options.worker?.workflowBundle ?? (await workflowBundleOf(options)),
    ...slotsOf(options, maxCachedWorkflows),
    ...(dataConverter === undefined ? {} : { dataConverter }),
    maxCachedWorkflows,
    ...(deployment === undefined ? {} : { workerDeploymentOptions: versioned(deployment) }),
  };
}

/** The limit of concurrent activities, unless the caller sets one. The SDK accepts either a tuner or numbers. */
function slotsOf(options: WorktrackWorkerOptions, cached: number): Partial<WorkerOptions> {
  const { maxConcurrentActivities = 16, worker = {} } = options;
  if (worker.tuner !== undefined || worker.maxConcurrentActivityTaskExecutions !== undefined) return {};
  const memoryBytes = options.maxActivityMemoryBytes ?? activityMemory(availableMemory(), cached);
  return { maxConcurrentActivityTaskExecutions: activitySlots(maxConcurrentActivities, memoryBytes) };
}

/** Each workflow of this package sets its versioning behaviour (workflows/versioned.ts); the default is for others. */
function versioned(version: DeploymentVersion): NonNullable<WorkerOptions['workerDeploymentOptions']> {
  return { version: { ...version }, useWorkerVersioning: true, defaultVersioningBehavior: 'PINNED' };
}

const MIB = 2 ** 20;
/** What an activity holds at its peak, besides the worker itself (docs/internals/benchmarks.md). */
const ACTIVITY_BYTES = 64 * MIB;
/** What a worker of a thousand connections holds while no activity runs (docs/internals/benchmarks.md#many-connections). */
const IDLE_BYTES = 256 * MIB;

/** Enough for the workflows that are active at the same time. */
const FEW_WORKFLOWS = 100;
const MANY_WORKFLOWS = 400;
/** For write-backs, change notices and backfills. */
const SPARE_WORKFLOWS = 20;
/** Memory of a cached workflow, bytes. */
const WORKFLOW_BYTES = 0.2 * MIB;

/**
 * How many activities a worker runs at the same time: as many as its memory allows if each of them needs as much as the largest, but
 * at least one.
 *
 * @param most limit whatever the memory
 * @param memoryBytes memory for activities
 */
export function activitySlots(most: number, memoryBytes: number): number {
  return Math.max(1, Math.min(most, Math.floor(memoryBytes / ACTIVITY_BYTES)));
}

/**
 * The memory for activities by default: half of what an idle worker leaves free.
 *
 * @param availableBytes memory of the machine, or of the container if it has a limit
 * @param workflows that the worker caches
 */
export function activityMemory(availableBytes: number, workflows: number): number {
  const cacheBytes = Math.max(0, workflows - FEW_WORKFLOWS) * WORKFLOW_BYTES;
  return Math.floor((availableBytes - IDLE_BYTES - cacheBytes) / 2);
}

/** Memory of this machine, or of the container if it has a limit; bytes. */
function availableMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/**
 * How many workflows a worker caches by default: all mirrors and exports of its connections if there are at most 400,
 * otherwise 100. A size in between does not help: if all start together, each workflow is evicted before its next task,
 * and its history is replayed (docs/internals/benchmarks.md#many-connections).
 */
export function cachedWorkflows({ connections }: Pick<Settings, 'connections'>): number {
  const all = connections.reduce((sum, { resources }) => sum + resources.length + 1, 0);
  return all > MANY_WORKFLOWS ? FEW_WORKFLOWS : Math.max(FEW_WORKFLOWS, all + SPARE_WORKFLOWS);
}
