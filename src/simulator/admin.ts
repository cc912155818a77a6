import type { FaultBook } from './faults.js';
import type { HookAction, HookMatch } from './hooks.js';
import type { KeyRing } from './keys.js';
import { DEMO_ORGANIZATION, retune, type TunableOptions } from './options.js';
import { RecordsAdmin } from './records-admin.js';
import type { Service } from './service.js';
import type { StatsSnapshot } from './stats.js';

/** Control of a running simulator from within the process; its record methods are for the organization `acme`. */
export class SimulatorAdmin extends RecordsAdmin {
  readonly faults: FaultBook;
  readonly keys: KeyRing;
  readonly #service: Service;

  constructor(service: Service) {
    super(service.dataset(DEMO_ORGANIZATION));
    this.#service = service;
    this.faults = service.faults;
    this.keys = service.keys;
  }

  /** The records of another organization. */
  organization(name: string): RecordsAdmin {
    return new RecordsAdmin(this.#service.dataset(name));
  }

  /** The service's clock, ms since 1970. */
  now(): number {
    return this.#service.clock.now();
  }

  /** Stops the service's clock at `ms`. */
  setNow(ms: number): void {
    this.#service.clock.set(ms);
  }

  /** Moves the service's clock by `ms`. */
  advance(ms: number): void {
    this.#service.clock.advance(ms);
  }

  /** Lets the clock run with real time from where it stands. */
  runClock(): void {
    this.#service.clock.run();
  }

  /**
   * Runs `action` once, when the first request that matches has arrived and before it is answered: what changes there
   * changes between two pages, and the answer waits for a promise.
   */
  beforeAnswer(match: HookMatch, action: HookAction): void {
    this.#service.hooks.add(match, action);
  }

  stats(): StatsSnapshot {
    return this.#service.stats.snapshot();
  }

  resetStats(): void {
    this.#service.stats.reset();
  }

  /** Changes options while running. Throws `TypeError` for a name that is none of `TunableOptions`. */
  configure(changes: Partial<TunableOptions>): void {
    retune(this.#service.options, changes);
    if (changes.order !== undefined) this.#service.reorder();
  }
}
