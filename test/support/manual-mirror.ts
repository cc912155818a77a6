import { MockActivityEnvironment } from '@temporalio/testing';
import { createActivities } from '../../activities/index.js';
import type { RunId, UtcSeconds } from '../../src/core/brands.js';
import type { Activities, PreparedRun, PublishedRun, RunRef } from '../../src/core/contract/index.js';
import { newestId, newRunId } from '../../src/core/run-id.js';
import type { Settings } from '../../src/core/settings.js';
import { type Connections, openConnections } from '../../src/temporal/worker/connections.js';
import type { LateRequest, LateRequests } from './late-requests.js';
import { newWriter } from './writer.js';

type Name =
  | 'worktrack.run'
  | 'worktrack.read'
  | 'worktrack.mergePlan'
  | 'worktrack.merge'
  | 'worktrack.publish'
  | 'worktrack.sweep'
  | 'worktrack.sweepFailedRun'
  | 'worktrack.purgeRecord';
type Input<N extends Name> = Parameters<Activities[N]>[0];
type Output<N extends Name> = Awaited<ReturnType<Activities[N]>>;

/** After so many attempts of its activity, a run begins in the lake. */
export const IN_LAKE = 4;

/** An activity whose first attempt loses the network while one of its writes is in flight. */
export interface Loss {
  readonly activity: Name;
  /** Which of its writes, from 0, or the first one with such a URL. */
  readonly write: number | RegExp;
  /** The activity fails then; default: another attempt takes over. */
  readonly outcome?: 'fails';
  /** Called before the next attempt begins. */
  readonly onLost?: (late: LateRequest) => unknown;
}

/** The result of a network loss. */
export interface Lost {
  /** The request in flight; `null` when the activity has fewer writes. */
  late: LateRequest | null;
  /** Number of writes that the activity made, when it has fewer. */
  writes: number;
}

/**
 * A mirror whose activities the test calls as the workflow does: the same activities, against real servers, with attempts
 * that are replaced at the points that the test chooses.
 */
export class ManualMirror {
  readonly #direct: Connections;
  readonly #cut: Connections;
  readonly #proxy: LateRequests;
  readonly #connection: string;
  readonly writer = newWriter();
  readonly #resource: string;
  #loss: Loss | null = null;
  #lost: Lost = { late: null, writes: 0 };
  #leaving: Promise<unknown>[] = [];
  #firstAttempt = 1;
  /** Temporal's clock, milliseconds since 1970. */
  clock = Date.now();
  published: RunId | null = null;
  checkpoint: { readonly updatedSince: UtcSeconds } | null = null;
  /** Attempts of the current request that did not publish it. */
  replaced: RunId[] = [];
  /** Run id of the last purge. */
  purged: RunId | null = null;

  /**
   * @param direct the configuration with the store's own endpoint
   * @param cut the same through the proxy, for attempts that lose the network
   */
  constructor(settings: { direct: Settings; cut: Settings }, proxy: LateRequests, resource: string) {
    this.#direct = openConnections(settings.direct);
    this.#cut = openConnections(settings.cut);
    this.#proxy = proxy;
    this.#connection = settings.direct.connections[0]!.name;
    this.#resource = resource;
  }

  get store() {
    return this.#direct.connection(this.#connection).store;
  }

  /** Cuts the network in the next call. */
  lose(loss: Loss): Lost {
    this.#loss = loss;
    this.#lost = { late: null, writes: 0 };
    return this.#lost;
  }

  /** A run in the lake, from its beginning to its end. Returns what was published. */
  async run(input: Partial<Input<'worktrack.run'>> = {}): Promise<PublishedRun & { runId: RunId }> {
    const published = await this.publish(input);
    await this.sweep();
    return published;
  }

  /** A run without its sweep. */
  async publish(input: Partial<Input<'worktrack.run'>> = {}): Promise<PublishedRun & { runId: RunId }> {
    const { ref, results, stage, plan } = await this.merge(input);
    const published = await this.step('worktrack.publish', {
      ...{ ...ref, stage, plan, results },
      ...{ shifted: false, unproven: 0 },
    });
    this.published = ref.runId;
    this.checkpoint = published.checkpoint;
    return { ...published, runId: ref.runId };
  }

  /** The sweep after a run in the lake, or by the timer after a purge. */
  async sweep(): Promise<Output<'worktrack.sweep'>> {
    const { replaced, purged: before } = this;
    this.replaced = [];
    return this.step('worktrack.sweep', { ...this.ref(), ...this.#fence(), replaced, before });
  }

  /** A run in one activity, with its sweep; `null` if it has spilled. */
  async inMemory(ref: RunRef = this.ref()): Promise<(PublishedRun & { runId: RunId }) | null> {
    const sweep = { before: this.purged, ended: [], scope: 'all' } as const;
    const done = await this.step('worktrack.run', { ...this.#input(ref), sweep });
    if (done.kind !== 'published') return null;
    this.published = done.runId;
    this.checkpoint = done.run.checkpoint;
    this.replaced = [ref.runId];
    // Another attempt published the run, and may have ended before its sweep.
    if (done.swept === 'to do') await this.sweep();
    this.replaced = [];
    return { ...done.run, runId: done.runId };
  }

  /** Begins a run in the lake. */
  async #prepare(input: Input<'worktrack.run'>): Promise<PreparedRun> {
    this.#firstAttempt = IN_LAKE;
    try {
      const done = await this.step('worktrack.run', input);
      if (done.kind !== 'spilled') throw new Error('the run was published in memory');
      return done.prepared;
    } finally {
      this.#firstAttempt = 1;
    }
  }

  #input(ref: RunRef): Input<'worktrack.run'> {
    const { checkpoint } = this;
    return {
      ...ref,
      ...{
        mode: 'increment',
        reconcile: false,
        adopt: false,
        allowDeletes: false,
        since: null,
        rollbackTo: null,
        checkpoint,
        resumable: null,
        pageSize: null,
        hookedTo: null,
      },
      ...this.#fence(),
      ...{ startedAt: this.clock, nominalStart: this.clock },
    };
  }

  /** A run until it could be published. */
  async merge(input: Partial<Input<'worktrack.run'>> = {}, ref: RunRef = this.ref()) {
    const prepared = await this.#prepare({ ...this.#input(ref), ...input });
    const read = async () =>
      this.step('worktrack.read', {
        ...ref,
        call: 0,
        after: null,
        pageSize: null,
        read: { number: 0, kind: 'list' },
      });
    const { stage } = prepared.rollback ?? (await read());
    const { plan, batches } = await this.step('worktrack.mergePlan', {
      ...ref,
      stage,
      pass: 0,
      gone: null,
      expected: 0,
      allowDeletes: false,
    });
    const results = [];
    for (let batch = 0; batch < batches; batch++)
      results.push((await this.step('worktrack.merge', { ...ref, plan, pass: 0, batch })).result);
    return { ref, stage, plan, results };
  }

  async rollBack(to: RunId): Promise<PublishedRun & { runId: RunId }> {
    return this.run({ rollbackTo: to });
  }

  async purge(...key: string[]): Promise<Output<'worktrack.purgeRecord'>> {
    const ref = this.ref();
    const purged = await this.step('worktrack.purgeRecord', { ...ref, ...this.#fence(), key });
    this.purged = ref.runId;
    return purged;
  }

  /** Each request gets a different second, and ids never go back, as in a mirror. */
  ref(): RunRef {
    this.clock += 1000;
    const known = newestId([this.published, this.purged]);
    const runId = newRunId(this.clock, known, Math.random().toString(16).slice(2).padEnd(8, '0'));
    return { connection: this.#connection, resource: this.#resource, runId };
  }

  #fence() {
    return {
      publishedRunId: this.published,
      writer: this.writer,
      displaced: false,
    };
  }

  /** Runs one activity: the attempt that loses the network, if any, and the attempt that replaces it. */
  async step<N extends Name>(name: N, input: Input<N>): Promise<Output<N>> {
    const loss = this.#loss?.activity === name ? this.#loss : null;
    const attempt = this.#firstAttempt;
    if (loss === null) return this.#attempt(name, input, this.#direct, attempt).done;
    this.#loss = null;
    const { write } = loss;
    const held = this.#proxy.hold(({ number, url }) =>
      typeof write === 'number' ? number === write : write.test(decodeURIComponent(url)),
    );
    const first = this.#attempt(name, input, this.#cut, attempt);
    first.done.catch(() => {});
    const late = await Promise.race([held, first.done.then(() => null)]);
    if (late === null) {
      this.#lost.writes = this.#proxy.reconnect().length;
      return first.done;
    }
    this.#lost.late = late;
    await loss.onLost?.(late);
    first.cancel();
    this.#leaving.push(first.done.catch(() => {}));
    if (loss.outcome === 'fails') throw new Error('the network is lost');
    return this.#attempt(name, input, this.#direct, attempt + 1).done;
  }

  #attempt<N extends Name>(name: N, input: Input<N>, deps: Connections, attempt: number) {
    const environment = new MockActivityEnvironment({
      activityType: name,
      attempt,
      scheduledTimestampMs: this.clock,
      currentAttemptScheduledTimestampMs: this.clock,
    });
    const activity = createActivities(deps)[name] as (given: Input<N>) => Promise<Output<N>>;
    const done = environment.run(activity, input) as Promise<Output<N>>;
    return { done, cancel: () => environment.cancel() };
  }

  /** Waits until the attempts without network have failed, and reconnects the proxy. */
  async settle(): Promise<void> {
    await Promise.all(this.#leaving);
    this.#leaving = [];
    this.#proxy.reconnect();
  }

  async close(): Promise<void> {
    await this.settle();
    await this.#direct.close();
    await this.#cut.close();
  }
}
