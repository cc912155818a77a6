import { SimplePlugin } from '@temporalio/plugin';
import type {
  ActivityInterceptorsFactory,
  State,
  Worker,
  WorkerInterceptors,
  WorkerOptions,
} from '@temporalio/worker';
import { createActivities } from '../../../activities/index.js';
import { loadSettings } from '../../config/index.js';
import type { Activities } from '../../core/contract/index.js';
import type { Settings } from '../../core/settings.js';
import { keepThreadPoolAwake } from '../../core/thread-pool.js';
import { VERSION } from '../../core/version.js';
import { type Connections, openConnections } from './connections.js';
import { RetryWatch, startGauges } from './gauges.js';
import { aroundActivities, logContext } from './interceptors.js';
import { LoopWatch } from './loop-watch.js';
import { clientOf, type PublishedConfig, publishConfig } from './published-config.js';
import { exportsMetrics, metricSinks, runtimeLogger, runtimeMeter } from './telemetry.js';

/** Time for activities to save their position when the worker stops. */
const SHUTDOWN_GRACE = '30 seconds';
/**
 * How long workflow code may keep its thread. After the SDK's limit of 5 s, which a long history on a busy machine reaches, Node 20
 * ends the whole process ("async hook stack has become corrupted") instead of the workflow task, and the next worker's, too. The
 * SDK reads the option from the caller, but its type does not have it.
 */
const WORKFLOW_CODE_LIMIT = '1 minute';
const STOPPING_STATES: readonly State[] = ['STOPPING', 'DRAINING', 'DRAINED'];

/** The configuration of the plugin. Only workers need it. */
export interface WorktrackPluginOptions {
  /** Default: the settings in the configuration file. */
  readonly settings?: Settings | undefined;
  /** Default: `$WORKTRACK_CONFIG`, or `worktrack.yaml`, `.yml` or `.json` in the working directory. */
  readonly configFile?: string | undefined;
}

/**
 * Adds this package to your worker: its activities, all named `worktrack.…`; their connections, which are closed when
 * the last worker with this plugin has ended; and time to save their positions when a worker stops. Add the workflows
 * to your bundle: `export * from 'temporal-worktrack/workflows'`. A replay worker needs no configuration.
 *
 * Pass the plugin to the worker or to its connection; passing it to both is harmless. Workers that share one plugin
 * share one rate budget per connection (docs/explanation/guarantees.md#rate-budget).
 *
 * @example
 * const workflowsPath = fileURLToPath(new URL('workflows.js', import.meta.url));
 * const plugins = [new WorktrackPlugin({ configFile: 'worktrack.yaml' })];
 * const worker = await Worker.create({ taskQueue: 'worktrack', workflowsPath, plugins });
 * await worker.run();
 */
export class WorktrackPlugin extends SimplePlugin {
  readonly #source: WorktrackPluginOptions;
  readonly #running = new Set<Worker>();
  readonly #retries = new RetryWatch(runtimeMeter());
  #connections: Connections | null = null;
  #activities: Activities | null = null;
  #replaced: Settings | null = null;
  #gauges: ReturnType<typeof startGauges> | null = null;
  #around: ActivityInterceptorsFactory | null = null;
  readonly #published = new Map<Worker, PublishedConfig>();

  constructor(source: WorktrackPluginOptions = {}) {
    super({ name: 'temporal-worktrack' });
    this.#source = source;
  }

  /** @throws ConfigurationError for an invalid configuration; Error if another activity has the name of one of this package */
  override configureWorker(options: WorkerOptions): WorkerOptions {
    keepThreadPoolAwake();
    this.#connections ??= openConnections(this.#settings(), {
      logger: runtimeLogger,
      meter: runtimeMeter(),
      draining: () => [...this.#running].some((worker) => STOPPING_STATES.includes(worker.getState())),
    });
    this.#activities ??= createActivities(this.#connections);
    const activities = mergeActivities(options.activities ?? {}, this.#activities);
    this.#around ??= aroundActivities(
      this.#connections,
      this.#retries,
      new LoopWatch({ warn: runtimeLogger.warn }),
    );
    const interceptors = withInterceptors(options.interceptors, [logContext, this.#around]);
    const sinks = { ...options.sinks, ...metricSinks };
    const configured = super.configureWorker(options);
    return {
      shutdownGraceTime: SHUTDOWN_GRACE,
      // With `debugMode`, the SDK has no limit.
      ...(options.debugMode !== true && { isolateExecutionTimeout: WORKFLOW_CODE_LIMIT }),
      ...configured,
      ...{ activities, interceptors, sinks },
    };
  }

  override async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    this.#running.add(worker);
    this.#publish(worker);
    if (exportsMetrics()) this.#gauges ??= this.#startGauges(worker);
    try {
      await super.runWorker(worker, next);
    } finally {
      // If the plugin was passed twice, this runs twice per worker. The second run closes nothing.
      this.#running.delete(worker);
      await this.#published.get(worker)?.withdraw();
      this.#published.delete(worker);
      if (this.#running.size === 0) {
        this.#gauges?.stop();
        this.#gauges = null;
        await this.#connections?.close();
      }
    }
  }

  /**
   * Uses another configuration from the next run on. Runs and write-backs in progress keep theirs. Commands such as
   * `worktrack status` see the change within seconds.
   *
   * @example
   * process.on('SIGHUP', () => plugin.reload(loadSettings({ env: process.env, cwd: process.cwd() })));
   */
  reload(settings: Settings): void {
    this.#replaced = settings;
    this.#connections?.replace(settings);
    for (const published of this.#published.values()) published.publish(settings);
  }

  /** Publishes a worker's configuration before it polls. Otherwise this happens while it starts. Never rejects. */
  async announce(worker: Worker): Promise<void> {
    this.#publish(worker);
    await this.#published.get(worker)?.ready;
  }

  #publish(worker: Worker): void {
    if (worker.connection === undefined || this.#published.has(worker)) return;
    this.#published.set(worker, publishConfig(worker, this.#connections!.settings, runtimeLogger.warn));
  }

  #startGauges({ options: { taskQueue } }: Worker) {
    const connections = this.#connections!;
    const { meter } = connections;
    meter.record('buildInfo', 1, { version: VERSION, node_version: process.versions.node });
    return startGauges({
      ...{ connections, meter, taskQueue, retries: this.#retries },
      client: () => {
        const [worker] = this.#running;
        return worker?.connection === undefined ? null : clientOf(worker);
      },
      onError: runtimeLogger.warn,
    });
  }

  #settings(): Settings {
    const { settings, configFile } = this.#source;
    return (
      this.#replaced ?? settings ?? loadSettings({ file: configFile, env: process.env, cwd: process.cwd() })
    );
  }
}

/** Adds our interceptors last, so that no other attributes replace ours, and only once, even if the plugin is passed twice. */
function withInterceptors(
  theirs: WorkerInterceptors = {},
  ours: readonly ActivityInterceptorsFactory[],
): WorkerInterceptors {
  const { activity = [] } = theirs;
  return { ...theirs, activity: [...activity, ...ours.filter((one) => !activity.includes(one))] };
}

function mergeActivities(theirs: object, ours: Activities): object {
  const clash = Object.entries(theirs).find(([name, own]) => {
    const brought: unknown = ours[name as keyof Activities];
    return brought !== undefined && brought !== own;
  });
  if (clash === undefined) return { ...theirs, ...ours };
  throw new Error(
    `an activity named "${clash[0]}" already exists; a worker can use only one plugin of temporal-worktrack`,
  );
}
