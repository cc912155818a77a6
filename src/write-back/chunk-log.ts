import type { RowReceipt } from './plan-file.js';

/**
 * The log of one attempt to send a chunk. It is written before the attempt's first request and again with the results.
 * Once it is `closed`, this attempt has not sent any row that is not in `rows`.
 */
export interface ChunkLog {
  /** Milliseconds since 1970. The attempt sent nothing before this time. */
  readonly at: number;
  readonly closed: boolean;
  readonly rows: readonly LoggedRow[];
}

/** A row by its index in the chunk, from 0. `tried`: it may have been sent, and no response confirmed the result. */
export type LoggedRow =
  | readonly [
      index: number,
      outcome: RowReceipt['outcome'],
      status: number | null,
      id: string | null,
      message: string | null,
    ]
  | readonly [index: number, outcome: 'tried', status: number | null, id: null, message: string | null];

/** The state of a row according to the logs of all attempts. */
export interface RowState {
  readonly receipt: RowReceipt | null;
  /** The earliest time at which it may have been sent without a known outcome; `null` if it was not. */
  readonly sentAt: number | null;
  /** The message of the last attempt. */
  readonly message: string | null;
}

/** States by index in the chunk; a row without a state was never sent. @param rows number of rows in the chunk */
export function mergeLogs(logs: readonly ChunkLog[], rows: number): Map<number, RowState> {
  const states = new Map<number, RowState>();
  const markUnknown = (index: number, at: number, message: string | null): void => {
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
      if (outcome === 'tried') markUnknown(index, log.at, message);
      else if (!isWritten(states.get(index)?.receipt ?? null))
        states.set(index, { receipt: { outcome, status, id, message }, sentAt: null, message });
    }
    if (log.closed) continue;
    for (let index = 0; index < rows; index++) if (!named.has(index)) markUnknown(index, log.at, null);
  }
  return states;
}

/** The service has confirmed the record. The result of another attempt does not change that. */
function isWritten(receipt: RowReceipt | null): boolean {
  return receipt?.outcome === 'created' || receipt?.outcome === 'updated';
}
