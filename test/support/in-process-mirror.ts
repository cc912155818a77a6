import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createActivities } from '../../activities/index.js';
import { parseSettings } from '../../src/config/index.js';
import type { RunId, UtcSeconds } from '../../src/core/brands.js';
import type {
  Activities,
  Audited,
  AuditReport,
  AuditRequest,
  DryRunRequest,
  Previewed,
  PublishedRun,
  RunInput,
  RunRef,
} from '../../src/core/contract/index.js';
import { newestId as newestOf, newRunId } from '../../src/core/run-id.js';
import type { ConnectionSettings, Settings } from '../../src/core/settings.js';
import { type PublishedSnapshot, readPublished } from '../../src/lake/published/read-published.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { runPhases, type Steps } from '../../src/run/phases.js';
import {
  DEMO_KEY,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '../../src/simulator/index.js';
import { type Connections, openConnections } from '../../src/temporal/worker/connections.js';
import { IN_LAKE } from './manual-mirror.js';
import { newWriter } from './writer.js';

type Input<N extends keyof Activities> = Parameters<Activities[N]>[0];
type Output<N extends keyof Activities> = Awaited<ReturnType<Activities[N]>>;

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

export type Ended = PublishedRun & { readonly runId: RunId; readonly inMemory: boolean };

interface MirrorOptions {
  /** Temporal's clock, milliseconds since 1970. Default: a clock that is one second later with each request. */
  readonly now?: () => number;
  /** Time since each activity was first scheduled, ms. */
  readonly elapsed?: number;
  /** Whether runs may be in memory. Default: they may. */
  readonly inMemory?: boolean;
}

/**
 * A mirror in this process: the real activities in the order that the workflow requests them, but no Temporal, so that hundreds
 * of runs take seconds.
 */
export class ActivityMirror {
  /** Another one makes it another mirror of the same lake. */
  writer = newWriter();
  /** The time of the last request, milliseconds since 1970. */
  clock = Date.now();
  published: RunId | null = null;
  /** The id of the next request, as after a reset of the mirror; `null`: a new one. */
  nextId: RunId | null = null;
  /** The newest id that the mirror knows. */
  newestId: RunId | null = null;
  /** Whether the worker is stopping. */
  draining = false;
  #onStart: NonNullable<RunOptions['onStart']> = () => {};
  /** Number of runs that took over pages of a failed run. */
  resumed = 0;
  checkpoint: { readonly updatedSince: UtcSeconds } | null = null;
  readonly #resource: string;
  readonly #options: MirrorOptions;
  #connections: Connections;
  #resumable: RunId | null = null;

  constructor(settings: Settings, resource: string, options: MirrorOptions = {}) {
    this.#resource = resource;
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
  protected async use(settings: Settings): Promise<void> {
    const before = this.#connections;
    this.#connections = openConnections(settings, { draining: () => this.draining });
    await before.close();
  }

  /** A run from its beginning to its end, in memory as far as it fits. @throws the failure that ended it */
  async run(request: RunOptions = {}): Promise<Ended> {
    const { allowDeletes = false, inMemory = this.#options.inMemory ?? true } = request;
    const { attempt = inMemory ? 1 : IN_LAKE, onStart = () => {} } = request;
    this.#onStart = onStart;
    const { full = false, reconcile = allowDeletes, adopt = false, acceptChecks } = request;
    const input = this.#input({
      mode: full || reconcile ? 'full' : 'increment',
      reconcile,
      adopt,
      allowDeletes,
      ...(acceptChecks === undefined ? {} : { acceptChecks }),
    });
    return this.#noted(await this.#whole(input, attempt, request.tableWarnings));
  }

  /** A run that does everything but publish. It changes nothing of the mirror. @throws the failure that ended it */
  async dryRun({ cells, settings, ...request }: RunOptions & DryRunRequest = {}): Promise<Previewed> {
    const { allowDeletes = false, inMemory = this.#options.inMemory ?? true } = request;
    const { full = false, reconcile = allowDeletes, adopt = false } = request;
    const mode = full || reconcile ? 'full' : 'increment';
    const dryRun = { ...(cells && { cells }), ...(settings && { settings }) };
    const run = await this.#preview({ mode, reconcile, adopt, allowDeletes }, dryRun, inMemory);
    if ('audit' in run) throw new Error('the dry run is no audit');
    return run;
  }

  /** Compares the published snapshot with the service. It changes nothing of the mirror. @throws the failure that ended it */
  async audit({
    cells,
    inMemory = this.#options.inMemory ?? true,
    ...audit
  }: Pick<RunOptions, 'inMemory'> & Pick<DryRunRequest, 'cells'> & AuditRequest = {}): Promise<AuditReport> {
    const request = { mode: 'full', reconcile: true, adopt: false, allowDeletes: true } as const;
    const run = await this.#preview(request, { audit, ...(cells && { cells }) }, inMemory);
    if (!('audit' in run)) throw new Error('the run is no audit');
    return run.audit;
  }

  async #preview(
    request: Pick<RunInput, 'mode' | 'reconcile' | 'adopt' | 'allowDeletes'>,
    dryRun: DryRunRequest,
    inMemory: boolean,
  ): Promise<Previewed | Audited> {
    const { newestId, clock } = this;
    const input = { ...this.#input(request), dryRun };
    const { connection, resource, runId, pageSize, allowDeletes } = input;
    const ref: RunRef = { connection, resource, runId, isDry: true };
    try {
      const done = await this.step('worktrack.run', input, inMemory ? 1 : IN_LAKE);
      if (done.kind === 'previewed') return done.run;
      if (done.kind === 'published') throw new Error('a dry run published');
      const { prepared } = done;
      const { publish } = await runPhases(this.#steps, ref, { prepared, pageSize, allowDeletes });
      return await this.step('worktrack.preview', publish);
    } catch (error) {
      const { clock: nominalStart } = this;
      await this.step('worktrack.sweepFailedRun', { ...ref, nominalStart, staging: 'removed' });
      throw error;
    } finally {
      this.newestId = newestId;
      this.clock = clock;
    }
  }

  #noted(ended: Ended): Ended {
    this.published = ended.runId;
    this.checkpoint = ended.checkpoint;
    this.#resumable = null;
    return ended;
  }

  async #whole(input: RunInput, attempt: number, tableWarnings?: string[]): Promise<Ended> {
    const { connection, resource, runId, pageSize, allowDeletes } = input;
    const ref: RunRef = { connection, resource, runId };
    const done = await this.step('worktrack.run', input, attempt);
    if (done.kind === 'previewed') throw new Error('the run is no dry run');
    let ended: Ended;
    let table: boolean;
    if (done.kind === 'published') {
      ended = { ...done.run, runId: done.runId, inMemory: true };
      table = done.table;
    } else {
      const { prepared } = done;
      if (prepared.resumed !== null) this.resumed++;
      const { publish } = await runPhases(this.#steps, ref, { prepared, pageSize, allowDeletes });
      const published = await this.step('worktrack.publish', publish);
      ended = { ...published, runId: published.runId ?? runId, inMemory: false };
      table = prepared.table;
    }
    if (table) {
      const { warnings } = await this.step('worktrack.followTable', { ...ref, runId: ended.runId });
      if (tableWarnings === undefined && warnings.length > 0) throw new Error(warnings.join('\n'));
      tableWarnings?.push(...warnings);
    }
    return ended;
  }

  /** Begins a run that fails once it has read the list. The next run may take over its pages. */
  async abandon(): Promise<void> {
    const input = this.#input({ mode: 'full', reconcile: false, adopt: false, allowDeletes: false });
    const done = await this.step('worktrack.run', input, IN_LAKE);
    if (done.kind !== 'spilled') throw new Error('the run was published');
    const { connection, resource, runId, pageSize, allowDeletes } = input;
    const stop = new Error('the run fails');
    const steps: Steps = { ...this.#steps, mergePlan: () => Promise.reject(stop) };
    const options = { prepared: done.prepared, pageSize, allowDeletes };
    await runPhases(steps, { connection, resource, runId }, options).catch((error: unknown) => {
      if (error !== stop) throw error;
    });
    this.#resumable = runId;
  }

  get #steps(): Steps {
    return {
      read: (input) => this.step('worktrack.read', input),
      settle: (input) => this.step('worktrack.settle', input),
      settleById: (input) => this.step('worktrack.settleById', input),
      mergePlan: (input) => this.step('worktrack.mergePlan', input),
      merge: (input) => this.step('worktrack.merge', input),
    };
  }

  /** A run until its swap. @returns the step that sends it, as often as it is called */
  async merged(): Promise<{ readonly ref: RunRef; publish(): Promise<PublishedRun> }> {
    const input = this.#input({ mode: 'increment', reconcile: false, adopt: false, allowDeletes: false });
    const { connection, resource, runId, pageSize, allowDeletes } = input;
    const ref: RunRef = { connection, resource, runId };
    const done = await this.step('worktrack.run', input, IN_LAKE);
    if (done.kind !== 'spilled') throw new Error('the run was published');
    const options = { prepared: done.prepared, pageSize, allowDeletes };
    const ready = await runPhases(this.#steps, ref, options);
    const publish = () => this.step('worktrack.publish', ready.publish);
    return { ref, publish };
  }

  /** Sweeps as its workflow requests it. @param before the purge that requires it */
  async sweep(options: Partial<Input<'worktrack.sweep'>> = {}): Promise<Output<'worktrack.sweep'>> {
    return this.step('worktrack.sweep', {
      ...{
        connection: this.settings.name,
        resource: this.#resource,
        runId: this.published!,
        writer: this.writer,
      },
      ...{ publishedRunId: this.published, displaced: false, replaced: [], before: null, ...options },
    });
  }

  /** Removes a record from all published objects. @throws the failure that ended it */
  async purge(...key: string[]): Promise<void> {
    const { published, checkpoint } = await this.step('worktrack.purgeRecord', { ...this.#fenced(), key });
    this.published = published?.runId ?? null;
    this.checkpoint = checkpoint;
  }

  /** Publishes the rows of an earlier run. */
  async rollBack(to: RunId, onStart: NonNullable<RunOptions['onStart']> = () => {}): Promise<Ended> {
    this.#onStart = onStart;
    const request = { mode: 'increment', reconcile: false, adopt: false, allowDeletes: true } as const;
    return this.#noted(await this.#whole({ ...this.#input(request), rollbackTo: to }, 1));
  }

  #input(
    request: Pick<RunInput, 'mode' | 'reconcile' | 'adopt' | 'allowDeletes' | 'acceptChecks'>,
  ): RunInput {
    const fenced = this.#fenced();
    const { checkpoint, clock } = this;
    return {
      ...{ ...fenced, ...request, since: null, rollbackTo: null, checkpoint, resumable: this.#resumable },
      ...{ startedAt: clock, nominalStart: clock, pageSize: null, hookedTo: null },
    };
  }

  /** Each request has a second of its own, as in a mirror, whose ids never go back. */
  #fenced() {
    this.clock = this.#options.now?.() ?? this.clock + 1000;
    const runId = this.nextId ?? newRunId(this.clock, this.newestId, randomBytes(4).toString('hex'));
    this.newestId = newestOf([this.newestId, runId]);
    this.nextId = null;
    return {
      ...{ connection: this.settings.name, resource: this.#resource, runId, publishedRunId: this.published },
      ...{ writer: this.writer, displaced: false },
    };
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
        activityType: name,
        attempt,
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
    return readPublished(this.store, this.#resource);
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
