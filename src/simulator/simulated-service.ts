import { Dataset, type DatasetContext } from './data/dataset.js';
import { IdempotencyStore, Journal, readJournal } from './data/journal.js';
import type { SeedPlan } from './data/seed.js';
import { HOUR_MS, ServiceClock } from './data/service-clock.js';
import { FaultRules, Hooks } from './faults.js';
import { KeyRing } from './http/api-keys.js';
import { CursorCodec, CursorHistory } from './http/call.js';
import { type OddBehaviour, oddBehaviours } from './odd/index.js';
import type { OddTarget } from './odd/odd-service.js';
import {
  BUILT_IN_RESOURCES,
  DEMO_KEY,
  DEMO_ORGANIZATION,
  type ResourceDefinition,
  type SimulatorOptions,
  type TunableOptions,
  tunableOptions,
} from './simulator-options.js';
import { RequestStats } from './stats.js';

const DEMO_KEYS = [{ key: DEMO_KEY, name: 'demo', organization: DEMO_ORGANIZATION, grants: ['*'] }];

/** All state of a running simulator. */
export class Service implements DatasetContext, OddTarget {
  readonly clock: ServiceClock;
  readonly options: TunableOptions;
  readonly resources: ReadonlyMap<string, ResourceDefinition>;
  readonly keys: KeyRing;
  readonly faults: FaultRules;
  readonly hooks = new Hooks();
  readonly odd: readonly OddBehaviour[];
  readonly stats: RequestStats;
  readonly codec: CursorCodec;
  readonly cursorHistory = new CursorHistory();
  readonly idempotency = new IdempotencyStore();
  readonly rows: SeedPlan;
  readonly journal: Journal | null;
  #datasets = new Map<string, Dataset>();

  /** Reads the state file, if configured. Throws if it was created with another seed, and for an unknown odd service. */
  constructor(options: SimulatorOptions) {
    this.odd = oddBehaviours(options.odd ?? []);
    const seed = options.seed ?? 1;
    const realistic = options.data === 'realistic';
    const definitions = [...BUILT_IN_RESOURCES, ...(options.resources ?? [])];
    this.clock = new ServiceClock(options.now);
    this.options = tunableOptions(options);
    this.resources = new Map(definitions.map((definition) => [definition.name, definition]));
    this.keys = new KeyRing(options.keys ?? DEMO_KEYS, options.withoutApi ?? []);
    this.faults = new FaultRules(seed);
    this.stats = new RequestStats(options.recentRequests ?? 20_000);
    this.codec = new CursorCodec(seed);

    const entries = options.stateFile === undefined ? [] : readJournal(options.stateFile);
    const start = entries[0];
    if (start?.op === 'start' && start.seed !== seed) {
      throw new Error(`${options.stateFile} was created with --seed ${start.seed}, not ${seed}`);
    }
    // Rounded to the hour, so that seeded data stays the same for some time even if the clock runs.
    const epoch = start?.op === 'start' ? start.epoch : Math.floor(this.clock.now() / HOUR_MS) * HOUR_MS;
    this.journal = options.stateFile === undefined ? null : new Journal(options.stateFile);
    if (start === undefined) this.journal?.append({ op: 'start', epoch, seed });
    const counts = Object.fromEntries(definitions.map(({ name, count = 0 }) => [name, count]));
    this.rows = {
      counts: { ...counts, ...options.counts },
      awkwardEvery: options.awkward === false || realistic ? 0 : (options.awkwardEvery ?? 20),
      realistic,
      worded: options.data === 'worded',
      seed,
      epoch,
    };
    for (const entry of entries) if (entry.op === 'put') this.dataset(entry.organization).apply(entry);
    for (const odd of this.odd) odd.start?.(this);
  }

  /** The data of an organization; a new organization gets its own seeded data. */
  dataset(organization: string): Dataset {
    let dataset = this.#datasets.get(organization);
    if (dataset === undefined) {
      dataset = new Dataset(this, organization);
      this.#datasets.set(organization, dataset);
    }
    return dataset;
  }

  /** Sorts all lists in the configured order. */
  reorder(): void {
    for (const dataset of this.#datasets.values()) dataset.reorder();
  }

  close(): void {
    this.journal?.close();
  }
}
