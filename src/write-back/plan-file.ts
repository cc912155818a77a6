import type { ByteString, ObjectKey } from '../core/brands.js';
import { toByteString } from '../core/brands.js';
import type { InputFormat, RowOutcome, WritableResource } from '../core/write-back-contract.js';
import type { CellTypes } from './columns.js';
import type { PlannedRow, Verdict } from './planner.js';

/** `batch.json`: what all runs of a batch keep to. */
export interface BatchFile {
  readonly layout: 1;
  readonly connection: string;
  readonly resource: WritableResource;
  /** CSV and JSON tell rows apart in different ways. */
  readonly kind: 'csv' | 'json';
  readonly keyColumn: string | null;
  /** Of CSV columns; they are fixed so that a row is sent the same way every time. */
  readonly types: CellTypes;
}

export function kindOf(format: InputFormat): BatchFile['kind'] {
  return format === 'csv' ? 'csv' : 'json';
}

/** `plan.json`: one reading of one input. */
export interface PlanFile {
  /** From 1 within the batch. */
  readonly sequence: number;
  readonly input: ObjectKey;
  readonly rows: number;
  /** Rows of each chunk. */
  readonly chunks: readonly number[];
  /** Chunks that have something to send, by number. */
  readonly pending: readonly number[];
}

/** What is known for good of a row: outcome, status, id, message. */
export interface RowReceipt {
  readonly outcome: RowOutcome;
  readonly status: number | null;
  readonly id: string | null;
  readonly message: string | null;
}

/** A row in a plan's chunk. */
export interface ChunkRow extends PlannedRow {
  /** What an earlier plan of the batch has come to. */
  readonly receipt: RowReceipt | null;
  /** An earlier plan may have sent it, at this time or later and to no known end: milliseconds since 1970. */
  readonly sentAt: number | null;
}

interface Written {
  readonly r: number;
  readonly k: string;
  readonly u: string;
  readonly c: string;
  readonly p?: readonly [string, string];
  readonly b?: string;
  readonly v?: Verdict;
  readonly d?: RowReceipt;
  readonly s?: number;
}

/** A row as a line of a chunk. The body is only kept where it may have to be sent. */
export function encodeChunkRow({
  row,
  key,
  idempotencyKey,
  content,
  pair,
  body,
  verdict,
  receipt,
  sentAt,
}: ChunkRow): Buffer {
  const line: Written = {
    r: row,
    k: key,
    u: idempotencyKey,
    c: content,
    ...(pair === null ? {} : { p: pair }),
    ...(receipt !== null || verdict !== null ? {} : { b: Buffer.from(body, 'latin1').toString('utf8') }),
    ...(verdict === null ? {} : { v: verdict }),
    ...(receipt === null ? {} : { d: receipt }),
    ...(sentAt === null ? {} : { s: sentAt }),
  };
  return Buffer.from(`${JSON.stringify(line)}\n`);
}

export function decodeChunk(chunk: Buffer): ChunkRow[] {
  const lines = chunk.toString('utf8').split('\n').slice(0, -1);
  return lines.map((text) => {
    const { r, k, u, c, p, b, v, d, s } = JSON.parse(text) as Written;
    return {
      row: r,
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

/** Whether a row of a plan is there to be sent. */
export function isPending({ verdict, receipt }: ChunkRow): boolean {
  return verdict === null && receipt === null;
}

const MOST_ROWS = 1000;
const FEWEST_ROWS = 50;
const CHUNKS_WANTED = 2000;

/** A chunk ends at this size, bytes: it is held in memory whole. */
export const CHUNK_BYTES = 2 * 1024 * 1024;

/**
 * Rows of a chunk, which is the unit of a durable intent to send: small, because what a killed worker leaves in doubt is
 * a chunk; but not so small that a large batch has more objects than can be listed in a moment.
 */
export function chunkRows(rows: number): number {
  return Math.min(MOST_ROWS, Math.max(FEWEST_ROWS, Math.ceil(rows / CHUNKS_WANTED)));
}
