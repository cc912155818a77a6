import type { ObjectKey } from '../core/brands.js';
import {
  CONFIRMATION_VERDICTS,
  type ConfirmationCounts,
  type ConfirmationVerdict,
} from '../core/contract/write-back.js';
import type { ObjectStore } from '../lake/store/index.js';
import { batchKeys } from './batch-layout.js';
import type { FieldDifference } from './record-differences.js';
import { decodeSealed, encodeSealed } from './sealed.js';

/** Row numbers in ascending order, as ranges that include both ends. */
export type Ranges = readonly (readonly [from: number, to: number])[];

/** `confirmations.json`: what was found of the written rows of a batch (docs/how-to/written-rows.md#confirmations). */
interface ConfirmationsFile {
  /** The input whose rows the numbers are. */
  readonly input: ObjectKey;
  readonly rows: Readonly<Record<ConfirmationVerdict, Ranges>>;
  /** The values of the first rows that differ. */
  readonly details: readonly (readonly [row: number, differs: readonly FieldDifference[]])[];
}

/** Rows whose differences are kept with their values. */
const MAX_DETAILS = 1000;

/** What was found of the written rows of one input. */
export class Confirmations {
  readonly #input: ObjectKey;
  readonly #verdicts = new Map<number, ConfirmationVerdict>();
  readonly #details = new Map<number, readonly FieldDifference[]>();

  constructor(input: ObjectKey) {
    this.#input = input;
  }

  /** @param row its number in the input */
  of(row: number): ConfirmationVerdict | null {
    return this.#verdicts.get(row) ?? null;
  }

  differencesOf(row: number): readonly FieldDifference[] {
    return this.#details.get(row) ?? [];
  }

  /** A row that is confirmed stays so: people may change its record later. */
  set(row: number, verdict: ConfirmationVerdict, differs: readonly FieldDifference[] = []): void {
    if (this.of(row) === 'confirmed') return;
    this.#verdicts.set(row, verdict);
    this.#details.delete(row);
    if (verdict === 'differs' && this.#details.size < MAX_DETAILS) this.#details.set(row, differs);
  }

  get counts(): ConfirmationCounts {
    const counts = { confirmed: 0, differs: 0, notSeen: 0, notListed: 0 };
    for (const verdict of this.#verdicts.values()) counts[verdict]++;
    return counts;
  }

  /** The numbers of the rows with a verdict, in ascending order. */
  rowsOf(verdict: ConfirmationVerdict): number[] {
    return [...this.#verdicts]
      .flatMap(([row, found]) => (found === verdict ? [row] : []))
      .sort((a, b) => a - b);
  }

  encode(): Buffer {
    const ranges = (verdict: ConfirmationVerdict) => [verdict, rangesOf(this.rowsOf(verdict))] as const;
    const file: ConfirmationsFile = {
      input: this.#input,
      rows: Object.fromEntries(CONFIRMATION_VERDICTS.map(ranges)) as ConfirmationsFile['rows'],
      details: [...this.#details],
    };
    return encodeSealed(file);
  }

  /** @param input rows of another input are forgotten @throws DamagedError */
  static decode(key: ObjectKey, body: Buffer, input: ObjectKey): Confirmations {
    const file = decodeSealed<ConfirmationsFile>(key, body);
    const found = new Confirmations(input);
    if (file.input !== input) return found;
    const details = new Map(file.details);
    for (const verdict of CONFIRMATION_VERDICTS)
      for (const [from, to] of file.rows[verdict])
        for (let row = from; row <= to; row++) found.set(row, verdict, details.get(row));
    return found;
  }
}

/** @param rows in ascending order */
export function rangesOf(rows: readonly number[]): Ranges {
  const ranges: [number, number][] = [];
  for (const row of rows) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === row - 1) last[1] = row;
    else ranges.push([row, row]);
  }
  return ranges;
}

/** Reads what was found of an input, with the ETag; nothing is found before the first look. @throws DamagedError, StoreError */
export async function readConfirmations(
  store: ObjectStore,
  batchId: string,
  input: ObjectKey,
): Promise<{ readonly found: Confirmations; readonly etag: string | null }> {
  const key = batchKeys(batchId).confirmations;
  const stored = await store.readIfExists(key);
  if (stored === null) return { found: new Confirmations(input), etag: null };
  return { found: Confirmations.decode(key, stored.body, input), etag: stored.etag };
}
