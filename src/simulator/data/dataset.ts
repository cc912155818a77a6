import type { ResourceDefinition, TunableOptions } from '../simulator-options.js';
import { hashText, ulid } from './deterministic.js';
import type { IdempotencyStore, Journal, JournaledChange, StoredResponse } from './journal.js';
import { mergeFields, type RawField, readFields, writeFields } from './raw-json.js';
import { type SeedPlan, seedTable } from './seed.js';
import { DAY_MS, type ServiceClock } from './service-clock.js';
import { type RowVersion, Table } from './table.js';

/** State that the datasets of all organizations share. */
export interface DatasetContext {
  readonly clock: ServiceClock;
  readonly options: TunableOptions;
  readonly resources: ReadonlyMap<string, ResourceDefinition>;
  readonly rows: SeedPlan;
  readonly journal: Journal | null;
  readonly idempotency: IdempotencyStore;
}

/** The data of one organization. A table is seeded when it is first used. */
export class Dataset {
  readonly #seed: number;
  #tables = new Map<string, Table>();
  #calendarIds: Map<string, string> | null = null;
  #created = 0;

  constructor(
    readonly context: DatasetContext,
    readonly organization: string,
  ) {
    this.#seed = context.rows.seed ^ hashText(organization);
  }

  /** The table of a resource, after applying the delayed changes that are due. */
  table(resource: string): Table {
    let table = this.#tables.get(resource);
    if (table === undefined) {
      const { rows, options } = this.context;
      if (!this.context.resources.has(resource)) throw new RangeError(`there is no resource ${resource}`);
      table = new Table();
      seedTable(table, resource, { ...rows, seed: this.#seed });
      table.setOrder(options.order);
      this.#tables.set(resource, table);
    }
    table.applyDue(this.context.clock.now());
    return table;
  }

  /** Lists leave out records whose window field is before this time, ms since 1970. */
  windowFrom(resource: string): number {
    const { clock, options, resources } = this.context;
    const isWindowed = resources.get(resource)?.windowField !== undefined;
    return isWindowed ? clock.now() - options.windowDays * DAY_MS : Number.NEGATIVE_INFINITY;
  }

  /** Sorts all lists in the configured order. */
  reorder(): void {
    for (const table of this.#tables.values()) table.setOrder(this.context.options.order);
  }

  /** The JSON text of a record, or undefined if it does not exist or is deleted. */
  text(resource: string, id: string): string | undefined {
    const table = this.table(resource);
    const row = table.find(id);
    if (row === -1) return undefined;
    const { text, deleted } = table.latest(row);
    return deleted ? undefined : text;
  }

  /**
   * Creates a record from raw fields. The service sets `id`, `createdAt` and `updatedAt` unless `fields` has them.
   *
   * @param request its response is the new record, and is stored; absent without an idempotency key
   */
  create(
    resource: string,
    fields: readonly RawField[],
    request?: Omit<StoredResponse, 'body'>,
  ): { id: string; text: string } {
    const given = new Map(fields);
    const id = given.has('id') ? (JSON.parse(given.get('id') as string) as string) : this.#freshId(resource);
    if (this.text(resource, id) !== undefined) throw new RangeError(`${resource} already has a record ${id}`);
    const now = JSON.stringify(new Date(this.context.clock.now()).toISOString());
    const own = ['createdAt', 'updatedAt'].filter((name) => !given.has(name));
    const text = writeFields([
      ['id', JSON.stringify(id)],
      ...fields.filter(([name]) => name !== 'id'),
      ...own.map((name): RawField => [name, now]),
    ]);
    this.#write(resource, id, text, false, request && { ...request, body: text });
    return { id, text };
  }

  /** Updates fields of a record, and `updatedAt` unless the fields have it. Throws `RangeError` if it does not exist. */
  update(resource: string, id: string, fields: readonly RawField[]): string {
    const before = this.text(resource, id);
    if (before === undefined) throw new RangeError(`${resource} has no record ${id}`);
    const now = JSON.stringify(new Date(this.context.clock.now()).toISOString());
    const text = writeFields(mergeFields(readFields(before), [['updatedAt', now], ...fields]));
    this.#write(resource, id, text, false);
    return text;
  }

  /** Deletes a record. Throws `RangeError` if it does not exist. */
  remove(resource: string, id: string): void {
    const text = this.text(resource, id);
    if (text === undefined) throw new RangeError(`${resource} has no record ${id}`);
    this.#write(resource, id, text, true);
  }

  /** The id of the calendar entry with this pair, or undefined. */
  calendarId(source: string, sourceKey: string): string | undefined {
    if (this.#calendarIds === null) {
      this.#calendarIds = new Map();
      const table = this.table('calendar-entries');
      for (const row of table.rowsById()) this.#indexPair(table.id(row), table.latest(row));
    }
    return this.#calendarIds.get(pairKey(source, sourceKey));
  }

  /** Applies a change, also one of the state file. @param visibleAt when lists show it; default: immediately */
  apply({ resource, id, text, updatedAt, deleted, idempotency }: JournaledChange, visibleAt?: number): void {
    const field = this.context.resources.get(resource)?.windowField;
    const date = field === undefined ? Number.NaN : dateOf(text, field);
    const version: RowVersion = { text, updatedAt, date, deleted };
    this.table(resource).put(id, version, visibleAt);
    if (resource === 'calendar-entries' && this.#calendarIds !== null) this.#indexPair(id, version);
    if (idempotency !== undefined) this.context.idempotency.add(this.organization, idempotency);
  }

  #write(resource: string, id: string, text: string, deleted: boolean, idempotency?: StoredResponse): void {
    const { clock, options, journal } = this.context;
    const { organization } = this;
    const now = clock.now();
    const written = dateOf(text, 'updatedAt');
    const updatedAt = deleted || Number.isNaN(written) ? now : written;
    const change = { op: 'put', organization, resource, id, text, updatedAt, deleted, idempotency } as const;
    journal?.append(change);
    this.apply(change, options.visibilityLagMs > 0 ? now + options.visibilityLagMs : undefined);
  }

  #indexPair(id: string, version: RowVersion): void {
    const record = JSON.parse(version.text) as { source?: unknown; sourceKey?: unknown };
    const key = pairKey(String(record.source), String(record.sourceKey));
    if (!version.deleted) this.#calendarIds?.set(key, id);
    else if (this.#calendarIds?.get(key) === id) this.#calendarIds.delete(key);
  }

  #freshId(resource: string): string {
    const table = this.table(resource);
    for (;;) {
      const id = ulid(this.context.clock.now(), this.#seed ^ hashText(resource) ^ 0x5eed, this.#created++);
      if (table.find(id) === -1) return id;
    }
  }
}

const pairKey = (source: string, sourceKey: string): string => JSON.stringify([source, sourceKey]);

function dateOf(text: string, field: string): number {
  const value = (JSON.parse(text) as Record<string, unknown>)[field];
  return typeof value === 'string' ? Date.parse(value) : Number.NaN;
}
