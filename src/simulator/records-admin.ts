import type { Dataset } from './dataset.js';
import { type RawField, readFields } from './raw-json.js';

/** Fields as a JavaScript object, or as the JSON text of an object where literals (12.50, 2^53 + 1) matter. */
export type FieldsInput = string | Readonly<Record<string, unknown>>;

/** Which records: by id, or so many of those now listed, the newest by id or spread evenly. */
export type RecordChoice =
  | { readonly ids: readonly string[] }
  | { readonly count: number; readonly pick: 'newest' | 'spread' };

/** `listed`: what lists show now; `stored`: all there are, in or out of a window; `ever`: deleted ones too. */
export type RecordScope = 'listed' | 'stored' | 'ever';

/** The truth about one organization's data, and its hands. Unknown resources and ids throw `RangeError`. */
export class RecordsAdmin {
  readonly #data: Dataset;

  constructor(data: Dataset) {
    this.#data = data;
  }

  /** Seeds a resource now rather than when it is first asked for. */
  prepare(resource: string): void {
    this.#data.table(resource);
  }

  /** The JSON texts of a resource's records by ascending id. Default `stored`. */
  records(resource: string, scope: RecordScope = 'stored'): string[] {
    return [...this.eachRecord(resource, scope)];
  }

  /** As `records`, one by one. */
  *eachRecord(resource: string, scope: RecordScope = 'stored'): Generator<string> {
    const table = this.#data.table(resource);
    if (scope === 'listed') {
      const ids = this.#listedRows(resource).map((row): [string, number] => [table.id(row), row]);
      for (const [, row] of ids.sort(([a], [b]) => (a < b ? -1 : 1))) yield table.listedText(row);
      return;
    }
    for (const row of table.rowsById()) {
      const { text, deleted } = table.truth(row);
      if (scope === 'ever' || !deleted) yield text;
    }
  }

  /** Makes a record without the API's validation; `id` (26 characters), `createdAt` and `updatedAt` may be given. */
  create(resource: string, fields: FieldsInput): string {
    return this.#data.create(resource, raw(fields)).id;
  }

  /** Changes fields, and `updatedAt` to the service's now unless it is given. */
  update(resource: string, id: string, fields: FieldsInput): void {
    this.#data.update(resource, id, raw(fields));
  }

  /** Deletes records: lists and GET by id know them no more. */
  remove(resource: string, ids: readonly string[]): void {
    for (const id of ids) this.#data.remove(resource, id);
  }

  /** Sets `updatedAt` to the service's now, which in order `updatedAt` moves records to the end. Returns their ids. */
  touch(resource: string, choice: RecordChoice): string[] {
    return this.#change(resource, choice, []);
  }

  /** Sets the date of a resource with a window, ms since 1970: records move into the window or out of it. */
  move(resource: string, ids: readonly string[], to: number): void {
    const field = this.#data.context.resources.get(resource)?.windowField;
    if (field === undefined) throw new RangeError(`${resource} has no window to move in`);
    this.#change(resource, { ids }, [[field, JSON.stringify(new Date(to).toISOString())]]);
  }

  /** Gives records a field; `value` is JSON text. Returns their ids. */
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
    const { clock, options, resources } = this.#data.context;
    const windowed = resources.get(resource)?.windowField !== undefined;
    const { rows } = this.#data.table(resource).page({
      after: null,
      skip: 0,
      limit: Number.POSITIVE_INFINITY,
      changedAfter: Number.NEGATIVE_INFINITY,
      windowFrom: windowed ? clock.now() - options.windowDays * 86_400_000 : Number.NEGATIVE_INFINITY,
    });
    return rows;
  }
}

const raw = (fields: FieldsInput): RawField[] =>
  readFields(typeof fields === 'string' ? fields : JSON.stringify(fields));
