import type { RowReceipt } from './plan-file.js';

/**
 * What one attempt did with a chunk. It is written before the attempt's first request, and again with what was
 * heard: once it is `closed`, rows that it does not name were not sent by this attempt.
 */
export interface ChunkLog {
  /** Milliseconds since 1970: nothing was sent before. */
  readonly at: number;
  readonly closed: boolean;
  readonly rows: readonly LoggedRow[];
}

/** A row by its place in the chunk, from 0. `tried`: it was sent, and no answer settled what became of it. */
export type LoggedRow =
  | readonly [
      index: number,
      outcome: RowReceipt['outcome'],
      status: number | null,
      id: string | null,
      message: string | null,
    ]
  | readonly [index: number, outcome: 'tried', status: number | null, id: null, message: string | null];

/** What all attempts together know of a row. */
export interface RowState {
  readonly receipt: RowReceipt | null;
  /** The earliest time at which it may have been sent to no known end; `null`: it was not. */
  readonly sentAt: number | null;
  /** What the last try ended with. */
  readonly message: string | null;
}

/** By place in the chunk; a row without a state has never been sent. @param rows of the chunk */
export function mergeLogs(logs: readonly ChunkLog[], rows: number): Map<number, RowState> {
  const states = new Map<number, RowState>();
  const doubt = (index: number, at: number, message: string | null): void => {
    const before = states.get(index);
    const sentAt = Math.min(at, before?.sentAt ?? at);
    states.set(index, {
      receipt: before?.receipt ?? null,
      sentAt,
      message: message ?? before?.message ?? null,
    });
  };
  for (const log of logs) {
    const named = new Set<number>();
    for (const [index, outcome, status, id, message] of log.rows) {
      named.add(index);
      if (outcome === 'tried') doubt(index, log.at, message);
      else states.set(index, { receipt: { outcome, status, id, message }, sentAt: null, message });
    }
    if (log.closed) continue;
    for (let index = 0; index < rows; index++) if (!named.has(index)) doubt(index, log.at, null);
  }
  return states;
}
