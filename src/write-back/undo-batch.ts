import type { EpochMs } from '../core/brands.js';
import type { DiffCell } from '../core/contract/index.js';
import { shownBatchId } from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import type { ConnectionSettings } from '../core/settings.js';
import { type JsonValue, jsonText } from '../json/value.js';
import type { ObjectStore } from '../lake/store/index.js';
import { readBatch } from './batch-file.js';
import { type NowRow, PublishedRows, RowComparer } from './compare-published.js';
import { rangesOf } from './confirmations.js';
import { expectedState } from './expected-states.js';
import { textHash } from './idempotency-key.js';
import { publishedSnapshotOf } from './input-columns.js';
import { NOT_SENT_AGAIN } from './ledger/turn.js';
import type { ChunkRow } from './plan-file.js';
import { PAIR } from './planner.js';
import { lastSummary, type Receipt, readResults } from './results.js';
import { readTargetSystem } from './system.js';
import { type KeptField, type SentRow, undoOf, WHY_LEFT, type WhyKept, type WhyLeft } from './undo-row.js';

/** Rows of a batch that have something in common. */
interface NamedRows {
  readonly count: number;
  /** Their numbers in the input: `3,7-9`. */
  readonly rows: string;
}

/** What an undo does, apart from the values. */
export interface UndoSummary {
  /** Rows whose records get values from before. */
  readonly restored: number;
  /** Rows whose records have their values from before. */
  readonly same: number;
  readonly left: readonly (NamedRows & { readonly why: WhyLeft })[];
  readonly fields: readonly (NamedRows & KeptField)[];
  /** The ids of the records that the batch has created. */
  readonly created: readonly string[];
}

/** Compares the written rows of a batch with the published snapshot, and makes the rows that undo them. */
export class BatchUndo {
  readonly #left = new Map<WhyLeft, number[]>();
  readonly #kept = new Map<string, KeptField & { readonly rows: number[] }>();
  readonly #created: string[] = [];
  #restored = 0;
  #same = 0;
  /** The first cells that change. */
  readonly cells: DiffCell[] = [];
  /** What the record of each line must still be when it is sent. */
  readonly expected: Buffer[] = [];

  /** @param maxCells cells that are kept, and one more */
  constructor(
    private readonly store: ObjectStore,
    private readonly batchId: string,
    private readonly options: { readonly withNull: boolean; readonly maxCells: number },
  ) {}

  /**
   * The rows to send, as lines of NDJSON. Read all of them before anything else.
   *
   * @param published the snapshot after an increment @throws InputError if the batch has no receipts; DamagedError, StoreError
   */
  async *lines(published: PublishedRows): AsyncGenerator<string> {
    let lines: string[] = [];
    const { signal } = new AbortController();
    const comparer = new RowComparer<SentRow>(published, signal, (row, found) => {
      const line = this.#add(row, published.now(row, found));
      if (line === null) return undefined;
      lines.push(line);
      this.expected.push(expectedState(published.stateOf(row, found)));
      return undefined;
    });
    const sent = { outcomes: ['created', 'updated', 'unknown', 'rejected', 'skipped'] } as const;
    for await (const { receipt, planned } of readResults(this.store, this.batchId, sent)) {
      if (planned === null) throw removed(this.batchId);
      const { id, confirmation } = receipt;
      const outcome = outcomeOf(receipt, planned);
      if (outcome === null) continue;
      await comparer.add({ ...planned, outcome, id, confirmation });
      yield* lines;
      lines = [];
    }
    await comparer.finish();
    yield* lines;
  }

  summary(): UndoSummary {
    return {
      restored: this.#restored,
      same: this.#same,
      left: WHY_LEFT.flatMap((why) => {
        const rows = this.#left.get(why);
        return rows === undefined ? [] : [{ why, ...namedRows(rows) }];
      }),
      fields: [...this.#kept.values()].map(({ field, why, rows }) => ({ field, why, ...namedRows(rows) })),
      created: this.#created,
    };
  }

  /** @returns the line that undoes a row; `null` if none is sent */
  #add(row: SentRow, now: NowRow): string | null {
    const undo = undoOf(row, now, this.options.withNull);
    if (undo.kind === 'left') {
      this.#leave(row, undo.why);
      return null;
    }
    for (const one of undo.kept) this.#keep(row, one);
    if (undo.changes.length === 0) {
      if (undo.kept.length === 0) this.#same++;
      return null;
    }
    this.#restored++;
    for (const { field: column, before, after } of undo.changes)
      if (this.cells.length <= this.options.maxCells)
        this.cells.push({ key: [...row.pair!], column, before, after });
    return lineOf(row.pair!, undo.fields);
  }

  #leave({ row, id }: SentRow, why: WhyLeft): void {
    const rows = this.#left.get(why) ?? [];
    rows.push(row);
    this.#left.set(why, rows);
    if (why === 'created' && id !== null) this.#created.push(id);
  }

  #keep({ row }: SentRow, { field, why }: KeptField): void {
    const name = `${why} ${field}`;
    const known = this.#kept.get(name) ?? { field, why, rows: [] };
    known.rows.push(row);
    this.#kept.set(name, known);
  }
}

/** What became of a row; `null`: it was not sent. One that a user has settled may have been sent before. */
function outcomeOf({ outcome, message }: Receipt, planned: ChunkRow): Receipt['outcome'] | null {
  const { pair, verdict, receipt } = planned;
  if (outcome === 'rejected') return receipt?.byHand === true ? 'unknown' : null;
  if (outcome !== 'skipped') return outcome;
  // A create is also skipped if another batch has written it.
  const isSettled = pair === null ? message === NOT_SENT_AGAIN : verdict === null;
  return isSettled ? 'unknown' : null;
}

function namedRows(rows: readonly number[]): NamedRows {
  const ranges = rangesOf(rows).map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`));
  return { count: rows.length, rows: ranges.join(',') };
}

function lineOf(pair: readonly [string, string], fields: ReadonlyMap<string, JsonValue>): string {
  const key = pair.map((text, at) => [PAIR[at]!, JSON.stringify(text)]);
  const values = [...fields].map(([field, value]) => [field, jsonText(value)]);
  const members = [...key, ...values].map(([name, json]) => `${JSON.stringify(name)}:${json}`);
  return `{${members.join(',')}}\n`;
}

function removed(batchId: string): InputError {
  return new InputError(`the state of batch ${shownBatchId(batchId)} was removed from the lake`, {
    remedy: 'Write its rows with the values that they had before.',
  });
}

/**
 * Whether a batch can have changed records, which is what an undo restores. Otherwise it has only created some.
 *
 * @throws InputError if its state was removed, if it has written to another system, or if its rows are not mirrored; StoreError
 */
export async function checkUndo(
  store: ObjectStore,
  connection: ConnectionSettings,
  batchId: string,
): Promise<'upserts' | 'creates'> {
  const begun = await readBatch(store, batchId);
  if (begun === null) throw removed(batchId);
  const { resource, baseUrl, sameAs } = begun.file;
  const target = (await readTargetSystem(store, connection, undefined)).alsoAt(sameAs);
  if (target.placeOf(baseUrl) !== 'here')
    throw new InputError(
      `batch ${shownBatchId(batchId)} has sent rows to ${baseUrl}, and baseUrl is now ${target.baseUrl}`,
      { remedy: 'Undo it with the configuration that sent it.' },
    );
  if (resource === 'time-entries') return 'creates';
  if (connection.resources.every(({ name }) => name !== resource))
    throw new InputError(`${resource} are not mirrored, so it is not known what their rows have changed`, {
      remedy: `Add ${resource} to \`resources\`.`,
    });
  return 'upserts';
}

/** The published snapshot, as an undo compares it. Creates are not compared. @throws StoreError */
export async function snapshotForUndo(
  store: ObjectStore,
  connection: ConnectionSettings,
  of: 'upserts' | 'creates',
): Promise<PublishedRows> {
  const resource = 'calendar-entries';
  const published = of === 'creates' ? null : await publishedSnapshotOf(store, resource);
  return new PublishedRows(store, connection, { resource, published, now: Date.now() });
}

/** A longer id is shortened, so that the one of its undo is not too long. */
const MAX_ID_CHARS = 85;

/**
 * The id of a new batch that undoes another: `undo-3b860e3713d2`, and `undo-3b860e3713d2-2` after that one. A batch that was begun has
 * other rows, so it is not continued.
 */
export async function undoBatchId(store: ObjectStore, batchId: string): Promise<string> {
  for (let number = 1; ; number++) {
    const id = undoName(batchId, number);
    if ((await readBatch(store, id)) === null) return id;
  }
}

function undoName(batchId: string, number: number): string {
  const shown = shownBatchId(batchId);
  const hash = textHash(shown).toString('hex', 0, 6);
  const name = shown.length > MAX_ID_CHARS ? `${shown.slice(0, MAX_ID_CHARS - 13)}-${hash}` : shown;
  return number === 1 ? `undo-${name}` : `undo-${name}-${number}`;
}

/** The last batch that has undone rows of another, when it ended, and how many it has written; `null`: none has. @throws StoreError */
export async function undoneBy(
  store: ObjectStore,
  batchId: string,
): Promise<{ readonly batchId: string; readonly at: EpochMs; readonly rows: number } | null> {
  let found: Awaited<ReturnType<typeof undoneBy>> = null;
  for (let number = 1; ; number++) {
    const id = undoName(batchId, number);
    if ((await readBatch(store, id)) === null) return found;
    const last = await lastSummary(store, id);
    const rows = last === null ? 0 : last.written.counts.created + last.written.counts.updated;
    if (last !== null && rows > 0) found = { batchId: id, at: last.at, rows };
  }
}

/** Why a row or a field is left as it is, for people. */
export const WHY_TEXTS: Readonly<Record<WhyLeft | WhyKept, string>> = {
  created: 'the batch has created the record, and the API cannot undo that',
  unknown: 'no response has settled the row',
  'not-kept': 'the batch has not kept the values from before',
  'not-published': 'the record is not in the snapshot, or was not before the batch',
  deleted: 'the record was deleted',
  'before-window': 'the record is not in the window of the list',
  'not-seen': 'the service does not show the written values yet',
  changed: 'the record was changed since, or the service has changed what was sent',
  'not-comparable': 'masked, excluded or flattened, or of no certain type',
  empty: 'was empty; --with-null sets it to null',
};
