import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../../activities/index.js';
import { DEFAULT_TASK_QUEUE } from '../core/contract.js';
import type { Settings } from '../core/settings.js';
import { shippedBundle } from './bundle.js';
import { type ConnectOptions, temporalConfig } from './connect.js';
import { type Connections, openConnections } from './connections.js';

/** Time that activities have to save their position when a worker is told to stop. */
const SHUTDOWN_GRACE = '30 seconds';

export interface WorktrackWorkerOptions extends ConnectOptions {
  readonly settings: Settings;
  readonly taskQueue?: string | undefined;
  /** Activities at a time in this process. */
  readonly maxConcurrentActivities?: number | undefined;
  /** Whatever else the SDK's worker takes. */
  readonly worker?: Partial<WorkerOptions> | undefined;
}

export interface WorktrackWorker {
  readonly taskQueue: string;
  readonly namespace: string;
  readonly address: string;
  /** Runs until `stop` or a failure of the worker itself. */
  run(): Promise<void>;
  /** Drains: takes no more tasks, lets those under way save where they are. */
  stop(): void;
}

/** Connects a worker that runs the workflows and activities of this package. */
export async function createWorker(options: WorktrackWorkerOptions): Promise<WorktrackWorker> {
  const { connectionOptions, namespace } = temporalConfig(options);
  const taskQueue = options.taskQueue ?? DEFAULT_TASK_QUEUE;
  const connection = await NativeConnection.connect(connectionOptions);
  const connections: Connections = openConnections(options.settings, console);
  try {
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue,
      workflowBundle: shippedBundle(),
      activities: { ...createActivities(connections) },
      // Workflows here do next to nothing: one thread is enough, and each holds an isolate in memory.
      workflowThreadPoolSize: 1,
      maxConcurrentActivityTaskExecutions: options.maxConcurrentActivities ?? 16,
      shutdownGraceTime: SHUTDOWN_GRACE,
      ...options.worker,
    });
    return {
      taskQueue,
      namespace,
      address: connectionOptions.address,
      async run() {
        try {
          await worker.run();
        } finally {
          await connections.close();
          await connection.close();
        }
      },
      stop() {
        connections.drain();
        worker.shutdown();
      },
    };
  } catch (error) {
    await connections.close();
    await connection.close();
    throw error;
  }
}
