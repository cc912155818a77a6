import type { InputReading } from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import type { InputProblems } from './input-problems.js';

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

/** The own value of a map from names; `undefined` for the members that each object has. */
export function ownValue<T>(map: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return map !== undefined && Object.hasOwn(map, name) ? map[name] : undefined;
}

/** What all published values of a column are, as far as a cell must be the same. */
export type PublishedForm = IsoForm | 'number' | 'boolean';

/** Forms of ISO 8601. */
export type IsoForm = 'date' | 'time' | 'date or time';

/** Different cells of a column that are kept. */
const MAX_VALUES = 200;

/** Cells that have another form than all published values of their column. */
export interface UnlikePublished {
  /** Of the first one. */
  readonly line: number;
  readonly value: string;
  readonly form: PublishedForm;
  count: number;
  /** The first different cells. */
  readonly values: Set<string>;
}

/** What was seen while an input was read. */
export class InputFacts {
  /** Collects errors of rows and cells; `null`: the first one is thrown. */
  readonly problems: InputProblems | null;
  /** Lines without any value. They are not rows. */
  blankLines = 0;
  /** Lines that repeat the header. They are not rows. */
  headerLines = 0;
  /** Rows of an export that are deleted in the service (`_deleted_at`). They are not rows. */
  deletedRows = 0;
  /** Cells whose decimal comma or group mark was replaced. */
  decimalCommas = 0;
  /** Columns that have another name in the header. */
  readonly mapped = new Set<string>();
  /** Columns with a cell that was converted to another unit. */
  readonly inUnits = new Set<string>();
  /** The words that cells have for `true` and `false`, in lower case. */
  readonly words = { true: new Set<string>(), false: new Set<string>() };
  /** Cells that were converted by a date format. */
  dates = 0;
  /** Cells of date columns that have ISO 8601 already. */
  isoDates = 0;
  /** Columns that were found and left out. */
  readonly dropped = new Set<string>();
  /** Columns of no known type with a cell in a date format. */
  readonly dateLike = new Set<string>();
  /** By column. */
  readonly unlike = new Map<string, UnlikePublished>();

  constructor(problems: InputProblems | null = null) {
    this.problems = problems;
  }

  /** Notes a cell that has another form than all published values of its column. */
  addUnlike(column: string, cell: Pick<UnlikePublished, 'line' | 'value' | 'form'>): void {
    const found = this.unlike.get(column);
    if (found === undefined) this.unlike.set(column, { ...cell, count: 1, values: new Set([cell.value]) });
    else {
      found.count++;
      if (found.values.size < MAX_VALUES) found.values.add(cell.value);
    }
  }

  /** The result of `work`; `undefined` if it throws an InputError that is collected. */
  attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      this.report(error);
      return undefined;
    }
  }

  /** Collects an error, or throws it. */
  report(error: unknown): void {
    if (this.problems === null || !(error instanceof InputError)) throw error;
    this.problems.add(error);
  }
}
