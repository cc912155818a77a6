import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createActivities } from '../../activities/index.js';
import { parseSettings } from '../../src/config/index.js';
import type { RunId } from '../../src/core/brands.js';
import type {
  Activities,
  Audited,
  AuditReport,
  AuditRequest,
  DryRunRequest,
  PhaseRef,
  RunPublished,
  RunRef,
  RunRequest,
} from '../../src/core/contract/index.js';
import type { RequestSpec } from '../../src/core/mirror-requests.js';
import type { ConnectionSettings, Settings } from '../../src/core/settings.js';
import { type PublishedSnapshot, readPublished } from '../../src/lake/published/read-published.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import {
  DEMO_KEY,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '../../src/simulator/index.js';
import { type Connections, openConnections } from '../../src/temporal/worker/connections.js';
import {
  type Ended,
  IN_LAKE,
  type Input,
  MirrorDriver,
  type Output,
  type Serving,
  type ShownPreview,
} from './mirror-driver.js';

interface Options {
  readonly simulator: SimulatorOptions;
  /** The resource that is mirrored, and its settings as YAML, such as `{ name: tasks }`. */
  readonly resource: string;
  readonly yaml: string;
  /** More keys of the connection, with an indentation of four spaces. */
  readonly connection?: string;
}

export interface RunOptions {
  readonly full?: boolean;
  readonly reconcile?: boolean;
  readonly allowDeletes?: boolean;
  readonly adopt?: boolean;
  /** The user who accepts failed checks. */
  readonly acceptChecks?: string;
  /** Whether the run may be in memory. Default: that of the mirror. */
  readonly inMemory?: boolean;
  /** Attempt of its first activity. Default: the first. */
  readonly attempt?: number;
  /** Takes the warnings of the table, which otherwise fail the run. */
  readonly tableWarnings?: string[];
  /** Called with the environment of each activity, so that a test can cancel it. */
  readonly onStart?: (environment: MockActivityEnvironment) => void;
}

const SILENT = new DefaultLogger('ERROR', () => {});

export type { Ended } from './mirror-driver.js';

interface MirrorOptions {
  /** Temporal's clock, milliseconds since 1970. Default: a clock that is one second later with each request. */
  readonly now?: () => number;
  /** Time since each activity was first scheduled, ms. */
  readonly elapsed?: number;
  /** Whether runs may be in memory. Default: they may. */
  readonly inMemory?: boolean;
}

/**
 * A mirror in this process: the real activities as its rules request them, but no Temporal, so that hundreds of runs take
 * seconds.
 */
export class ActivityMirror extends MirrorDriver {
  /** Whether the worker is stopping. */
  draining = false;
  /** The workflow of its activities. A test sets another run id for each run of a batch. */
  execution = { workflowId: 'test', runId: '00000000-0000-0000-0000-000000000000' };
  #onStart: NonNullable<RunOptions['onStart']> = () => {};
  readonly #options: MirrorOptions;
  #connections: Connections;

  constructor(settings: Settings, resource: string, options: MirrorOptions = {}) {
    super(settings.connections[0]!.name, resource);
    this.#options = options;
    this.#connections = openConnections(settings, { draining: () => this.draining });
  }

  /** The settings of its connection. */
  get settings(): ConnectionSettings {
    return this.#connections.settings.connections[0]!;
  }

  get store(): ObjectStore {
    return this.#connections.connection(this.settings.name).store;
  }

  /** Uses other settings from the next run on. */
  async use(settings: Settings): Promise<void> {
    const before = this.#connections;
    this.#connections = openConnections(settings, { draining: () => this.draining });
    await before.close();
  }

  /** A run from its beginning to its end, in memory as far as it fits. @throws the failure that ended it */
  run(request: RunOptions = {}): Promise<Ended> {
    const { acceptChecks, attempt = this.#attempt(request), tableWarnings, onStart } = request;
    const spec = this.runSpec({ ...wanted(request), ...(acceptChecks !== undefined && { acceptChecks }) });
    return this.#publish(spec, { attempt }, tableWarnings, onStart);
  }

  async #publish(
    spec: RequestSpec,
    serving: Serving,
    tableWarnings?: string[],
    onStart: NonNullable<RunOptions['onStart']> = () => {},
  ): Promise<Ended> {
    this.#onStart = onStart;
    const { ended, tableWarnings: found } = await this.serve(spec, serving);
    if (tableWarnings === undefined && found.length > 0) throw new Error(found.join('\n'));
    tableWarnings?.push(...found);
    return ended!;
  }

  /** A run that does everything but publish. It changes nothing of the mirror. @throws the failure that ended it */
  async dryRun({ cells, settings, ...request }: RunOptions & DryRunRequest = {}): Promise<ShownPreview> {
    const dryRun = { ...(cells && { cells }), ...(settings && { settings }) };
    const run = await this.#preview({ ...wanted(request), dryRun }, request);
    if ('audit' in run) throw new Error('the dry run is no audit');
    return run;
  }

  /** Compares the published snapshot with the service. It changes nothing of the mirror. @throws the failure that ended it */
  async audit({
    cells,
    inMemory,
    ...audit
  }: Pick<RunOptions, 'inMemory'> & Pick<DryRunRequest, 'cells'> & AuditRequest = {}): Promise<AuditReport> {
    const dryRun = { audit, ...(cells && { cells }) };
    const request = { mode: 'full', reconcile: true, allowDeletes: true, dryRun } as const;
    const run = await this.#preview(request, inMemory === undefined ? {} : { inMemory });
    if (!('audit' in run)) throw new Error('the run is no audit');
    return run.audit;
  }

  async #preview(request: Partial<RunRequest>, options: RunOptions): Promise<ShownPreview | Audited> {
    const { clock, newestId } = this;
    try {
      const { previewed } = await this.serve(this.runSpec(request), { attempt: this.#attempt(options) });
      return previewed!;
    } finally {
      Object.assign(this, { clock, newestId });
    }
  }

  #attempt({ inMemory = this.#options.inMemory ?? true }: Pick<RunOptions, 'inMemory'>): number {
    return inMemory ? 1 : IN_LAKE;
  }

  /** Begins a run that fails once it has read the list. The next run may take over its pages. */
  async abandon(): Promise<void> {
    const stop = ApplicationFailure.nonRetryable('the run fails', 'Transient');
    this.#onStart = ({ context }) => {
      if (context.info.activityType === 'worktrack.mergePlan') throw stop;
    };
    await this.serve(this.runSpec({ mode: 'full' }), { attempt: IN_LAKE }).catch((error: unknown) => {
      if (error !== stop) throw error;
    });
    this.#onStart = () => {};
  }

  /** A run until its swap. @returns the step that sends it, as often as it is called */
  async merged(): Promise<{ readonly ref: RunRef; publish(): Promise<RunPublished> }> {
    const { next } = await this.serve(this.runSpec(), { attempt: IN_LAKE, until: 'worktrack.publish' });
    const input = next as PhaseRef;
    const { connection, resource, runId } = input;
    const publish = () => this.step('worktrack.publish', input) as Promise<RunPublished>;
    return { ref: { connection, resource, runId }, publish };
  }

  /** Removes a record from all published objects. @throws the failure that ended it */
  async purge(...key: string[]): Promise<void> {
    await this.serve({ kind: 'purge', key });
  }

  /** Publishes the rows of an earlier run. */
  rollBack(to: RunId, onStart?: RunOptions['onStart']): Promise<Ended> {
    return this.#publish({ kind: 'rollback', to }, {}, undefined, onStart);
  }

  protected override tick(): void {
    this.clock = this.#options.now?.() ?? this.clock + 1000;
  }

  /** Temporal's clock. */
  get #now(): number {
    return this.#options.now?.() ?? this.clock;
  }

  async step<N extends keyof Activities>(
    name: N,
    input: Input<N>,
    attempt = 1,
    elapsed = this.#options.elapsed ?? 0,
  ): Promise<Output<N>> {
    const environment = new MockActivityEnvironment(
      {
        ...{ activityType: name, workflowExecution: this.execution, attempt },
        scheduledTimestampMs: this.#now - elapsed,
        currentAttemptScheduledTimestampMs: this.#now,
      },
      { logger: SILENT },
    );
    this.#onStart(environment);
    const begun = performance.now();
    // The worker's clock is Temporal's, if a test sets that.
    const { now } = this.#options;
    const deps = now === undefined ? this.#connections : { ...this.#connections, now };
    const activity = createActivities(deps)[name] as (given: Input<N>) => Promise<Output<N>>;
    try {
      return (await environment.run(activity, input)) as Output<N>;
    } finally {
      // The clock of the next activity must not be behind the one of this.
      this.clock += Math.ceil(performance.now() - begun);
    }
  }

  /** The published snapshot. */
  current(): Promise<PublishedSnapshot> {
    return readPublished(this.store, this.mirror.state.resource);
  }

  close(): Promise<void> {
    return this.#connections.close();
  }
}

/** The same with a simulated service, and a lake in a folder. */
export class InProcessMirror extends ActivityMirror {
  readonly simulator: Simulator;
  readonly folder: string;

  private constructor(simulator: Simulator, folder: string, { resource, yaml, connection }: Options) {
    super(settingsOf(simulator, folder, yaml, connection), resource);
    this.simulator = simulator;
    this.folder = folder;
  }

  static async start(options: Options): Promise<InProcessMirror> {
    process.env.WORKTRACK_API_KEY = DEMO_KEY;
    const folder = await mkdtemp(join(tmpdir(), 'worktrack-mirror-'));
    return new InProcessMirror(await startSimulator(options.simulator), folder, options);
  }

  /** Uses other settings from the next run on. */
  configure(yaml: string, connection?: string): Promise<void> {
    return this.use(settingsOf(this.simulator, this.folder, yaml, connection));
  }

  override async close(): Promise<void> {
    await super.close();
    await this.simulator.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** What a request wants of its run. */
function wanted({ full = false, allowDeletes = false, reconcile = allowDeletes, adopt = false }: RunOptions) {
  return { mode: full || reconcile ? 'full' : 'increment', reconcile, adopt, allowDeletes } as const;
}

function settingsOf(simulator: Simulator, folder: string, yaml: string, connection = ''): Settings {
  const text = `connections:
  acme:
    baseUrl: ${simulator.url}
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "${pathToFileURL(join(folder, 'lake')).href}" }
    resources: [${yaml}]
${connection}`;
  return parseSettings(text, 'worktrack.yaml');
}
