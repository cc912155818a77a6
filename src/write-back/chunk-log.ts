import type { RowReceipt } from './plan-file.js';

/**
 * The log of one attempt to send a chunk. It is written before the attempt's first request and again with the results.
 * Once it is `closed`, this attempt has not sent any row that is not in `rows`.
 */
export interface ChunkLog {
  /** The run of the batch that the attempt belongs to. */
  readonly run: string;
  /** Milliseconds since 1970. The attempt sent nothing before this time. */
  readonly at: number;
  /** Number of rows of the chunk that the service has accepted from this attempt. */
  readonly accepted: number;
  readonly closed: boolean;
  readonly rows: readonly LoggedRow[];
}

/**
 * A row by its index in the chunk, from 0.
 * - `tried`: it may have been sent, and no response confirmed the result.
 * - `unclear`: as `tried`, but the response was complete, so that the same run does not send it again.
 * - `held`: the service refused it, so this attempt did not write it. Whether the refusal is about the row is not known yet.
 */
export type LoggedRow =
  | readonly [
      index: number,
      outcome: RowReceipt['outcome'],
      status: number | null,
      id: string | null,
      message: string | null,
    ]
  | readonly [
      index: number,
      outcome: 'tried' | 'unclear' | 'held',
      status: number | null,
      id: null,
      message: string | null,
    ];

/** The state of a row according to the logs of all attempts. */
export interface RowState {
  readonly receipt: RowReceipt | null;
  /** The earliest time when it may have been sent without a known outcome; `null` if it was not. */
  readonly sentAt: number | null;
  /** Status and message of the last response. */
  readonly status: number | null;
  readonly message: string | null;
  /** The run whose complete response left the outcome unknown; `null` if there was none. */
  readonly unclearIn: string | null;
  /** A refusal that has not become an outcome; `null` if there is none. */
  readonly held: HeldRefusal | null;
}

/** What the service said when it refused a row. */
export interface HeldRefusal {
  readonly run: string;
  readonly status: number | null;
  readonly message: string | null;
}

const NOTHING_KNOWN: RowState = {
  receipt: null,
  sentAt: null,
  status: null,
  message: null,
  unclearIn: null,
  held: null,
};

/** States by index in the chunk; a row without a state was never sent. @param rows number of rows in the chunk */
export function mergeLogs(logs: readonly ChunkLog[], rows: number): Map<number, RowState> {
  const states = new Map<number, RowState>();
  const add = (index: number, more: Partial<RowState>): void => {
    states.set(index, { ...NOTHING_KNOWN, ...states.get(index), ...more });
  };
  const markUnknown = (index: number, at: number, more: Partial<RowState> = {}): void => {
    add(index, { sentAt: Math.min(at, states.get(index)?.sentAt ?? at), ...more });
  };
  for (const { run, at, closed, rows: logged } of logs) {
    const named = new Set<number>();
    for (const [index, outcome, status, id, message] of logged) {
      named.add(index);
      const said = message === null ? {} : { status, message };
      if (outcome === 'tried') markUnknown(index, at, said);
      else if (outcome === 'unclear') markUnknown(index, at, { ...said, unclearIn: run });
      else if (outcome === 'held') add(index, { held: { run, status, message } });
      else if (!isWritten(states.get(index)?.receipt ?? null))
        add(index, { receipt: { outcome, status, id, message }, sentAt: null });
    }
    if (closed) continue;
    for (let index = 0; index < rows; index++) if (!named.has(index)) markUnknown(index, at);
  }
  return states;
}

/** The service has confirmed the record. The result of another attempt does not change that. */
function isWritten(receipt: RowReceipt | null): boolean {
  return receipt?.outcome === 'created' || receipt?.outcome === 'updated';
}
