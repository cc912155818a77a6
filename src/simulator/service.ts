import { ServiceClock } from './clock.js';
import { CursorCodec } from './cursors.js';
import { Dataset, type DatasetContext } from './dataset.js';
import { FaultBook } from './faults.js';
import { HookBook } from './hooks.js';
import { IdempotencyMemory } from './idempotency.js';
import { Journal, readJournal } from './journal.js';
import { KeyRing } from './keys.js';
import { ChainTrails } from './listing.js';
import {
  DEMO_KEY,
  DEMO_ORGANIZATION,
  type SimulatorOptions,
  type TunableOptions,
  tunableOptions,
} from './options.js';
import { BUILT_IN_RESOURCES, type ResourceDefinition } from './resources.js';
import { RequestStats } from './stats.js';

const HOUR = 3_600_000;
const DEMO_KEYS = [{ key: DEMO_KEY, name: 'demo', organization: DEMO_ORGANIZATION, grants: ['*'] }];

/** All state of a running simulator. */
export class Service {
  readonly clock: ServiceClock;
  readonly options: TunableOptions;
  readonly resources: ReadonlyMap<string, ResourceDefinition>;
  readonly keys: KeyRing;
  readonly faults: FaultBook;
  readonly hooks = new HookBook();
  readonly stats: RequestStats;
  readonly codec: CursorCodec;
  readonly trails = new ChainTrails();
  readonly memory = new IdempotencyMemory();
  readonly #context: DatasetContext;
  #datasets = new Map<string, Dataset>();

  /** Reads the state file, where there is one. Throws when it was begun with another seed. */
  constructor(options: SimulatorOptions) {
    const seed = options.seed ?? 1;
    const definitions = [...BUILT_IN_RESOURCES, ...(options.resources ?? [])];
    this.clock = new ServiceClock(options.now);
    this.options = tunableOptions(options);
    this.resources = new Map(definitions.map((definition) => [definition.name, definition]));
    this.keys = new KeyRing(options.keys ?? DEMO_KEYS, options.withoutApi ?? []);
    this.faults = new FaultBook(seed);
    this.stats = new RequestStats(options.recentRequests ?? 20_000);
    this.codec = new CursorCodec(seed);

    const entries = options.stateFile === undefined ? [] : readJournal(options.stateFile);
    const start = entries[0];
    if (start?.op === 'start' && start.seed !== seed) {
      throw new Error(`${options.stateFile} was begun with --seed ${start.seed}, not ${seed}`);
    }
    // Whole hours, so that seeded data stays the same for a while without a clock that stands still.
    const epoch = start?.op === 'start' ? start.epoch : Math.floor(this.clock.now() / HOUR) * HOUR;
    const journal = options.stateFile === undefined ? null : new Journal(options.stateFile);
    if (journal !== null && start === undefined) journal.append({ op: 'start', epoch, seed });
    const defaults = definitions.map((definition): [string, number] => [
      definition.name,
      definition.count ?? 0,
    ]);
    this.#context = {
      clock: this.clock,
      options: this.options,
      resources: this.resources,
      counts: { ...Object.fromEntries(defaults), ...options.counts },
      awkwardEvery: options.awkward === false ? 0 : (options.awkwardEvery ?? 20),
      seed,
      epoch,
      journal,
    };
    for (const entry of entries) {
      if (entry.op !== 'put') continue;
      this.dataset(entry.organization).replay(entry);
      if (entry.idempotency !== undefined) this.memory.remember(entry.organization, entry.idempotency);
    }
  }

  /** The data of an organization; one that nobody named before gets seeded data of its own. */
  dataset(organization: string): Dataset {
    let dataset = this.#datasets.get(organization);
    if (dataset === undefined) {
      dataset = new Dataset(this.#context, organization);
      this.#datasets.set(organization, dataset);
    }
    return dataset;
  }

  /** Sorts all lists by the order of the options. */
  reorder(): void {
    for (const dataset of this.#datasets.values()) dataset.reorder();
  }

  close(): void {
    this.#context.journal?.close();
  }
}
