import type { InputReading } from '../core/contract/write-back.js';

/** UTF-8, commas, and cells as they are. */
export const PLAIN_READING: InputReading = {
  encoding: null,
  delimiter: ',',
  decimalComma: false,
  dates: null,
  drop: [],
  text: [],
  flattened: null,
  escaped: { lineBreaks: 'keep', escapeFormulas: false },
};

/** What was seen while an input was read. */
export class InputFacts {
  /** Lines without any value. They are not rows. */
  blankLines = 0;
  /** Lines that repeat the header. They are not rows. */
  headerLines = 0;
  /** Rows of an export that are deleted in the service (`_deleted_at`). They are not rows. */
  deletedRows = 0;
  /** Cells whose decimal comma or group mark was replaced. */
  decimalCommas = 0;
  /** Cells that were converted by a date format. */
  dates = 0;
  /** Cells of date columns that have ISO 8601 already. */
  isoDates = 0;
  /** Columns that were found and left out. */
  readonly dropped = new Set<string>();
  /** Columns of no known type with a cell in a date format. */
  readonly dateLike = new Set<string>();
  /** By column: the first cell that has another form than all published values, such as `a time in ISO 8601` (`wanted`). */
  readonly unlike = new Map<
    string,
    { readonly line: number; readonly value: string; readonly wanted: string }
  >();
}
