import type { EpochMs } from '../core/brands.js';
import { type ByteString, fromByteString, type RunId, toByteString } from '../core/brands.js';
import type { WritableResource } from '../core/contract/write-back.js';
import { dateSpan } from '../core/date-span.js';
import { sameDecimal } from '../core/decimal.js';
import { DAY_MS } from '../core/duration.js';
import type { ConnectionSettings } from '../core/settings.js';
import { readIsoTime } from '../core/utc-time.js';
import { JsonType } from '../core/value-facts.js';
import { compareValues } from '../json/compare.js';
import { JsonScanner } from '../json/scanner.js';
import { isReadWhole, type JsonValue, jsonText, readValue } from '../json/value.js';
import type { Manifest } from '../lake/documents/manifest.js';
import { lookUpRows } from '../lake/published/find-rows.js';
import { storedKey } from '../lake/published/purge-rules.js';
import { readRow } from '../lake/rows/csv.js';
import { type Column, columnName, fieldOfColumn, META_COLUMNS } from '../lake/rows/data-columns.js';
import { cellDecoder } from '../lake/rows/escaping.js';
import { keyIsId, maskedColumns, unmaskedKeys } from '../lake/rows/profile.js';
import { isTombstone, type SortKey } from '../lake/rows/row.js';
import type { ObjectStore } from '../lake/store/index.js';
import { PAIR, type PlannedRow } from './planner.js';
import { fieldsOf, hiddenBy, hiddenFields, KEPT_BY_SERVICE } from './record-differences.js';
import { type CellHashes, hashOfCell, hashOfCells, keptHashes } from './record-state.js';

/**
 * What the published snapshot says about a row that is to be written (docs/how-to/write-back.md#see-the-changes-first). `unknown`: the
 * snapshot cannot tell.
 */
export type PublishedVerdict = 'new' | 'changed' | 'unchanged' | 'unknown';

/** A field that the row would change. The values are the literal texts of the lake; `null`: none. */
export interface FieldChange {
  readonly field: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** Why the snapshot does not tell what a record is. */
export type WhyUnknown = 'not-mirrored' | 'key' | 'deleted' | 'before-window' | 'not-comparable';

export interface PublishedComparison {
  readonly verdict: PublishedVerdict;
  /** `null` unless the verdict is `unknown`. */
  readonly why: WhyUnknown | null;
  /** Cells that differ. The values of hidden fields are replaced. */
  readonly changes: readonly FieldChange[];
}

/** What a record is before its row is written, as far as the snapshot shows (docs/how-to/written-rows.md#undo-a-batch). */
export interface RecordBefore {
  /**
   * A JSON object with the values of the row's fields; an empty cell is null. Left out are fields that the snapshot does not show as
   * they are.
   */
  readonly fields: string;
  /** The other cells (`keptHashes`), without the times that the service sets. */
  readonly others: CellHashes | string;
}

/** What the record is now, without the fields that `writeBack.<resource>.ignore` names. */
export interface RecordNow extends RecordBefore {
  /** With empty cells. */
  readonly others: CellHashes;
}

/** The record, or why the snapshot does not show it. */
export type BeforeRow = RecordBefore | NotShown;
export type NowRow = RecordNow | NotShown;
export type NotShown = 'new' | Exclude<WhyUnknown, 'not-comparable'>;

/**
 * Whether a snapshot has a written record as it is now. `never`: no later snapshot will show it, because it is before the window, or the
 * snapshot does not have its key.
 */
type Listing = 'shown' | 'unclear' | 'never';

/** Records this close to the window's edge may leave it while rows are compared and sent. */
const EDGE_MS = 2 * DAY_MS;
const MASKED = '(masked)';

/** @member id of the record that a row has created */
type Row = Pick<PlannedRow, 'body' | 'pair'> & { readonly id?: string | null };
type Cells = ReadonlyMap<string, string | null>;

/** Compares rows that are to be written with the rows of one published snapshot. */
export class PublishedRows {
  readonly #store: ObjectStore;
  readonly #published: Manifest | null;
  readonly #window: Pick<ConnectionSettings['resources'][number], 'windowMs' | 'windowField'>;
  readonly #columns: ReadonlyMap<string, Column>;
  readonly #isHidden: (field: string) => boolean;
  /** Positions of the pair among the key fields; `null`: the snapshot does not have that key as it is. */
  readonly #key: readonly number[] | null;
  readonly #now: number;
  /** Times that the service sets. */
  readonly #times: readonly string[];
  /** Fields that the service changes on its own. */
  readonly #ignore: readonly string[];

  /** @param published `null`: the resource is not mirrored, or nothing is published */
  constructor(
    store: ObjectStore,
    connection: Pick<ConnectionSettings, 'resources' | 'writeBack'>,
    { resource, published, now }: { resource: WritableResource; published: Manifest | null; now: EpochMs },
  ) {
    this.#store = store;
    this.#now = now;
    const settings = connection.resources.find(({ name }) => name === resource);
    this.#published = settings === undefined ? null : published;
    this.#window = settings ?? { windowMs: null, windowField: null };
    const updatedAt = settings?.updatedAtField ?? null;
    const { ignore } = connection.writeBack[resource];
    this.#times = [...KEPT_BY_SERVICE, ...(updatedAt === null ? [] : [updatedAt])];
    this.#ignore = [...this.#times, ...ignore];
    this.#columns = new Map((published?.columns ?? []).map((column) => [column.name, column]));
    this.#isHidden =
      published === null ? () => true : hiddenIn(published, hiddenFields(connection, resource));
    this.#key = published === null ? null : pairPositions(published);
  }

  /** The run whose snapshot it is. */
  get runId(): RunId | null {
    return this.#published?.runId ?? null;
  }

  /** The rows of the snapshot with the keys of these rows. */
  async find(rows: readonly Row[], signal: AbortSignal): Promise<ReadonlyMap<SortKey, ByteString>> {
    const keys = new Set(rows.flatMap((row) => this.#keyOf(row) ?? []));
    if (this.#published === null || keys.size === 0) return new Map();
    return lookUpRows(this.#store, this.#published, keys, signal);
  }

  /** Compares a row. @param found what `find` returned for this row and others */
  compare(row: Row, found: ReadonlyMap<SortKey, ByteString>): PublishedComparison {
    const shown = this.#shownCells(row, found);
    if (typeof shown !== 'string') return this.#compareCells(row, shown);
    return shown === 'new' ? this.#isNew(row) : unknown(shown);
  }

  /** What is kept of the record of an upsert. @param found as for `compare` */
  before(row: Row, found: ReadonlyMap<SortKey, ByteString>): BeforeRow {
    const shown = this.#shownCells(row, found);
    if (typeof shown === 'string') return shown;
    // A later undo leaves out the fields that are ignored then.
    const { fields, others } = this.#record(row, shown, this.#times);
    return { fields, others: keptHashes(others, (column) => this.#isPartOf(column, this.#ignore)) };
  }

  /** What the record of an upsert is now. @param found as for `compare` */
  now(row: Row, found: ReadonlyMap<SortKey, ByteString>): NowRow {
    const shown = this.#shownCells(row, found);
    return typeof shown === 'string' ? shown : this.#record(row, shown, this.#ignore);
  }

  /** Tells apart what the record of an upsert is at two times, whatever the row sends. @param found as for `compare` */
  stateOf(row: Row, found: ReadonlyMap<SortKey, ByteString>): string {
    const now = this.now({ ...row, body: '{}' }, found);
    return typeof now === 'string' ? now : hashOfCells(now.others);
  }

  /** The cells of a record that the service still lists, or why there are none. */
  #shownCells(row: Row, found: ReadonlyMap<SortKey, ByteString>): Cells | NotShown {
    // A row without a pair creates a record.
    if (row.pair === null) return 'new';
    if (this.#published === null) return 'not-mirrored';
    const key = this.#keyOf(row);
    if (key === null) return 'key';
    const text = found.get(key);
    if (text === undefined) return this.#isInside(this.#sentDates(row), 'sent') ? 'new' : 'before-window';
    if (isTombstone(text)) return 'deleted';
    const cells = this.#cellsOf(text);
    return this.#isInside(this.#publishedDates(cells), 'published') ? cells : 'before-window';
  }

  #record({ body }: Row, cells: Cells, ignore: readonly string[]): RecordNow {
    const own = [...fieldsOf(body, null).keys()];
    const members = own.flatMap((field) => {
      const value = ignore.includes(field) ? null : this.#exactValue(field, cells);
      return value === null ? [] : [`${JSON.stringify(field)}:${jsonText(value)}`];
    });
    const others = [...cells]
      .filter(([column]) => !this.#isPartOf(column, own) && !this.#isPartOf(column, ignore))
      .map(([column, cell]) => [column, hashOfCell(cell)] as const);
    return { fields: `{${members.join(',')}}`, others: Object.fromEntries(others) };
  }

  /** The value of a cell as the service has it, or JSON null for an empty cell; `null` if the cell does not tell. */
  #exactValue(field: string, cells: Cells): JsonValue | null {
    const column = this.#columns.get(columnName(field));
    const cell = cells.get(columnName(field)) ?? null;
    if (column === undefined || this.#isHidden(field)) return null;
    if (cell === null) return { kind: 'null' };
    const kind = kindOfCell(cell, column);
    // U+FFFD can stand for a lone surrogate.
    const isExact = kind === 'json' ? isExactJson(cell) : kind === 'text' && !cell.includes('\ufffd');
    return isExact ? valueInCell(cell, column) : null;
  }

  /** Whether a column has one of these fields, or a part of one that is flattened. */
  #isPartOf(column: string, fields: readonly string[]): boolean {
    const { separator } = this.#published!.csv;
    return fields.some((field) => {
      const name = columnName(field);
      return column === name || column.startsWith(`${name}${separator}`);
    });
  }

  /** The published record of a row, with the values of its cells as texts; `null`: none that is live. */
  recordOf(row: Row, found: ReadonlyMap<SortKey, ByteString>): JsonValue | null {
    const cells = this.#liveCells(row, found);
    if (cells === null) return null;
    const members = new Map<string, JsonValue>();
    for (const [name, cell] of cells) {
      const field = fieldOfColumn(name);
      const column = this.#columns.get(name);
      if (this.#isHidden(field) || (cell === null && !canBeNull(column))) continue;
      members.set(field, valueInCell(cell, column));
    }
    return { kind: 'object', members };
  }

  /**
   * Whether the list of the service shows the record of a written row, so that the snapshot has it as it is now. Of a resource without
   * a snapshot, the first one is expected to.
   */
  listingOf(row: Row, found: ReadonlyMap<SortKey, ByteString>): Listing {
    if (this.#published === null) return 'shown';
    if (this.#keyOf(row) === null) return 'never';
    const sent = this.#sentDates(row) ?? [];
    const cells = this.#liveCells(row, found);
    const published = cells && this.#publishedDates(cells);
    // A row without a date leaves the date of its record as it is.
    const all = cells === null ? [sent] : sent.length === 0 ? [published] : [published, sent];
    if (all.every((dates) => this.#isInside(dates, 'published'))) return 'shown';
    return this.#isBefore(sent.length === 0 ? (published ?? []) : sent) ? 'never' : 'unclear';
  }

  #isNew(row: Row): PublishedComparison {
    const changes = [...fieldsOf(row.body, null)]
      .filter(([field]) => !KEPT_BY_SERVICE.includes(field))
      .map(([field, sent]) => this.#change(field, null, sent));
    return { verdict: 'new', why: null, changes };
  }

  #compareCells({ body }: Row, cells: Cells): PublishedComparison {
    const changes: FieldChange[] = [];
    let isHidden = false;
    for (const [field, sent] of fieldsOf(body, null)) {
      if (KEPT_BY_SERVICE.includes(field)) continue;
      const name = columnName(field);
      const cell = cells.get(name) ?? null;
      if (this.#isHidden(field)) isHidden = true;
      else if (!isSameCell(sent, cell, this.#columns.get(name)))
        changes.push(this.#change(field, cell, sent));
    }
    if (changes.length > 0) return { verdict: 'changed', why: null, changes };
    return isHidden ? unknown('not-comparable') : { verdict: 'unchanged', why: null, changes };
  }

  #change(field: string, before: string | null, sent: JsonValue): FieldChange {
    const isMasked = this.#isHidden(field) && this.#published !== null;
    const after = cellTextOf(sent);
    return isMasked ? { field, before: before && MASKED, after: after && MASKED } : { field, before, after };
  }

  #keyOf({ pair, id }: Row): SortKey | null {
    if (this.#published === null) return null;
    const { key, csv, selection } = this.#published;
    const values = pair === null || this.#key === null ? this.#idOf(id) : this.#key.map((at) => pair[at]!);
    if (values === null) return null;
    return storedKey(unmaskedKeys({ key, csv, columns: selection }), values);
  }

  /** The id as the key of the snapshot; `null`: its key is another, or masked. */
  #idOf(id: string | null | undefined): readonly string[] | null {
    const { key, csv, selection } = this.#published!;
    return id == null || !keyIsId({ key, csv, columns: selection }) ? null : [id];
  }

  #liveCells(row: Row, found: ReadonlyMap<SortKey, ByteString>): Cells | null {
    const key = this.#keyOf(row);
    const text = key === null ? undefined : found.get(key);
    return text === undefined || isTombstone(text) ? null : this.#cellsOf(text);
  }

  #cellsOf(text: ByteString): Cells {
    const { columns, csv } = this.#published!;
    const decode = cellDecoder(csv);
    const cells = readRow(text.endsWith('\n') ? text.slice(0, -1) : text, csv.delimiter);
    return new Map(
      columns.map(({ name }, at) => {
        const cell = cells[META_COLUMNS.length + at] ?? null;
        return [name, cell === null ? null : fromByteString(decode === null ? cell : decode(cell))] as const;
      }),
    );
  }

  /** The dates that decide whether the list shows a record; `null`: they are not known. */
  #publishedDates(cells: Cells): readonly string[] | null {
    const { windowField } = this.#window;
    if (windowField !== null) return [cells.get(columnName(windowField)) ?? ''];
    const { include, exclude } = this.#published!.selection;
    // A column that is left out may be the one.
    if (include !== null || exclude.length > 0) return null;
    return [...cells.values()].filter((cell) => cell !== null && readIsoTime(cell) !== null) as string[];
  }

  #sentDates({ body }: Row): readonly string[] | null {
    const fields = fieldsOf(body, null);
    const { windowField } = this.#window;
    if (windowField === null)
      return [...fields].flatMap(([field, sent]) =>
        sent.kind === 'string' && !KEPT_BY_SERVICE.includes(field) && readIsoTime(sent.text) !== null
          ? [sent.text]
          : [],
      );
    const sent = fields.get(windowField);
    return sent === undefined ? null : [cellTextOf(sent) ?? ''];
  }

  /**
   * Whether the list of the service shows a record with these dates, so that the snapshot has its latest version. Without a
   * configured field, each date of the record must be in the window, because any of them may be the one.
   */
  #isInside(dates: readonly string[] | null, of: 'sent' | 'published'): boolean {
    const { windowMs } = this.#window;
    if (windowMs === null) return true;
    if (dates === null) return false;
    const edge = this.#now - windowMs + (of === 'published' ? EDGE_MS : 0);
    return dates.length > 0 && dates.every((date) => (dateSpan(date)?.from ?? 0) > edge);
  }

  /** Whether all of these dates are before the window. */
  #isBefore(dates: readonly string[]): boolean {
    const edge = this.#now - (this.#window.windowMs ?? Number.POSITIVE_INFINITY);
    const isBefore = (date: string): boolean => (dateSpan(date)?.to ?? Number.POSITIVE_INFINITY) < edge;
    return dates.length > 0 && dates.every(isBefore);
  }
}

function unknown(why: WhyUnknown): PublishedComparison {
  return { verdict: 'unknown', why, changes: [] };
}

/** Positions of the key fields in the pair; `null` if the key is not the pair, or is masked. */
function pairPositions({ key, csv, selection }: Manifest): readonly number[] | null {
  const isPair = key.length === PAIR.length && PAIR.every((name) => key.includes(name));
  if (!isPair || maskedColumns({ key, csv, columns: selection }, key.map(columnName)).length > 0) return null;
  return key.map((name) => PAIR.indexOf(name as (typeof PAIR)[number]));
}

/** Fields that a snapshot does not show as they are: masked, left out, or flattened. */
function hiddenIn(
  { csv, selection, columns }: Manifest,
  isHiddenNow: (field: string) => boolean,
): (field: string) => boolean {
  const names = columns.map(({ name }) => name);
  const isHiddenThen = hiddenBy({ csv, columns: selection });
  return (field) => {
    if (isHiddenNow(field) || isHiddenThen(field)) return true;
    const name = columnName(field);
    return csv.nested === 'flatten' && names.some((one) => one.startsWith(`${name}${csv.separator}`));
  };
}

/** A value as its cell in the lake. */
export function cellTextOf(sent: JsonValue): string | null {
  if (sent.kind === 'null') return null;
  return sent.kind === 'string' ? sent.text : jsonText(sent);
}

/**
 * Whether a value is what a cell shows, so that to send it changes nothing. This is stricter than the comparison with a response
 * (`compareValues`): only numbers and times may be written in another form.
 */
function isSameCell(sent: JsonValue, cell: string | null, column: Column | undefined): boolean {
  if (cell === null || sent.kind === 'null') return cell === null && sent.kind === 'null';
  if (kindOfCell(cell, column) !== (sent.kind === 'string' ? 'text' : 'json')) return false;
  switch (sent.kind) {
    case 'string':
      return cell === sent.text || isSameTime(sent.text, cell);
    case 'number':
      return isSameNumber(sent.literal, cell);
    case 'object':
    case 'array':
      return isSameJson(sent, cell);
    default:
      return cell === sent.kind;
  }
}

/** Whether the service has shown null in a column. An empty cell of another column is a member that the record does not have. */
function canBeNull(column: Column | undefined): boolean {
  return ((column?.types ?? 0) & JsonType.null) !== 0;
}

/** Whether a cell is a text, or JSON of another type; `null`: in a column with values of several types, it can be either. */
function kindOfCell(cell: string, column: Column | undefined): 'text' | 'json' | null {
  const types = (column?.types ?? 0) & ~JsonType.null;
  if ((types & JsonType.string) === 0) return 'json';
  return types === JsonType.string || parsedCell(cell) === null ? 'text' : null;
}

function isSameTime(sent: string, cell: string): boolean {
  const hasClock = (text: string): boolean => (readIsoTime(text)?.precision ?? 'day') !== 'day';
  if (!hasClock(sent) || !hasClock(cell)) return false;
  const [a, b] = [sent, cell].map((text): JsonValue => ({ kind: 'string', text })) as [JsonValue, JsonValue];
  return compareValues(a, b) === 'same';
}

/**
 * Whether two values of a record are the same. Only numbers, times, and the order of an object's members may differ, and a value of
 * one type may be shown as another.
 */
export function isSameValue(one: JsonValue, other: JsonValue): boolean {
  if (one.kind === 'object' && other.kind === 'object') {
    const isSameMember = ([name, value]: readonly [string, JsonValue]): boolean => {
      const shown = other.members.get(name);
      return shown !== undefined && isSameValue(value, shown);
    };
    return one.members.size === other.members.size && [...one.members].every(isSameMember);
  }
  if (one.kind === 'array' && other.kind === 'array')
    return (
      one.items.length === other.items.length &&
      one.items.every((item, at) => isSameValue(item, other.items[at]!))
    );
  if (one.kind === 'string' && other.kind === 'string')
    return one.text === other.text || isSameTime(one.text, other.text);
  if (one.kind === 'number' && other.kind === 'number') return isSameNumber(one.literal, other.literal);
  return compareValues(one, other) === 'same' && compareValues(other, one) === 'same';
}

function isSameNumber(literal: string, cell: string): boolean {
  return literal === cell || sameDecimal(literal, cell);
}

function isSameJson(sent: JsonValue, cell: string): boolean {
  const shown = isExactJson(cell) ? parsedCell(cell) : null;
  return shown !== null && jsonText(shown) === jsonText(sent);
}

/** The value of a cell; a text if nothing shows that it is JSON. */
function valueInCell(cell: string | null, column: Column | undefined): JsonValue {
  if (cell === null) return { kind: 'null' };
  const parsed = kindOfCell(cell, column) === 'text' ? null : parsedCell(cell);
  return parsed ?? { kind: 'string', text: cell };
}

/** Fewer than `readValue` reads, because values become members of objects. */
const MAX_LEVELS = 14;

/** Whether the value of a JSON cell says all that the cell does. */
function isExactJson(cell: string): boolean {
  const scanner = new JsonScanner(toByteString(cell));
  try {
    const isWhole = isReadWhole(scanner, MAX_LEVELS) && !cell.includes('\ufffd');
    if (isWhole) scanner.end();
    return isWhole;
  } catch {
    return false;
  }
}

function parsedCell(cell: string): JsonValue | null {
  try {
    return readValue(new JsonScanner(toByteString(cell)));
  } catch {
    return null;
  }
}

/** Rows that are compared together: the snapshot is read once for each block of rows. */
const BLOCK_ROWS = 50_000;
const BLOCK_BYTES = 16 * 1024 * 1024;

/** Looks a stream of rows up in the snapshot, block by block, and visits them in their order. */
export class RowComparer<R extends Row> {
  #block: R[] = [];
  #bytes = 0;

  constructor(
    private readonly published: PublishedRows,
    private readonly signal: AbortSignal,
    private readonly visit: (row: R, found: ReadonlyMap<SortKey, ByteString>) => Promise<void> | undefined,
  ) {}

  /** Adds a row. Returns a promise only if the next row must wait for it. */
  add(row: R): Promise<void> | undefined {
    this.#block.push(row);
    this.#bytes += row.body.length;
    return this.#block.length >= BLOCK_ROWS || this.#bytes >= BLOCK_BYTES ? this.finish() : undefined;
  }

  /** Visits the rows that were added. */
  async finish(): Promise<void> {
    const block = this.#block;
    [this.#block, this.#bytes] = [[], 0];
    const found = await this.published.find(block, this.signal);
    for (const row of block) await this.visit(row, found);
  }
}
