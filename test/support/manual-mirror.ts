import { MockActivityEnvironment } from '@temporalio/testing';
import { createActivities } from '../../activities/index.js';
import type { RunId } from '../../src/core/brands.js';
import type {
  Activities,
  PhaseRef,
  RunPublished,
  RunRef,
  RunRequest,
} from '../../src/core/contract/index.js';
import { newRunId } from '../../src/core/run-id.js';
import type { Settings } from '../../src/core/settings.js';
import { type Connections, openConnections } from '../../src/temporal/worker/connections.js';
import type { LateRequest, LateRequests } from './late-requests.js';
import { type Ended, IN_LAKE, type Input, MirrorDriver, type Output } from './mirror-driver.js';

/** An activity whose first attempt loses the network while one of its writes is in flight. */
export interface Loss {
  readonly activity: keyof Activities;
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
 * A mirror whose activities are called in the test's process, against real servers, with attempts that are replaced at the
 * points that the test chooses. Its runs are in the lake.
 */
export class ManualMirror extends MirrorDriver {
  readonly #direct: Connections;
  readonly #cut: Connections;
  readonly #proxy: LateRequests;
  #loss: Loss | null = null;
  #lost: Lost = { late: null, writes: 0 };
  #leaving: Promise<unknown>[] = [];

  /**
   * @param direct the configuration with the store's own endpoint
   * @param cut the same through the proxy, for attempts that lose the network
   */
  constructor(settings: { direct: Settings; cut: Settings }, proxy: LateRequests, resource: string) {
    super(settings.direct.connections[0]!.name, resource);
    this.#direct = openConnections(settings.direct);
    this.#cut = openConnections(settings.cut);
    this.#proxy = proxy;
  }

  get store() {
    return this.#direct.connection(this.mirror.state.connection).store;
  }

  /** Cuts the network in the next call. */
  lose(loss: Loss): Lost {
    this.#loss = loss;
    this.#lost = { late: null, writes: 0 };
    return this.#lost;
  }

  /** A run in the lake, from its beginning to its end. Returns what was published. */
  async run(changes: Partial<RunRequest> = {}): Promise<Ended> {
    return (await this.serve(this.runSpec(changes), { attempt: IN_LAKE })).ended!;
  }

  /** A run without its sweep. */
  async publish(): Promise<Ended> {
    return (await this.serve(this.runSpec(), { attempt: IN_LAKE, until: 'worktrack.sweep' })).ended!;
  }

  /** A run in one activity, with its sweep; `null` if it has spilled. @param ref the run's id, if another attempt had it */
  async inMemory(ref?: RunRef): Promise<Ended | null> {
    this.nextId = ref?.runId ?? null;
    return (await this.serve(this.runSpec(), { until: 'phases' })).ended;
  }

  /** A run until it could be published. @param ref the run's id, if another attempt had it */
  async merge(ref?: RunRef): Promise<PhaseRef> {
    this.nextId = ref?.runId ?? null;
    const { next } = await this.serve(this.runSpec(), { attempt: IN_LAKE, until: 'worktrack.publish' });
    return next as PhaseRef;
  }

  /** The phase that publishes a run. */
  publishMerged(input: PhaseRef): Promise<RunPublished> {
    return this.step('worktrack.publish', input) as Promise<RunPublished>;
  }

  async rollBack(to: RunId): Promise<Ended> {
    return (await this.serve({ kind: 'rollback', to }, { attempt: IN_LAKE })).ended!;
  }

  async purge(...key: string[]): Promise<void> {
    await this.serve({ kind: 'purge', key });
  }

  /** A request whose id is given has its second. */
  protected override tick(): void {
    if (this.nextId === null) super.tick();
  }

  /** The id of a request, and its second. */
  ref(): RunRef {
    this.tick();
    const { connection, resource } = this.mirror.state;
    const runId = newRunId(this.clock, this.published, Math.random().toString(16).slice(2).padEnd(8, '0'));
    return { connection, resource, runId };
  }

  /** Runs one activity: the attempt that loses the network, if any, and the attempt that replaces it. */
  async step<N extends keyof Activities>(name: N, input: Input<N>, attempt = 1): Promise<Output<N>> {
    const loss = this.#loss?.activity === name ? this.#loss : null;
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

  #attempt<N extends keyof Activities>(name: N, input: Input<N>, deps: Connections, attempt: number) {
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
