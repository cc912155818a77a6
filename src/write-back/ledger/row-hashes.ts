import { hash } from 'node:crypto';
import { type ByteString, fromByteString, type ObjectKey, toByteString } from '../../core/brands.js';
import { JsonScanner } from '../../json/scanner.js';
import { damagedObject } from '../../lake/damaged-error.js';
import { crc32 } from '../../lake/store/crc32.js';
import type { Field } from '../fields.js';
import { HashTable } from '../hash-table.js';
import { isAnswered, isWritten, type RowReceipt } from '../plan-file.js';
import { checksum, ROW_HASH_BYTES, recordBytes } from './rows-object.js';

/**
 * The hash of what a row sends. Two rows have the same hash if the same cells reach the service: whatever the format of
 * the file, its line ends (also inside a cell), the order of its columns, the types of its columns, and empty cells. In
 * objects and lists, the order of members and escapes do not count either.
 */
export function cellsHash(fields: readonly Field[]): Buffer {
  const cells: string[] = [];
  for (const { name, json } of fields) {
    const cell = cellOf(json);
    if (cell !== null) cells.push(`${name.length}:${name}${cell.length}:${cell}`);
  }
  return shortHash(Buffer.from(cells.sort().join(''), 'latin1'));
}

/** The hash of a row's key in a column. Equal keys of different columns have different hashes. */
export function keyHash(column: string, key: string): Buffer {
  return shortHash(Buffer.from(JSON.stringify([column, key]), 'utf8'));
}

function shortHash(bytes: Buffer): Buffer {
  return hash('sha256', bytes, 'buffer').subarray(0, ROW_HASH_BYTES);
}

/** The value as one character per byte, the same for `"60"` and `60`; `null` for a value that counts as an empty cell. */
function cellOf(json: ByteString): string | null {
  if (json === 'null' || json === '""') return null;
  if (!json.startsWith('"')) return isNested(json) ? sorted(new JsonScanner(json)) : json;
  const text = json.includes('\\')
    ? toByteString(JSON.parse(fromByteString(json)) as string)
    : (json.slice(1, -1) as ByteString);
  if (text.length <= 5 && /^(?:true|false)$/i.test(text)) return text.toLowerCase();
  const lines = text.includes('\r') ? (text.replace(/\r\n?/g, '\n') as ByteString) : text;
  // A column of text can hold what a column of JSON holds.
  return isNested(lines) ? sortedText(lines) : lines;
}

function isNested(json: ByteString): boolean {
  return json.startsWith('{') || json.startsWith('[');
}

function sortedText(text: ByteString): string {
  const scanner = new JsonScanner(text);
  try {
    // It rejects values with too many levels for the recursion of `sorted`.
    scanner.skip();
    scanner.end();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return text;
  }
  return sorted(new JsonScanner(text));
}

/** The JSON value at the scanner's position, with the members of objects in order and the usual escapes. */
function sorted(scanner: JsonScanner): string {
  switch (scanner.peek()) {
    case 0x7b: {
      const members: { readonly name: string; readonly value: string }[] = [];
      for (const [name] of scanner.members())
        members.push({ name: JSON.stringify(name), value: sorted(scanner) });
      // Members with the same name stay in their order: the last one counts.
      members.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
      return `{${members.map(({ name, value }) => `${name}:${value}`).join()}}`;
    }
    case 0x5b:
      return `[${Array.from(scanner.items(), () => sorted(scanner)).join()}]`;
    case 0x22:
      return JSON.stringify(scanner.string());
    default:
      return scanner.nested();
  }
}

/**
 * The state of a row in its own batch.
 * - `unsent`: its content is the reason that it is never sent.
 * - `open`: it has no outcome, and its plan sends it unless the ledger has it.
 * - `written`, `settled`: the batch has written it, or the service or a user has rejected it.
 * - `left`: the batch has not sent it, and a user has asked for other rows. The ledger is asked about it as about an open row,
 *   so that it keeps its verdict and its place among equal rows.
 * - `doubtful`: the batch may have written it, and its plan does not send it.
 */
export type OwnState = (typeof STATES)[number];

/** Stored as indexes. */
const STATES = ['unsent', 'open', 'written', 'settled', 'left', 'doubtful'] as const;

/** The state of a row that has a receipt. */
export function settledState(receipt: RowReceipt): OwnState {
  if (isWritten(receipt)) return 'written';
  const wasSent = receipt.byHand === true ? receipt.sentAt !== undefined : !isAnswered(receipt);
  return wasSent ? 'doubtful' : 'settled';
}

/** Rows in one block of memory. */
const BLOCK_ROWS = 16_384;

/**
 * The hashes of a file's rows, in the order of the file: 17 bytes per row, or 33 with a key column. They are kept next to
 * a plan, so that its rows can be looked up without reading them again.
 */
export class RowHashes {
  readonly isKeyed: boolean;
  readonly #rowBytes: number;
  readonly #blocks: Buffer[] = [];
  #rows = 0;

  constructor(isKeyed: boolean) {
    this.isKeyed = isKeyed;
    this.#rowBytes = 1 + recordBytes(isKeyed);
  }

  /** @throws DamagedError if the bytes are not exactly those that `encode` gave for `rows` rows */
  static decode(key: ObjectKey, body: Buffer, isKeyed: boolean, rows: number): RowHashes {
    const hashes = new RowHashes(isKeyed);
    const end = rows * hashes.#rowBytes;
    if (body.length !== end + 4 || body.readUInt32LE(end) !== crc32(body.subarray(0, end)))
      throw damagedObject(key, 'its content does not match its checksum');
    for (let from = 0; from < end; from += BLOCK_ROWS * hashes.#rowBytes)
      hashes.#blocks.push(body.subarray(from, Math.min(end, from + BLOCK_ROWS * hashes.#rowBytes)));
    hashes.#rows = rows;
    return hashes;
  }

  get rows(): number {
    return this.#rows;
  }

  /** @param key hash of the key; `null` without a key column */
  add(key: Buffer | null, cells: Buffer, state: OwnState): void {
    if (this.#rows % BLOCK_ROWS === 0) this.#blocks.push(Buffer.allocUnsafe(BLOCK_ROWS * this.#rowBytes));
    const row = this.#rows++;
    const [block, at] = [this.blockOf(row), this.#offset(row)];
    this.setState(row, state);
    key?.copy(block, at + 1, 0, ROW_HASH_BYTES);
    cells.copy(block, at + 1 + (this.isKeyed ? ROW_HASH_BYTES : 0), 0, ROW_HASH_BYTES);
  }

  /** @param row from 0 */
  stateOf(row: number): OwnState {
    return STATES[this.blockOf(row)[this.#offset(row)]!]!;
  }

  setState(row: number, state: OwnState): void {
    this.blockOf(row)[this.#offset(row)] = STATES.indexOf(state);
  }

  /** The memory that holds a row; `identityAt` and `cellsAt` are offsets in it. */
  blockOf(row: number): Buffer {
    return this.#blocks[Math.floor(row / BLOCK_ROWS)]!;
  }

  /** Where the hash that identifies the row begins: of its key, or without keys of its cells. */
  identityAt(row: number): number {
    return this.#offset(row) + 1;
  }

  /** Where the hash of the row's cells begins. */
  cellsAt(row: number): number {
    return this.#offset(row) + 1 + (this.isKeyed ? ROW_HASH_BYTES : 0);
  }

  /** The bytes for `decode`: all rows, and a CRC32. */
  encode(): Buffer[] {
    const blocks = this.#blocks.map((block, at) =>
      block.subarray(0, Math.min(BLOCK_ROWS, this.#rows - at * BLOCK_ROWS) * this.#rowBytes),
    );
    return [...blocks, checksum(blocks.reduce((crc, block) => crc32(block, crc), 0))];
  }

  #offset(row: number): number {
    return (row % BLOCK_ROWS) * this.#rowBytes;
  }
}

/** The hashes of a file's rows, collected while it is read. Needs about 60 bytes of memory per row. */
export class FileRows {
  readonly hashes: RowHashes;
  readonly #keyColumn: string | null;
  readonly #seen = new HashTable();
  #repeated = 0;
  #firstRepeated = 0;

  constructor(keyColumn: string | null) {
    this.hashes = new RowHashes(keyColumn !== null);
    this.#keyColumn = keyColumn;
  }

  /** @param key the value in the key column; `null` without a key column */
  add(fields: readonly Field[], key: string | null): void {
    const cells = cellsHash(fields);
    const keyed = key === null || this.#keyColumn === null ? null : keyHash(this.#keyColumn, key);
    const entry = this.#seen.entry(keyed ?? cells);
    const isRepeated = this.#seen.get(entry) === 1;
    this.#seen.set(entry, 0, 1);
    // Of several rows with a key, the first one is sent.
    this.hashes.add(keyed, cells, isRepeated && keyed !== null ? 'unsent' : 'open');
    if (isRepeated && this.#repeated++ === 0) this.#firstRepeated = this.hashes.rows;
  }

  /** How many rows have the key, or without keys the cells, of an earlier row of the file; and the first such row, from 1. */
  get repeated(): { readonly rows: number; readonly first: number } {
    return { rows: this.#repeated, first: this.#firstRepeated };
  }
}
