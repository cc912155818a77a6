import type { Dataset } from './data/dataset.js';
import { type RawField, readFields } from './data/raw-json.js';
import type { FaultRules, HookAction, HookMatch } from './faults.js';
import type { KeyRing } from './http/api-keys.js';
import type { Service } from './simulated-service.js';
import { applyOptions, DEMO_ORGANIZATION, type TunableOptions } from './simulator-options.js';
import type { StatsSnapshot } from './stats.js';

/** Fields as a JavaScript object, or as JSON text if number literals (12.50, 2^53 + 1) must be preserved. */
export type FieldsInput = string | Readonly<Record<string, unknown>>;

/** Selects records: by id, or a number of listed records, either the newest by id or evenly spaced ones. */
export type RecordChoice =
  | { readonly ids: readonly string[] }
  | { readonly count: number; readonly pick: 'newest' | 'spread' };

/** `listed`: records that lists return now; `stored`: all, also those outside the window; `ever`: also deleted ones. */
export type RecordScope = 'listed' | 'stored' | 'ever';

/** Reads and changes the data of one organization. Unknown resources and ids throw `RangeError`. */
export class RecordsAdmin {
  readonly #data: Dataset;

  constructor(data: Dataset) {
    this.#data = data;
  }

  /** Seeds a resource now instead of at its first request. */
  prepare(resource: string): void {
    this.#data.table(resource);
  }

  /** The JSON texts of a resource's records in ascending order of their ids. */
  records(resource: string, scope: RecordScope = 'stored'): string[] {
    return [...this.eachRecord(resource, scope)];
  }

  /** Like `records`, as a generator. */
  *eachRecord(resource: string, scope: RecordScope = 'stored'): Generator<string> {
    const table = this.#data.table(resource);
    if (scope === 'listed') {
      const ids = this.#listedRows(resource).map((row): [string, number] => [table.id(row), row]);
      for (const [, row] of ids.sort(([a], [b]) => (a < b ? -1 : 1))) yield table.listedText(row);
      return;
    }
    for (const row of table.rowsById()) {
      const { text, deleted } = table.latest(row);
      if (scope === 'ever' || !deleted) yield text;
    }
  }

  /** Creates a record without the API's validation. `fields` may contain `id` (26 characters), `createdAt` and `updatedAt`. */
  create(resource: string, fields: FieldsInput): string {
    return this.#data.create(resource, raw(fields)).id;
  }

  /** Updates fields, and sets `updatedAt` to the service's current time unless it is given. */
  update(resource: string, id: string, fields: FieldsInput): void {
    this.#data.update(resource, id, raw(fields));
  }

  /** Deletes records from lists and GET by id. */
  remove(resource: string, ids: readonly string[]): void {
    for (const id of ids) this.#data.remove(resource, id);
  }

  /** Sets `updatedAt` to the service's current time, which moves records to the end of lists in the order `updatedAt`. Returns their ids. */
  touch(resource: string, choice: RecordChoice): string[] {
    return this.#change(resource, choice, []);
  }

  /** Sets the window field of records to a time (ms since 1970), which moves them into or out of the window. */
  move(resource: string, ids: readonly string[], to: number): void {
    const field = this.#data.context.resources.get(resource)?.windowField;
    if (field === undefined) throw new RangeError(`${resource} has no window`);
    this.#change(resource, { ids }, [[field, JSON.stringify(new Date(to).toISOString())]]);
  }

  /** Adds a field to records; `value` is JSON text. Returns their ids. */
  addField(resource: string, name: string, value: string, choice: RecordChoice): string[] {
    JSON.parse(value);
    return this.#change(resource, choice, [[name, value]]);
  }

  #change(resource: string, choice: RecordChoice, fields: readonly RawField[]): string[] {
    const ids = 'ids' in choice ? [...choice.ids] : this.#pick(resource, choice);
    for (const id of ids) this.#data.update(resource, id, fields);
    return ids;
  }

  #pick(resource: string, choice: { count: number; pick: 'newest' | 'spread' }): string[] {
    const table = this.#data.table(resource);
    const ids = this.#listedRows(resource)
      .map((row) => table.id(row))
      .sort();
    if (choice.pick === 'newest') return choice.count === 0 ? [] : ids.slice(-choice.count);
    const count = Math.min(choice.count, ids.length);
    return Array.from({ length: count }, (_, i) => ids[Math.floor((i * ids.length) / count)] as string);
  }

  #listedRows(resource: string): number[] {
    const { rows } = this.#data.table(resource).page({
      after: null,
      skip: 0,
      limit: Number.POSITIVE_INFINITY,
      changedAfter: Number.NEGATIVE_INFINITY,
      windowFrom: this.#data.windowFrom(resource),
    });
    return rows;
  }
}

const raw = (fields: FieldsInput): RawField[] =>
  readFields(typeof fields === 'string' ? fields : JSON.stringify(fields));

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
