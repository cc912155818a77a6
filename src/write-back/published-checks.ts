import type { EpochMs, Millis } from '../core/brands.js';
import { type ByteString, fromByteString, toByteString } from '../core/brands.js';
import { dateSpan } from '../core/date-span.js';
import { InputError } from '../core/input-error.js';
import type { ConnectionSettings } from '../core/settings.js';
import type { Manifest } from '../lake/documents/manifest.js';
import { readRows as readPublishedRows } from '../lake/published/read-rows.js';
import { columnName, META_COLUMNS } from '../lake/rows/data-columns.js';
import { maskedColumns } from '../lake/rows/profile.js';
import type { ObjectStore } from '../lake/store/index.js';
import { type InputRow, textOf } from './fields.js';
import { HashTable } from './hash-table.js';
import { keyPartsHash } from './idempotency-key.js';
import { FORM_NAMES, type InputColumn, isExport, isIso, isIsoForm, sentNames } from './input-columns.js';
import type { InputProblems } from './input-problems.js';
import type { InputFacts, UnlikePublished } from './reading.js';

/** With so many published values, their form is not a coincidence. */
const ENOUGH_VALUES = 20;

/** A cell that has another form than all published values of its column. */
function unlikePublished(column: string, { line, value, form }: UnlikePublished): InputError {
  const asText = `send it as text: in a CSV, name the column \`${column}:string\`; in JSON, set --text-column ${column}`;
  if (form === 'time' && DAY.test(value))
    return new InputError(
      `the cell of ${column} is a date without a time, and all published values have one`,
      {
        ...{ line, value },
        remedy: `Write the time and its zone, too (2026-11-02T08:00:00Z), or ${asText}. A date format cannot add it.`,
      },
    );
  const isTime = isIsoForm(form);
  const other = isTime && !isIso(value, 'date or time') ? ' For another date format, set --date-format.' : '';
  return new InputError(
    `the cell of ${column} is not ${FORM_NAMES[form]}, as all published values of the column are`,
    {
      ...{ line, value, remedy: `Correct the cell, or ${asText}.${other}` },
      ...(isTime ? { about: { kind: 'time', column, form } } : {}),
    },
  );
}

/** A day in digits, such as 2026-11-02 and 2.11.2026. */
const DAY = /^\d{1,4}([./-])\d{1,2}\1\d{1,4}$/;

/**
 * Compares cells with the published values of their columns. Rows of the snapshot are only read if a cell differs from the
 * published form, so that a common input costs nothing.
 *
 * @param waived columns that have too few published values to judge a cell; more are added
 * @throws InputError for a cell that has another form than all of at least 20 published values of its column
 */
export async function checkForms(
  store: ObjectStore,
  published: Manifest,
  { unlike }: InputFacts,
  waived: Set<string>,
): Promise<void> {
  for (const [column, cell] of unlike) {
    if (waived.has(column)) continue;
    if (await hasEnoughValues(store, published, column)) throw unlikePublished(column, cell);
    waived.add(column);
  }
}

/** As `checkForms`, but collects the cells of all columns. Called once, when all rows were read. */
export async function collectForms(
  store: ObjectStore,
  published: Manifest,
  { unlike }: InputFacts,
  problems: InputProblems,
): Promise<void> {
  for (const [column, cell] of unlike)
    if (await hasEnoughValues(store, published, column))
      problems.addKind({ ...cell, first: unlikePublished(column, cell) });
}

async function hasEnoughValues(store: ObjectStore, published: Manifest, column: string): Promise<boolean> {
  const index = published.columns.findIndex(({ name }) => name === columnName(column));
  if (index === -1) return false;
  let values = 0;
  for await (const cells of readPublishedRows(store, published))
    if (cells[META_COLUMNS.length + index] !== null && ++values >= ENOUGH_VALUES) return true;
  return false;
}

/** @throws InputError for an export with masked columns: their cells are not the service's values */
export function checkMasks({ key, csv, selection }: Manifest, columns: readonly InputColumn[]): void {
  if (!isExport(columns.map(({ name }) => name))) return;
  const sent = sentNames(columns).map(columnName);
  const [masked] = maskedColumns({ key, csv, columns: selection }, sent);
  if (masked === undefined) return;
  throw new InputError(
    `the column ${JSON.stringify(masked)} of this export is masked, so its cells are not the values of the service`,
    {
      ...{ line: 1, remedy: `Leave it out: --drop-column ${masked}` },
      about: { kind: 'drop', columns: [masked] },
    },
  );
}

/** Finds rows of a file of creates whose ids are those of published records, as in an export that was edited. */
export class PublishedIds {
  readonly #store: ObjectStore;
  readonly #published: Manifest;
  readonly #key: readonly ByteString[];
  /** By id: the row's line. */
  readonly #lines = new HashTable();

  constructor(store: ObjectStore, published: Manifest) {
    this.#store = store;
    this.#published = published;
    this.#key = published.key.map(toByteString);
  }

  add(rows: readonly InputRow[]): void {
    for (const { fields, line } of rows) {
      const parts: string[] = [];
      for (const name of this.#key) {
        const field = fields.find((one) => one.name === name);
        if (field === undefined || field.json === 'null') break;
        parts.push(textOf(field) ?? fromByteString(field.json));
      }
      if (parts.length < this.#key.length) continue;
      const entry = this.#lines.entry(keyPartsHash(parts));
      if (this.#lines.get(entry) === 0) this.#lines.set(entry, 0, line);
    }
  }

  /** @throws InputError if an id is published */
  async check(resource: string): Promise<void> {
    if (this.#lines.size === 0) return;
    const { key, columns } = this.#published;
    const indexes = key.map((field) => columns.findIndex(({ name }) => name === columnName(field)));
    let first = Number.POSITIVE_INFINITY;
    let found = 0;
    for await (const cells of readPublishedRows(this.#store, this.#published)) {
      const parts = indexes.map((index) => cells[META_COLUMNS.length + index] ?? '');
      const entry = this.#lines.find(keyPartsHash(parts));
      if (entry === -1) continue;
      found++;
      first = Math.min(first, this.#lines.get(entry));
    }
    if (found === 0) return;
    const names = key.join(' and ');
    throw new InputError(
      `the row has the ${names} of a published record, as ${found} of ${this.#lines.size} rows with ${names} do. ` +
        `${resource} can only be created, not changed: these rows would become further records`,
      {
        line: first,
        about: { kind: 'drop', columns: key },
        remedy: `To create them as further records, leave the ids out: ${key.map((name) => `--drop-column ${name}`).join(' ')}`,
      },
    );
  }
}

/** Rows whose date lies before the window of their resource. */
export interface BeforeWindow {
  readonly rows: number;
  /** The field with the date. */
  readonly field: string;
  /** How far back the list of the service reaches. */
  readonly windowMs: Millis;
}

/** Counts rows that the list of their resource will not show, so that they will not be in the lake. */
export class WindowCheck {
  readonly #field: ByteString | null = null;
  readonly #windowMs: number = 0;
  readonly #from: number = 0;
  #rows = 0;

  constructor({ resources }: Pick<ConnectionSettings, 'resources'>, resource: string, now: EpochMs) {
    const mirrored = resources.find(({ name }) => name === resource);
    if (mirrored === undefined || mirrored.windowMs === null || mirrored.windowField === null) return;
    this.#field = toByteString(mirrored.windowField);
    this.#windowMs = mirrored.windowMs;
    this.#from = now - mirrored.windowMs;
  }

  add(rows: readonly InputRow[]): void {
    if (this.#field === null) return;
    for (const { fields } of rows) {
      const date = fields.find(({ name }) => name === this.#field);
      if (date === undefined) continue;
      const span = dateSpan(textOf(date) ?? fromByteString(date.json));
      // A row is counted only if every meaning of its date lies before the window.
      if (span !== null && span.to < this.#from) this.#rows++;
    }
  }

  get found(): BeforeWindow | null {
    if (this.#field === null || this.#rows === 0) return null;
    return { rows: this.#rows, field: fromByteString(this.#field), windowMs: this.#windowMs };
  }
}
