import type { EpochMs } from '../core/brands.js';
import { type ByteString, fromByteString, type ObjectKey, toByteString } from '../core/brands.js';
import {
  type ConfirmationVerdict,
  type RowOutcome,
  shownBatchId,
  type WrittenPolicy,
  type WrittenResults,
} from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import { RowSplitter, readRow } from '../lake/rows/csv.js';
import { escapeFormula, escapeForPeople, restoreFormula } from '../lake/rows/escaping.js';
import { peopleCsv } from '../lake/rows/people-csv.js';
import type { ObjectStore } from '../lake/store/index.js';
import { batchKeys, isPlanOf, planKeys } from './batch-layout.js';
import { readConfirmations } from './confirmations.js';
import type { TurnVerdict } from './ledger/turn.js';
import {
  type ChunkRow,
  decodeChunk,
  knownOf,
  type PlanFile,
  type RowReceipt,
  type RowState,
  type Said,
  standingOf,
} from './plan-file.js';
import { differencesText, type FieldExample } from './record-differences.js';
import { decodeSealed } from './sealed.js';
import type { TargetSystem } from './system.js';

/** Columns of `results.csv` (docs/reference/lake.md). */
const RESULT_COLUMNS = ['row', 'key', 'idempotency_key', 'outcome', 'http_status', 'id', 'message'] as const;

/**
 * The outcome of a row; `null` if it was not sent.
 *
 * @param found why the row is not sent in this turn of the batch; `null` if it may be
 */
export function resultOf(
  row: ChunkRow,
  state: RowState | undefined,
  found: TurnVerdict | null = null,
): RowReceipt | null {
  const { receipt, sentAt } = knownOf(row, state);
  if (receipt !== null) return receipt;
  if (row.verdict !== null) return { ...row.verdict, status: null, id: null };
  if (found !== null) return { ...found, status: null, id: null };
  const stands = standingOf(row, state);
  if (stands !== null || sentAt === null) return stands;
  const since = new Date(sentAt).toISOString();
  const said = state?.message == null ? row.said : state;
  const last = said?.message ?? null;
  const message = `sent at ${since} or later; the outcome is unknown${last === null ? '' : `: ${last}`}`;
  return { outcome: 'unknown', status: said?.status ?? state?.status ?? null, id: null, message };
}

/** The header of `results.csv`. */
export function resultsHeader(): ByteString {
  return peopleCsv([RESULT_COLUMNS.map(toByteString)]);
}

/** The column `message`. */
const MESSAGE = RESULT_COLUMNS.indexOf('message');

/**
 * Lines of `results.csv`.
 *
 * Users open receipts in spreadsheets, so formulas are escaped: in messages always, in keys and ids unless they are plain.
 *
 * @param options `csv.escapeFormulas`: in all texts
 */
export function resultLines(
  results: readonly { readonly row: ChunkRow; readonly result: RowReceipt }[],
  { escapeFormulas }: { readonly escapeFormulas: boolean },
): ByteString {
  const cells = results.map(({ row, result }) =>
    [
      ...[String(row.row), row.key, row.idempotencyKey, result.outcome],
      ...[result.status === null ? null : String(result.status), result.id],
      [result.message, differencesText(result.found)].filter((text) => text !== null).join('; ') || null,
    ].map((cell, at) => {
      if (cell === null) return null;
      const escaped = escapeFormulas || at === MESSAGE ? escapeFormula : escapeForPeople;
      return escaped(toByteString(cell));
    }),
  );
  return peopleCsv(cells);
}

/** A line of `results.csv`, and the row's line in the input. */
export interface Receipt {
  /** Number of the row in the input, from 1. */
  readonly row: number;
  /** First line of the row in the input, from 1; `null` if the state of the batch was removed. */
  readonly line: number | null;
  readonly key: string;
  readonly idempotencyKey: string;
  readonly outcome: RowOutcome;
  readonly httpStatus: number | null;
  readonly id: string | null;
  readonly message: string | null;
  /** What was found of the written row afterwards; `null`: it was not looked for yet. */
  readonly confirmation: ConfirmationVerdict | null;
}

interface ReadReceiptsOptions {
  /** Outcomes to read; default: all. */
  readonly outcomes?: readonly RowOutcome[] | undefined;
}

/** Outcomes of rows that were not written. */
export const NOT_WRITTEN: readonly RowOutcome[] = ['rejected', 'unknown'];

/**
 * Reads the receipts of a batch in the order of its input. A caller that stops early reads little more than it uses.
 *
 * @throws InputError if the batch has no receipts yet; StoreError
 */
export async function* readReceipts(
  store: ObjectStore,
  batchId: string,
  options: ReadReceiptsOptions,
): AsyncGenerator<Receipt> {
  for await (const { receipt } of readResults(store, batchId, options)) yield receipt;
}

/** The receipts of a batch, each with its row in the plan; `null` if the state of the batch was removed. @throws as `readReceipts` */
export async function* readResults(
  store: ObjectStore,
  batchId: string,
  { outcomes }: ReadReceiptsOptions,
): AsyncGenerator<{ readonly receipt: Receipt; readonly planned: ChunkRow | null }> {
  const key = batchKeys(batchId).results;
  if ((await store.head(key)) === null)
    throw new InputError(`batch ${shownBatchId(batchId)} has no receipts yet`, {
      remedy: 'Receipts are written when the batch ends. To follow it, run its write-back command again.',
    });
  const plan = await summarizedPlan(store, batchId);
  const plannedRow = plannedRows(store, plan);
  const confirmations =
    plan === null ? null : (await readConfirmations(store, batchId, plan.file.input)).found;
  const text = (cell: ByteString | null | undefined): string | null =>
    cell == null ? null : fromByteString(restoreFormula(cell));
  for await (const cells of resultRows(store, key)) {
    const [row, rowKey, idempotencyKey, outcome, status, id, message] = cells.map(text);
    if (outcomes !== undefined && !outcomes.includes(outcome as RowOutcome)) continue;
    const planned = await plannedRow(Number(row));
    const receipt = {
      row: Number(row),
      line: planned?.line ?? null,
      key: rowKey ?? '',
      idempotencyKey: idempotencyKey ?? '',
      outcome: outcome as RowOutcome,
      httpStatus: status == null ? null : Number(status),
      id: id ?? null,
      message: message ?? null,
      confirmation: confirmations?.of(Number(row)) ?? null,
    };
    yield { receipt, planned };
  }
}

/** The rows of `results.csv`, without its header. */
async function* resultRows(
  store: ObjectStore,
  key: ObjectKey,
): AsyncGenerator<readonly (ByteString | null)[]> {
  const rows = new RowSplitter();
  let isHeader = true;
  for await (const chunk of store.stream(key)) {
    for (const row of rows.push(Buffer.from(chunk).toString('latin1'))) {
      if (!isHeader) yield readRow(row, ',');
      isHeader = false;
    }
  }
}

/** The plan that the receipts of a batch are from; `null` if it was removed. @throws DamagedError, StoreError */
export async function summarizedPlan(
  store: ObjectStore,
  batchId: string,
): Promise<{ readonly key: ObjectKey; readonly file: PlanFile } | null> {
  const at = batchKeys(batchId).summary;
  const summary = await store.readIfExists(at);
  if (summary === null) return null;
  const { plan: key } = decodeSealed<Summary>(at, summary.body);
  const found = await store.readIfExists(key);
  return found && { key, file: decodeSealed<PlanFile>(key, found.body) };
}

/**
 * Finds a row in the batch's last plan; `null` if it was removed. Ask for rows in order: one chunk is held in memory.
 */
function plannedRows(
  store: ObjectStore,
  plan: Awaited<ReturnType<typeof summarizedPlan>>,
): (row: number) => Promise<ChunkRow | null> {
  if (plan === null) return async () => null;
  const { chunks, writer } = plan.file;
  let chunk = -1;
  /** Number of the first row after the chunk. */
  let end = 1;
  let rows: ReadonlyMap<number, ChunkRow> = new Map();
  return async (row) => {
    const before = chunk;
    while (row >= end && chunk + 1 < chunks.length) end += chunks[++chunk]!;
    if (chunk !== before) {
      const at = planKeys(plan.key).chunk(writer, chunk);
      const body = await store.readIfExists(at);
      const found = body === null ? [] : decodeChunk(at, body.body, chunks[chunk]!);
      rows = new Map(found.map((one) => [one.row, one]));
    }
    return rows.get(row) ?? null;
  };
}

/** The service's text for refused rows that have no outcome. */
export interface RefusalText extends Said {
  readonly rows: number;
  /** The number of the first of these rows in the input. */
  readonly first: number;
}

const MAX_TEXTS = 20;

/** Collects what the service said about refused rows. */
export class RefusalTexts {
  readonly #texts = new Map<string, RefusalText>();

  /** @param row the number of the row in the input */
  add(row: number, { status, message }: Said): void {
    const key = JSON.stringify([status, message]);
    const known = this.#texts.get(key);
    if (known !== undefined) this.#texts.set(key, { ...known, rows: known.rows + 1 });
    else if (this.#texts.size < MAX_TEXTS) this.#texts.set(key, { status, message, rows: 1, first: row });
  }

  /** In the order of their first rows. */
  get texts(): readonly RefusalText[] {
    return [...this.#texts.values()];
  }
}

/** Reads what the service said. @throws DamagedError, StoreError */
export async function readRefusals(store: ObjectStore, key: ObjectKey): Promise<readonly RefusalText[]> {
  return decodeSealed<readonly RefusalText[]>(key, await store.read(key));
}

/** Reads the fields that differ, with the values of their first rows. @throws DamagedError, StoreError */
export async function readDifferences(store: ObjectStore, key: ObjectKey): Promise<readonly FieldExample[]> {
  return decodeSealed<readonly FieldExample[]>(key, await store.read(key));
}

/** The content of `summary.json`. */
export interface Summary {
  readonly plan: ObjectKey;
  /** The address that its rows were sent to. */
  readonly baseUrl: string;
  /** Whether all rows have an outcome, so that another run would change nothing. */
  readonly complete: boolean;
  /** Rows that were not sent because an earlier batch has written them. */
  readonly found: number;
  readonly written: WrittenResults;
}

/** A batch that has a final outcome for every row of an input. */
export interface WrittenBatch {
  /** When the last run of the batch wrote its results. */
  readonly at: EpochMs;
  readonly written: WrittenResults;
}

/** What the last run of a batch has written, and when it ended; `null`: none has. @throws DamagedError, StoreError */
export async function lastSummary(
  store: ObjectStore,
  batchId: string,
): Promise<(Summary & Pick<WrittenBatch, 'at'>) | null> {
  const key = batchKeys(batchId).summary;
  const [found, info] = await Promise.all([store.readIfExists(key), store.head(key)]);
  if (found === null || info === null) return null;
  return { ...decodeSealed<Summary>(key, found.body), at: info.modifiedAt };
}

/**
 * The results of an input that is already written; `null` if a run of the batch may still send rows.
 *
 * @param inputs the input, and others whose results are also its own
 */
export async function writtenBatch(
  store: ObjectStore,
  batchId: string,
  inputs: readonly ObjectKey[],
  { policy, system }: { readonly policy: WrittenPolicy | undefined; readonly system: TargetSystem },
): Promise<WrittenBatch | null> {
  const last = await lastSummary(store, batchId);
  if (last === null || system.placeOf(last.baseUrl) !== 'here') return null;
  const { complete, found: rowsFound, plan, written, at } = last;
  // `again` also sends the rows that earlier batches have written.
  const isFinal = complete && (policy !== 'again' || rowsFound === 0);
  return isFinal && inputs.some((input) => isPlanOf(plan, input)) ? { at, written } : null;
}
