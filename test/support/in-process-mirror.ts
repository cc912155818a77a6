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
import type { Activities, ExtractResult, PublishedRun, RunRef } from '../../src/core/contract/index.js';
import { newestId as newestOf, newRunId } from '../../src/core/run-id.js';
import type { ConnectionSettings } from '../../src/core/settings.js';
import { type PublishedSnapshot, readPublished } from '../../src/lake/published/read-published.js';
import { type ObjectStore, openStore } from '../../src/lake/store/index.js';
import {
  DEMO_KEY,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '../../src/simulator/index.js';
import { type Connections, openConnections } from '../../src/temporal/worker/connections.js';
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
  /** Who accepts failed checks. */
  readonly acceptChecks?: string;
  /** Whether the run may be a short one. Default: it may. */
  readonly short?: boolean;
}

const SILENT = new DefaultLogger('ERROR', () => {});

export type Ended = PublishedRun & { readonly runId: RunId; readonly short: boolean };

/**
 * A mirror in this process: the real activities in the order in which the workflow requests them, a real simulator and a
 * lake in a folder, but no Temporal, so that hundreds of runs take seconds.
 */
export class InProcessMirror {
  readonly simulator: Simulator;
  readonly store: ObjectStore;
  readonly folder: string;
  readonly #resource: string;
  /** Another one makes it another mirror of the same lake. */
  writer = newWriter();
  #connections: Connections;
  /** Temporal's clock, milliseconds since 1970. */
  clock = Date.now();
  published: RunId | null = null;
  /** The id of the next request, as after a reset of the mirror; `null`: a new one. */
  nextId: RunId | null = null;
  /** The newest id that the mirror knows. */
  newestId: RunId | null = null;
  /** Number of runs that took over pages of a failed run. */
  resumed = 0;
  #isAbandoned = false;
  #resumable: RunId | null = null;
  checkpoint: { readonly updatedSince: UtcSeconds } | null = null;

  private constructor(simulator: Simulator, folder: string, { resource, yaml, connection }: Options) {
    this.simulator = simulator;
    this.folder = folder;
    this.#resource = resource;
    this.store = openStore({ url: pathToFileURL(join(folder, 'lake')).href });
    this.#connections = this.#open(yaml, connection);
  }

  static async start(options: Options): Promise<InProcessMirror> {
    process.env.WORKTRACK_API_KEY = DEMO_KEY;
    const folder = await mkdtemp(join(tmpdir(), 'worktrack-mirror-'));
    return new InProcessMirror(await startSimulator(options.simulator), folder, options);
  }

  #open(yaml: string, connection = ''): Connections {
    const text = `connections:
  acme:
    baseUrl: ${this.simulator.url}
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "${pathToFileURL(join(this.folder, 'lake')).href}" }
    resources: [${yaml}]
${connection}`;
    return openConnections(parseSettings(text, 'worktrack.yaml'));
  }

  /** Uses other settings from the next run on. */
  async configure(yaml: string, connection?: string): Promise<void> {
    const before = this.#connections;
    this.#connections = this.#open(yaml, connection);
    await before.close();
  }

  /** A run from its beginning to its end, as short as it can be. @throws the failure that ended it */
  async run({ allowDeletes = false, short = true, ...request }: RunOptions = {}): Promise<Ended> {
    const { full = false, reconcile = allowDeletes, adopt = false, acceptChecks } = request;
    const input = this.#preparation({
      mode: full || reconcile ? 'full' : 'increment',
      reconcile,
      adopt,
      allowDeletes,
      ...(acceptChecks === undefined ? {} : { acceptChecks }),
    });
    const mayBeShort =
      short && this.#resumable === null && this.published !== null && input.mode === 'increment' && !adopt;
    const done = mayBeShort ? await this.#shortRun(input) : null;
    const ended = done ?? (await this.#steps(input, allowDeletes))!;
    this.published = ended.runId;
    this.checkpoint = ended.checkpoint;
    return ended;
  }

  async #shortRun(input: Input<'worktrack.prepareRun'>): Promise<Ended | null> {
    const result = await this.step('worktrack.shortRun', { ...input, pageSize: null });
    if (result.kind === 'handed-over') return null;
    return { ...result.run, runId: result.runId, short: true };
  }

  /** Begins a run that fails once it has read the list. The next run may take over its pages. */
  async abandon(): Promise<void> {
    this.#isAbandoned = true;
    const request = { mode: 'full', reconcile: false, adopt: false, allowDeletes: false } as const;
    await this.#steps(this.#preparation(request), false);
  }

  async #steps(input: Input<'worktrack.prepareRun'>, allowDeletes: boolean): Promise<Ended | null> {
    const { connection, resource, runId } = input;
    const ref: RunRef = { connection, resource, runId };
    const prepared = await this.step('worktrack.prepareRun', input);
    let last: ExtractResult | null = prepared.rollback ?? prepared.resumed?.extracted ?? null;
    let call = 0;
    let number = 0;
    const read = async (kind: 'list' | 'catch-up'): Promise<number> => {
      const reading = { number: number++, kind };
      if (reading.number === 0 && prepared.resumed !== null && last?.done === true) return 0;
      do {
        const after = last?.stage ?? null;
        last = await this.step('worktrack.extractPages', {
          ...{ ...ref, call: call++, after, pageSize: null, read: reading },
        });
      } while (!last.done);
      return reading.number;
    };
    if (prepared.rollback === null) await read('list');
    if (this.#isAbandoned) {
      this.#isAbandoned = false;
      this.#resumable = runId;
      return null;
    }
    if (prepared.resumed !== null && !prepared.reconcile) {
      this.resumed++;
      await read('catch-up');
    }
    this.#resumable = null;
    let gone: Input<'worktrack.planMerge'>['gone'] = null;
    if (prepared.reconcile) {
      await read('catch-up');
      const first = await this.step('worktrack.findAbsent', {
        ...{ ...ref, stage: last!.stage, sinceRead: 0, among: null, allowDeletes },
      });
      if (first.count > 0) {
        const sinceRead = await read('list');
        await read('catch-up');
        const among = first.keys;
        const second = await this.step('worktrack.findAbsent', {
          ...{ ...ref, stage: last!.stage, sinceRead, among, allowDeletes },
        });
        if (second.count > 0) gone = second.keys;
      }
    }
    const { stage } = last!;
    const { plan, batches } = await this.step('worktrack.planMerge', {
      ...{ ...ref, stage, pass: 0, gone, allowDeletes },
    });
    const results = [];
    for (let batch = 0; batch < batches; batch++)
      results.push((await this.step('worktrack.mergeParts', { ...ref, plan, pass: 0, batch })).result);
    const published = await this.step('worktrack.publish', {
      ...{ ...ref, stage, plan, results, shifted: false, unproven: 0 },
    });
    if (prepared.table) {
      const { warnings } = await this.step('worktrack.followTable', ref);
      if (warnings.length > 0) throw new Error(warnings.join('\n'));
    }
    return { ...published, runId, short: false };
  }

  /** A run until its swap. @returns the step that sends it, as often as it is called */
  async merged(): Promise<{ readonly ref: RunRef; publish(): Promise<PublishedRun> }> {
    const request = { mode: 'increment', reconcile: false, adopt: false, allowDeletes: false } as const;
    const input = this.#preparation(request);
    const { connection, resource, runId } = input;
    const ref: RunRef = { connection, resource, runId };
    await this.step('worktrack.prepareRun', input);
    const { stage } = await this.step('worktrack.extractPages', {
      ...{ ...ref, call: 0, after: null, pageSize: null, read: { number: 0, kind: 'list' } },
    });
    const { plan, batches } = await this.step('worktrack.planMerge', {
      ...{ ...ref, stage, pass: 0, gone: null, allowDeletes: false },
    });
    const results: Input<'worktrack.publish'>['results'][number][] = [];
    for (let batch = 0; batch < batches; batch++)
      results.push((await this.step('worktrack.mergeParts', { ...ref, plan, pass: 0, batch })).result);
    const publish = () =>
      this.step('worktrack.publish', { ...ref, stage, plan, results, shifted: false, unproven: 0 });
    return { ref, publish };
  }

  /** Sweeps as its workflow requests it. @param before the purge that requires it */
  async sweep(options: Partial<Input<'worktrack.sweep'>> = {}): Promise<Output<'worktrack.sweep'>> {
    return this.step('worktrack.sweep', {
      ...{ connection: 'acme', resource: this.#resource, runId: this.published!, writer: this.writer },
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
  async rollBack(to: RunId): Promise<Ended> {
    const request = { mode: 'increment', reconcile: false, adopt: false, allowDeletes: true } as const;
    const input = { ...this.#preparation(request), rollbackTo: to };
    const ended = (await this.#steps(input, true))!;
    this.published = ended.runId;
    this.checkpoint = ended.checkpoint;
    return ended;
  }

  #preparation(
    request: Pick<
      Input<'worktrack.prepareRun'>,
      'mode' | 'reconcile' | 'adopt' | 'allowDeletes' | 'acceptChecks'
    >,
  ): Input<'worktrack.prepareRun'> {
    const fenced = this.#fenced();
    const { checkpoint, clock } = this;
    return {
      ...{ ...fenced, ...request, since: null, rollbackTo: null, checkpoint, resumable: this.#resumable },
      ...{ startedAt: clock, nominalStart: clock },
    };
  }

  /** Each request has a second of its own, as in a mirror, whose ids never go back. */
  #fenced() {
    this.clock += 1000;
    const runId = this.nextId ?? newRunId(this.clock, this.newestId, randomBytes(4).toString('hex'));
    this.newestId = newestOf([this.newestId, runId]);
    this.nextId = null;
    return {
      ...{ connection: 'acme', resource: this.#resource, runId, publishedRunId: this.published },
      ...{ writer: this.writer, displaced: false },
    };
  }

  /** The connection's settings. */
  get settings(): ConnectionSettings {
    return this.#connections.connection('acme').settings;
  }

  async step<N extends keyof Activities>(name: N, input: Input<N>): Promise<Output<N>> {
    const environment = new MockActivityEnvironment(
      { scheduledTimestampMs: this.clock, currentAttemptScheduledTimestampMs: this.clock },
      { logger: SILENT },
    );
    const activity = createActivities(this.#connections)[name] as (given: Input<N>) => Promise<Output<N>>;
    return (await environment.run(activity, input)) as Output<N>;
  }

  /** The published snapshot. */
  current(): Promise<PublishedSnapshot> {
    return readPublished(this.store, this.#resource);
  }

  async close(): Promise<void> {
    await this.#connections.close();
    this.store.close();
    await this.simulator.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
