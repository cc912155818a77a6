import type { RowReceipt } from '../../src/write-back/index.js';
import type { RowTask } from './open-chunk.js';

/** Rows answered with 404 or 405, with no other answer, until the endpoint counts as missing. */
const MAX_NOT_FOUND = 20;

interface NotFoundRow {
  readonly task: RowTask;
  readonly receipt: RowReceipt;
}

/** A 404 concerns the row if the service has accepted or rejected other rows. Otherwise it concerns the endpoint. */
export class NotFoundRows {
  #rows: NotFoundRow[] = [];
  /** Whether the service has accepted or rejected a row. */
  answered: boolean;

  constructor(answered: boolean) {
    this.answered = answered;
  }

  add(row: NotFoundRow): void {
    this.#rows.push(row);
  }

  /** Takes the rows about which a decision is possible. @param when `end`: no other row follows */
  decide(when: 'more' | 'end'): {
    readonly about: 'rows' | 'endpoint';
    readonly rows: readonly NotFoundRow[];
  } {
    const rows = this.#rows;
    const isDecided = this.answered || when === 'end' || rows.length >= MAX_NOT_FOUND;
    if (isDecided) this.#rows = [];
    return { about: this.answered ? 'rows' : 'endpoint', rows: isDecided ? rows : [] };
  }
}
