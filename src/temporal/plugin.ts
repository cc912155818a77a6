import { SimplePlugin } from '@temporalio/plugin';
import type { State, Worker, WorkerInterceptors, WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../../activities/index.js';
import { loadSettings } from '../config/index.js';
import type { Activities } from '../core/contract.js';
import type { Settings } from '../core/settings.js';
import { type Connections, openConnections } from './connections.js';
import { watchFreshness } from './freshness.js';
import { logContext } from './log-context.js';
import { exportsMetrics, runtimeLogger, runtimeMeter } from './telemetry.js';

/** Time that activities have to save their position when a worker is told to stop. */
const SHUTDOWN_GRACE = '30 seconds';
const ENDING: readonly State[] = ['STOPPING', 'DRAINING', 'DRAINED'];

/** From where the plugin has its configuration, which only workers need. */
export interface WorktrackPluginOptions {
  /** Default: what the configuration file says. */
  readonly settings?: Settings | undefined;
  /** Default: `$WORKTRACK_CONFIG`, else `worktrack.yaml`, `.yml` or `.json` in the working directory. */
  readonly configFile?: string | undefined;
}

/**
 * Adds this package to a worker of yours: its activities, all of them called `worktrack.…`; the connections that they
 * need, which are closed when the last worker with this plugin has ended; and time to save their positions when a
 * worker is told to stop. The workflows are in your bundle: `export * from 'temporal-worktrack/workflows'`. A replay
 * worker needs no configuration.
 *
 * Give it to the worker, or to the connection that the worker uses; given to both it does no harm. Workers that share
 * one plugin share one rate budget for each connection of the configuration (DESIGN 3.13).
 */
export class WorktrackPlugin extends SimplePlugin {
  readonly #source: WorktrackPluginOptions;
  readonly #running = new Set<Worker>();
  #connections: Connections | null = null;
  #activities: Activities | null = null;
  #freshness: ReturnType<typeof watchFreshness> | null = null;

  constructor(options: WorktrackPluginOptions = {}) {
    super({ name: 'temporal-worktrack' });
    this.#source = options;
  }

  /** @throws ConfigurationError when the configuration cannot be used; Error when an activity of yours has a name of ours */
  override configureWorker(options: WorkerOptions): WorkerOptions {
    this.#connections ??= openConnections(this.#settings(), {
      logger: runtimeLogger,
      meter: runtimeMeter(),
      draining: () => [...this.#running].some((worker) => ENDING.includes(worker.getState())),
    });
    this.#activities ??= createActivities(this.#connections);
    const activities = withoutClash(options.activities ?? {}, this.#activities);
    const interceptors = withLogContext(options.interceptors);
    return { shutdownGraceTime: SHUTDOWN_GRACE, ...super.configureWorker(options), activities, interceptors };
  }

  override async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    this.#running.add(worker);
    if (exportsMetrics()) this.#freshness ??= this.#watchFreshness();
    try {
      await super.runWorker(worker, next);
    } finally {
      // The outer of two calls for one worker finds it gone, and closes what is closed already.
      this.#running.delete(worker);
      if (this.#running.size === 0) {
        await this.#freshness?.stop();
        this.#freshness = null;
        await this.#connections?.close();
      }
    }
  }

  #watchFreshness() {
    return watchFreshness({
      settings: this.#settings(),
      connections: this.#connections!,
      meter: this.#connections!.meter,
      onTrouble: (message) => runtimeLogger.warn(message),
    });
  }

  #settings(): Settings {
    const { settings, configFile } = this.#source;
    return settings ?? loadSettings({ file: configFile, env: process.env, cwd: process.cwd() });
  }
}

/** Last, so that nobody's attributes replace ours; once, though the plugin may be given twice. */
function withLogContext(theirs: WorkerInterceptors = {}): WorkerInterceptors {
  const { activity = [] } = theirs;
  return activity.includes(logContext) ? theirs : { ...theirs, activity: [...activity, logContext] };
}

function withoutClash(theirs: object, ours: Activities): object {
  const clash = Object.entries(theirs).find(([name, own]) => {
    const brought: unknown = ours[name as keyof Activities];
    return brought !== undefined && brought !== own;
  });
  if (clash === undefined) return { ...theirs, ...ours };
  throw new Error(
    `an activity "${clash[0]}" is there already; one worker takes one plugin of temporal-worktrack`,
  );
}
