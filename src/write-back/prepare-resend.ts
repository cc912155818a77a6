import {
  batchCommand,
  type InputFormat,
  type ResendOrder,
  type RowOutcome,
  type SystemPolicy,
  shownBatchId,
  type WriteBackInput,
} from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import type { ObjectStore } from '../lake/store/index.js';
import { readBatch } from './batch-file.js';
import { readLogIndex, readStates } from './chunk-logs.js';
import { type ChunkRow, knownOf, type RowState } from './plan-file.js';
import { type Receipt, readResults, summarizedPlan } from './results.js';

/** The input of a run that sends rows of a batch again, and what it does. */
export interface PreparedResend {
  readonly input: WriteBackInput;
  /** How many rows it sends or settles. */
  readonly rows: number;
  /** The numbers of the first of them, from 1. */
  readonly first: readonly number[];
  /** Rejected rows that are not sent, because their content is the reason. */
  readonly unsendable: number;
  /** Unknown rows that the batch has not sent, because another one may have written them. Only rows by their numbers are sent. */
  readonly ofOthers: number;
}

interface ResendOptions {
  /** The connection, as the configuration names it. */
  readonly connection: string;
  readonly system?: SystemPolicy | undefined;
  readonly again?: boolean | undefined;
  /** The rows that the order corrects. */
  readonly corrected?: readonly number[] | undefined;
}

/** Rows that are named in a message. */
const SHOWN_ROWS = 10;

/**
 * Finds the rows of a batch that an order is about, from its receipts.
 *
 * @throws InputError if the batch has no receipts yet, if its state was removed, and for a named row that must not be sent;
 *   StoreError
 */
export async function prepareResend(
  store: ObjectStore,
  batchId: string,
  order: ResendOrder,
  { connection, system, again, corrected }: ResendOptions,
): Promise<PreparedResend> {
  const found = new AskedRows(batchId, order, corrected);
  const plan = await summarizedPlan(store, batchId);
  const inDoubt = await doubtsOf(store, plan);
  for await (const { receipt, planned } of readResults(store, batchId, {})) {
    const isOfOthers = receipt.outcome === 'unknown' && planned !== null && !(await inDoubt(planned));
    found.add(receipt, planned, isOfOthers ? 'others' : 'own');
  }
  const batch = await readBatch(store, batchId);
  if (batch === null || plan === null)
    throw new InputError(`the state of batch ${shownBatchId(batchId)} was removed from the lake`, {
      remedy: 'Send its rows in a separate file.',
    });
  const { input, reading, lastWins, expected, rows } = plan.file;
  found.check(rows);
  const { resource, keyColumn } = batch.file;
  return {
    input: {
      ...{ connection, resource, batchId, input, keyColumn, resend: order },
      ...{
        format: input.slice(input.lastIndexOf('.') + 1) as InputFormat,
        written: again ? 'again' : 'skip',
      },
      ...(reading === undefined ? {} : { reading }),
      ...(lastWins === undefined ? {} : { lastWins }),
      ...(expected === undefined ? {} : { expected }),
      ...(system === undefined ? {} : { system }),
    },
    ...found.summary(),
  };
}

/** Says whether a batch has itself sent an unknown row. Ask for rows in order: one chunk is held in memory. */
async function doubtsOf(
  store: ObjectStore,
  plan: Awaited<ReturnType<typeof summarizedPlan>>,
): Promise<(row: ChunkRow) => Promise<boolean>> {
  if (plan === null) return async () => true;
  const { chunks } = plan.file;
  const logs = await readLogIndex(store, plan.key);
  let chunk = -1;
  /** The number of the first row after the chunk. */
  let end = 1;
  let states: ReadonlyMap<number, RowState> = new Map();
  return async (row) => {
    const before = chunk;
    while (row.row >= end && chunk + 1 < chunks.length) end += chunks[++chunk]!;
    if (chunk !== before) states = await readStates(store, plan, chunk, logs);
    return knownOf(row, states.get(row.row - (end - chunks[chunk]!))).sentAt !== null;
  };
}

/** Outcomes of rows that can be sent again. Rows that were not sent have no receipt. */
const SENDABLE: readonly RowOutcome[] = ['rejected', 'unknown'];

/** Collects the rows that an order asks for. */
class AskedRows {
  readonly #batchId: string;
  readonly #order: ResendOrder;
  readonly #named: Set<number> | null;
  readonly #first: number[] = [];
  readonly #refused: string[] = [];
  #rows = 0;
  #unsendable = 0;
  #ofOthers = 0;

  constructor(batchId: string, order: ResendOrder, corrected: readonly number[] | undefined) {
    this.#batchId = batchId;
    this.#order = order;
    const numbers = typeof order.rows === 'string' ? corrected : order.rows;
    this.#named = numbers === undefined ? null : new Set(numbers);
  }

  /** @param doubt of an unknown row: whether the batch itself has sent it, or only other batches may have written it */
  add(receipt: Receipt, planned: ChunkRow | null, doubt: 'own' | 'others'): void {
    const { row, outcome } = receipt;
    const isNamed = this.#named?.delete(row) ?? outcome === this.#order.rows;
    if (!isNamed) return;
    if (this.#order.rows === 'corrected') {
      // Another content would not show what became of the first one.
      if (outcome === 'rejected') this.#ask(row);
      else this.#refused.push(outcome === 'unknown' ? this.#inDoubt(row, doubt) : whyNot(receipt));
    } else if (this.#named !== null && !SENDABLE.includes(outcome)) this.#refused.push(whyNot(receipt));
    else if (planned !== null && planned.verdict !== null) this.#refuseContent(receipt);
    else if (this.#named === null && doubt === 'others') this.#ofOthers++;
    else if (this.#named !== null || planned?.receipt?.byHand !== true) this.#ask(row);
  }

  /** @throws InputError for a named row that must not be sent. @param rows of the input */
  check(rows: number): void {
    // The others have no receipt: they were not sent.
    for (const row of this.#named ?? []) {
      if (row > rows) this.#refused.push(`row ${row} does not exist: the input has ${rows}`);
      else this.#ask(row);
    }
    if (this.#refused.length === 0) return;
    const more = this.#refused.length - SHOWN_ROWS;
    const all = [...this.#refused.slice(0, SHOWN_ROWS), ...(more > 0 ? [`and ${more} more`] : [])];
    throw new InputError(`batch ${shownBatchId(this.#batchId)}: ${all.join('; ')}`, {
      remedy:
        'Nothing was sent. Name only rows that were rejected by the service, are unknown or were not sent.',
    });
  }

  summary(): Pick<PreparedResend, 'rows' | 'first' | 'unsendable' | 'ofOthers'> {
    const first = this.#first.toSorted((a, b) => a - b).slice(0, SHOWN_ROWS);
    return { rows: this.#rows, first, unsendable: this.#unsendable, ofOthers: this.#ofOthers };
  }

  #inDoubt(row: number, doubt: 'own' | 'others'): string {
    if (doubt === 'others')
      return `row ${row} is unknown (its receipt says what settles it: ${batchCommand('receipts', this.#batchId, '--rejected')})`;
    const command = batchCommand('resend', this.#batchId, `--rows ${row}`);
    return `row ${row} is unknown (settle it first: ${command})`;
  }

  #refuseContent({ row, message }: Receipt): void {
    this.#unsendable++;
    if (this.#named !== null) this.#refused.push(`row ${row} cannot be sent (${message})`);
  }

  #ask(row: number): void {
    this.#rows++;
    if (this.#first.length < SHOWN_ROWS || this.#named !== null) this.#first.push(row);
  }
}

function whyNot({ row, outcome, id }: Receipt): string {
  if (outcome === 'created' || outcome === 'updated')
    return `row ${row} is written${id === null ? '' : ` (id ${id})`}`;
  return `row ${row} is ${outcome}`;
}
