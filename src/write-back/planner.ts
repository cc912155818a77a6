import { type ByteString, fromByteString, toByteString } from '../core/brands.js';
import type { RowOutcome, WritableResource } from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import type { KeyForm } from '../core/settings.js';
import { type Field, type InputRow, textOf } from './fields.js';
import { HashTable } from './hash-table.js';
import { contentHash, idempotencyKey, keyPartsHash, textHash } from './idempotency-key.js';

/** The fields that identify a calendar entry (docs/service-api.md#requests). */
export const PAIR = ['source', 'sourceKey'] as const;

/** Why a row is not sent, as far as the input shows. */
interface Verdict {
  readonly outcome: Extract<RowOutcome, 'rejected' | 'superseded' | 'skipped'>;
  readonly message: string;
}

/** A row with everything that its request needs. */
export interface PlannedRow {
  /** Its number in the input, from 1. */
  readonly row: number;
  /** Its first line in the input, from 1. */
  readonly line: number;
  readonly key: string;
  readonly idempotencyKey: string;
  /** Beginning of the content's hash: 16 hexadecimal digits. */
  readonly content: string;
  /** The key of a calendar entry; `null` for other resources. */
  readonly pair: readonly [source: string, sourceKey: string] | null;
  /** The fields as a JSON object, without the pair. */
  readonly body: string;
  readonly verdict: Verdict | null;
}

interface BatchIdentity {
  readonly connection: string;
  readonly resource: WritableResource;
  readonly batchId: string;
  readonly keyColumn: string | null;
  /** Of idempotency keys. Default: `uuid-v5`. */
  readonly form?: KeyForm | undefined;
  /** Of calendar entries with the same pair and other content, the last one is sent. Default: they are an error. */
  readonly lastWins?: boolean | undefined;
}

/**
 * Plans a batch in two passes over the same rows: first `survey` for every row, then `plan` for every row. It needs about
 * 50 bytes of memory per row.
 */
export class BatchPlanner {
  readonly #batch: BatchIdentity;
  readonly #keyField: ByteString | null;
  /** By pair: the number of the last row with this pair, its line, and the beginning of its content's hash. */
  readonly #lastOfPair = new HashTable(4);
  /** By key: the first row with this key and the beginning of its content's hash. Without keys, by content: occurrences. */
  #seen: HashTable;
  readonly #width: number;
  #pass: 'survey' | 'plan' = 'survey';
  #rows = 0;

  constructor(batch: BatchIdentity) {
    this.#batch = batch;
    this.#keyField = batch.keyColumn === null ? null : toByteString(batch.keyColumn);
    this.#width = this.#keyField === null ? 1 : 3;
    this.#seen = new HashTable(this.#width);
  }

  /** Number of rows in the current pass. */
  get rows(): number {
    return this.#rows;
  }

  /**
   * First pass.
   *
   * @param sent what is sent in its place
   * @throws InputError for a row without its key or pair
   */
  survey(row: InputRow, sent = row): void {
    if (this.#batch.resource === 'calendar-entries') {
      const { content, verdict } = this.#identify(row, sent);
      if (verdict === null) this.#surveyPair(sent, content);
    } else {
      this.#rows++;
      if (this.#keyField !== null) inputRowKey(sent, this.#keyField);
    }
  }

  /** @throws InputError for a row with the pair and other content than an earlier row, because one of them would be lost */
  #surveyPair(row: InputRow, content: Buffer): void {
    const last = this.#lastOfPair;
    const entry = last.entry(keyPartsHash(pairOf(row)));
    const [high, low] = [content.readUInt32LE(0), content.readUInt32LE(4)];
    const line = last.get(entry, 1);
    const isSame = last.get(entry, 2) === high && last.get(entry, 3) === low;
    if (line > 0 && !isSame && this.#batch.lastWins !== true)
      throw new InputError(
        `the rows on lines ${line} and ${row.line} have the same source and sourceKey, and other content`,
        {
          line: row.line,
          about: { kind: 'pairs' },
          kind: 'two rows have the same source and sourceKey, and other content',
          remedy:
            'Each of them would overwrite the one before. Give each entry its own sourceKey, or set --last-wins to send only the last one.',
        },
      );
    for (const [at, value] of [this.#rows, row.line, high, low].entries()) last.set(entry, at, value);
  }

  /** Second pass; the first call ends the first pass. @param sent as for `survey` */
  plan(row: InputRow, sent = row): PlannedRow {
    if (this.#pass === 'survey') {
      this.#pass = 'plan';
      this.#seen = HashTable.sized(this.#width, this.#rows);
      this.#rows = 0;
    }
    const { key, content, verdict } = this.#identify(row, sent);
    const pair = this.#batch.resource === 'calendar-entries' ? pairOf(sent) : null;
    const fields =
      pair === null ? sent.fields : sent.fields.filter(({ name }) => name !== PAIR[0] && name !== PAIR[1]);
    return {
      row: this.#rows,
      line: row.line,
      key,
      idempotencyKey: this.#keyOf(key),
      content: content.toString('hex', 0, 8),
      pair,
      body: toBody(fields),
      verdict: verdict ?? (pair === null ? null : this.#superseded(pair)),
    };
  }

  /** The row with the idempotency key of its number. */
  withKey<Row extends PlannedRow & { readonly keyNumber?: number }>(row: Row): Row {
    return row.keyNumber === undefined
      ? row
      : { ...row, idempotencyKey: this.#keyOf(row.key, [row.keyNumber]) };
  }

  #keyOf(key: string, more: readonly number[] = []): string {
    const { connection, batchId, form } = this.#batch;
    return idempotencyKey(connection, batchId, key, form, more);
  }

  /** Without a key column, the row keeps its key whatever is sent in its place. */
  #identify(row: InputRow, sent: InputRow): { key: string; content: Buffer; verdict: Verdict | null } {
    this.#rows++;
    const content = contentHash(sent.fields);
    if (this.#keyField !== null) {
      const key = inputRowKey(sent, this.#keyField);
      return { key, content, verdict: this.#repeated(key, content) };
    }
    const own = sent === row ? content : contentHash(row.fields);
    const entry = this.#seen.entry(own);
    const occurrence = this.#seen.get(entry) + 1;
    this.#seen.set(entry, 0, occurrence);
    return { key: `${own.toString('hex', 0, 16)}-${occurrence}`, content, verdict: null };
  }

  #repeated(key: string, content: Buffer): Verdict | null {
    const [high, low] = [content.readUInt32LE(0), content.readUInt32LE(4)];
    const entry = this.#seen.entry(textHash(key));
    const first = this.#seen.get(entry);
    if (first === 0) {
      this.#seen.set(entry, 0, this.#rows);
      this.#seen.set(entry, 1, high);
      this.#seen.set(entry, 2, low);
      return null;
    }
    if (this.#seen.get(entry, 1) === high && this.#seen.get(entry, 2) === low)
      return { outcome: 'skipped', message: `duplicate of row ${first}` };
    return { outcome: 'rejected', message: `not sent: row ${first} has the same key and different content` };
  }

  #superseded(pair: readonly [string, string]): Verdict | null {
    const last = this.#lastOfPair.get(this.#lastOfPair.entry(keyPartsHash(pair)));
    if (last === this.#rows) return null;
    return { outcome: 'superseded', message: `row ${last} has the same source and sourceKey` };
  }
}

/** The key of a row. @throws InputError for a row without it */
export function inputRowKey(row: InputRow, column: ByteString): string {
  const field = row.key ?? row.fields.find((one) => one.name === column);
  // A number's literal is a key, too. Null, true, false, lists and objects are not.
  const literal = field !== undefined && /^[-\d]/.test(field.json) ? field.json : null;
  const text = field === undefined ? null : (textOf(field) ?? literal);
  if (text !== null && text !== '') return text;
  throw new InputError(`the row has no value in the key column ${JSON.stringify(fromByteString(column))}`, {
    line: row.line,
    remedy: 'Give each row a unique key, or omit --key-column to use the content as the key.',
  });
}

function pairOf(row: InputRow): [string, string] {
  const part = (name: string): string => {
    const field = row.fields.find((one) => one.name === name);
    const text = field === undefined ? null : textOf(field);
    if (text !== null && text !== '') return text;
    throw new InputError(`the row has no ${name}`, {
      line: row.line,
      remedy: 'A calendar entry needs source and sourceKey, both non-empty strings.',
    });
  };
  return [part(PAIR[0]), part(PAIR[1])];
}

function toBody(fields: readonly Field[]): string {
  const members = fields.map(({ name, json }) => `${JSON.stringify(name)}:${json}`);
  return fromByteString(`{${members.join(',')}}` as ByteString);
}
