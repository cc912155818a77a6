import type { FaultRules } from '../faults/faults.js';
import type { HookAction, HookMatch } from '../faults/hooks.js';
import type { KeyRing } from '../http/keys.js';
import { applyOptions, DEMO_ORGANIZATION, type TunableOptions } from '../options.js';
import type { Service } from '../service.js';
import { RecordsAdmin } from './records-admin.js';
import type { StatsSnapshot } from './stats.js';

/** Controls a running simulator in the same process. The record methods apply to the organization `acme`. */
export class SimulatorAdmin extends RecordsAdmin {
  readonly faults: FaultRules;
  readonly keys: KeyRing;
  readonly #service: Service;

  constructor(service: Service) {
    super(service.dataset(DEMO_ORGANIZATION));
    this.#service = service;
    this.faults = service.faults;
    this.keys = service.keys;
  }

  /** Controls the records of another organization. */
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

  /** Lets the clock run in real time from its current value. */
  runClock(): void {
    this.#service.clock.run();
  }

  /**
   * Runs `action` once: after the first matching request has arrived, and before its response. The response waits for
   * the promise, so the action can change data between two pages.
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

  /** Changes options while running. Throws `TypeError` for a name that is not in `TunableOptions`. */
  configure(changes: Partial<TunableOptions>): void {
    applyOptions(this.#service.options, changes);
    if (changes.order !== undefined) this.#service.reorder();
  }
}
