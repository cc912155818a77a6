import { type ByteString, fromByteString, type ObjectKey, toByteString } from '../core/brands.js';
import type { InputFormat, RowOutcome, WritableResource } from '../core/contract/write-back.js';
import type { CellTypes } from './columns.js';
import type { PlannedRow, Verdict } from './planner.js';
import { readSealedLines, sealLine } from './sealed.js';

/** `batch.json`: the settings of all runs of a batch. */
export interface BatchFile {
  readonly layout: 1;
  /** The connection that the batch began with. The rows' idempotency keys contain it, even if it is renamed later. */
  readonly connection: string;
  readonly baseUrl: string;
  readonly resource: WritableResource;
  /** CSV and JSON inputs compute row keys differently. */
  readonly kind: 'csv' | 'json';
  readonly keyColumn: string | null;
  /** Types of CSV columns. They are fixed so that a row is sent the same way every time. */
  readonly types: CellTypes;
}

export function kindOf(format: InputFormat): BatchFile['kind'] {
  return format === 'csv' ? 'csv' : 'json';
}

/** `plan.json`: one pass over one input. */
export interface PlanFile {
  /** From 1 within the batch. */
  readonly sequence: number;
  readonly input: ObjectKey;
  readonly rows: number;
  /** Number of rows in each chunk. */
  readonly chunks: readonly number[];
  /** Numbers of the chunks that have rows to send. */
  readonly pending: readonly number[];
  /** The attempt that wrote the chunks. Chunks of other attempts do not count. */
  readonly writer: string;
}

/** The final result of a row. */
export interface RowReceipt {
  readonly outcome: RowOutcome;
  readonly status: number | null;
  readonly id: string | null;
  readonly message: string | null;
}

/** A row in a plan's chunk. */
export interface ChunkRow extends PlannedRow {
  /** The result from an earlier plan of the batch. */
  readonly receipt: RowReceipt | null;
  /** Set if an earlier plan may have sent it without a known outcome, at this time or later: milliseconds since 1970. */
  readonly sentAt: number | null;
}

interface EncodedRow {
  readonly r: number;
  readonly l: number;
  readonly k: string;
  readonly u: string;
  readonly c: string;
  readonly p: readonly [string, string] | undefined;
  readonly b: string | undefined;
  readonly v: Verdict | undefined;
  readonly d: RowReceipt | undefined;
  readonly s: number | undefined;
}

/** Encodes a row as a line of a chunk. */
export function encodeChunkRow(chunkRow: ChunkRow): Buffer {
  const {
    row,
    line: inputLine,
    key,
    idempotencyKey,
    content,
    pair,
    body,
    verdict,
    receipt,
    sentAt,
  } = chunkRow;
  const line: EncodedRow = {
    r: row,
    l: inputLine,
    k: key,
    u: idempotencyKey,
    c: content,
    p: pair ?? undefined,
    b: isPending(chunkRow) ? fromByteString(body) : undefined,
    v: verdict ?? undefined,
    d: receipt ?? undefined,
    s: sentAt ?? undefined,
  };
  return Buffer.from(`${JSON.stringify(line)}\n`);
}

/** Ends the lines of a chunk. */
export function encodeChunk(lines: readonly Buffer[]): Buffer {
  const body = Buffer.concat(lines);
  return Buffer.concat([body, sealLine(body, lines.length)]);
}

/**
 * @param rows the number of rows that the plan says
 * @throws DamagedError if the chunk is not exactly what was written
 */
export function decodeChunk(key: ObjectKey, chunk: Buffer, rows: number): ChunkRow[] {
  return readSealedLines(key, chunk, rows).map((text) => {
    const { r, l, k, u, c, p, b, v, d, s } = JSON.parse(text) as EncodedRow;
    return {
      row: r,
      line: l,
      key: k,
      idempotencyKey: u,
      content: c,
      pair: p ?? null,
      body: b === undefined ? ('{}' as ByteString) : toByteString(b),
      verdict: v ?? null,
      receipt: d ?? null,
      sentAt: s ?? null,
    };
  });
}

/** Whether a row of a plan must be sent. */
export function isPending({ verdict, receipt }: ChunkRow): boolean {
  return verdict === null && receipt === null;
}

const MAX_CHUNK_ROWS = 1000;
const MIN_CHUNK_ROWS = 250;
const TARGET_CHUNKS = 2000;

/** Size limit of a chunk in bytes. A whole chunk is held in memory. */
export const CHUNK_BYTES = 2 * 1024 * 1024;

/**
 * Rows per chunk. The intent to send is recorded per chunk, which takes six requests to the store. Chunks are small, because
 * after a worker was killed, every row of its chunks may have been sent. They are large enough that these requests take
 * little time, and that the objects of a large batch can be listed quickly.
 */
export function chunkRows(rows: number): number {
  return Math.min(MAX_CHUNK_ROWS, Math.max(MIN_CHUNK_ROWS, Math.ceil(rows / TARGET_CHUNKS)));
}
