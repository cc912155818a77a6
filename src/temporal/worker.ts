import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { DEFAULT_TASK_QUEUE } from '../core/contract.js';
import type { Settings } from '../core/settings.js';
import { bundleFor } from './bundle.js';
import { type ConnectOptions, temporalConfig } from './connect.js';
import { WorktrackPlugin } from './plugin.js';

/** Which build of which deployment a worker is, for worker deployment versioning. */
export interface DeploymentVersion {
  readonly deploymentName: string;
  readonly buildId: string;
}

export interface WorktrackWorkerOptions extends ConnectOptions {
  readonly settings: Settings;
  readonly taskQueue?: string | undefined;
  /** Activities at a time in this process. Default: 16. */
  readonly maxConcurrentActivities?: number | undefined;
  /** Workflows kept in memory between their tasks. Default: the SDK's, by the memory at hand. */
  readonly maxCachedWorkflows?: number | undefined;
  /**
   * Turns worker deployment versioning on: the worker gets no task until its version is made current on the server
   * (`temporal worker deployment set-current-version`). Default: off.
   */
  readonly deployment?: DeploymentVersion | undefined;
  /**
   * Whatever else the SDK's worker takes, such as `interceptors` and `sinks` for traces. Workflow interceptors
   * (`interceptors.workflowModules`) are bundled with our workflows, which takes some seconds at the start.
   */
  readonly worker?: Partial<WorkerOptions> | undefined;
}

/** `connecting`: it has not begun to poll; `draining`: it was told to stop, or failed, and takes no more tasks. */
export type WorkerState = 'connecting' | 'polling' | 'draining';

export interface WorktrackWorker {
  readonly taskQueue: string;
  readonly namespace: string;
  readonly address: string;
  readonly state: WorkerState;
  /** Runs until `stop` or a failure of the worker itself. */
  run(): Promise<void>;
  /** Drains: takes no more tasks, lets those under way save where they are. Before `run`, that one ends at once. */
  stop(): void;
}

/** Connects a worker that runs the workflows and activities of this package. */
export async function createWorker(options: WorktrackWorkerOptions): Promise<WorktrackWorker> {
  const { connectionOptions, namespace } = temporalConfig(options);
  const taskQueue = options.taskQueue ?? DEFAULT_TASK_QUEUE;
  const connection = await NativeConnection.connect(connectionOptions);
  try {
    const { plugins = [], ...more } = options.worker ?? {};
    // They are in the bundle; named again they would only be warned of.
    const { workflowModules: _, ...interceptors } = more.interceptors ?? {};
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue,
      // Workflows here do next to nothing: one thread is enough, and each holds an isolate in memory.
      workflowThreadPoolSize: 1,
      ...(await optionsOf(options)),
      ...more,
      interceptors,
      plugins: [...plugins, new WorktrackPlugin({ settings: options.settings })],
    });
    let stopped = false;
    return {
      taskQueue,
      namespace,
      address: connectionOptions.address,
      get state() {
        const state = worker.getState();
        if (stopped) return 'draining';
        return state === 'INITIALIZED' ? 'connecting' : state === 'RUNNING' ? 'polling' : 'draining';
      },
      async run() {
        try {
          const running = worker.run();
          if (stopped) worker.shutdown();
          await running;
        } finally {
          await connection.close();
        }
      },
      stop() {
        stopped = true;
        // The SDK throws for a worker that does not run yet, or stops already.
        if (worker.getState() === 'RUNNING') worker.shutdown();
      },
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function optionsOf(options: WorktrackWorkerOptions): Promise<Partial<WorkerOptions>> {
  const { dataConverter, maxConcurrentActivities, maxCachedWorkflows, deployment } = options;
  const own = {
    converter: dataConverter,
    interceptorModules: options.worker?.interceptors?.workflowModules,
  };
  return {
    workflowBundle: await bundleFor(deployment === undefined ? 'index' : 'versioned', own),
    maxConcurrentActivityTaskExecutions: maxConcurrentActivities ?? 16,
    ...(dataConverter === undefined ? {} : { dataConverter }),
    ...(maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows }),
    ...(deployment === undefined ? {} : { workerDeploymentOptions: versioned(deployment) }),
  };
}

/** Every workflow of ours says by itself how it is versioned (workflows/versioned.ts); the default is for others. */
function versioned(version: DeploymentVersion): NonNullable<WorkerOptions['workerDeploymentOptions']> {
  return { version: { ...version }, useWorkerVersioning: true, defaultVersioningBehavior: 'PINNED' };
}
