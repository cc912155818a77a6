import type { ObjectKey } from '../brands.js';
import type { ExtractResult, ListRead, RunRef } from '../contract/index.js';
import type { Steps } from './phase-steps.js';

/** The starting point of a reading. */
interface Start {
  /** What is already staged, for example by an earlier failed run; `null`: nothing. */
  readonly staged: ExtractResult | null;
  /** The learned page size in rows; `null`: the configured one. */
  readonly pageSize: number | null;
}

/** The phase that reads the list. Each reading of a run continues from the stage document that the one before it wrote. */
export class Reading {
  #last: ExtractResult | null;
  #calls = 0;
  #reads = 0;
  #shifted: boolean;

  constructor(
    private readonly ref: RunRef,
    private readonly steps: Steps,
    private readonly start: Start,
    private readonly onProgress: (extracted: ExtractResult) => void,
  ) {
    this.#last = start.staged;
    this.#shifted = start.staged?.shifted === true;
  }

  /** Reads the list from start to end. Returns the number of the read. */
  async read(kind: ListRead['kind']): Promise<number> {
    const read: ListRead = { number: this.#reads++, kind };
    // A resumed run may already have staged the whole list.
    let done = read.number === 0 && this.#last?.done === true;
    while (!done) {
      const from =
        this.#calls === 0 ? '' : `, from page ${this.#last?.pages ?? 0}, ${this.#last?.rows ?? 0} rows`;
      this.#last = await this.steps.extractPages(
        {
          ...this.ref,
          call: this.#calls++,
          after: this.#last?.stage ?? null,
          pageSize: this.#last?.pageSize ?? this.start.pageSize,
          read,
          ...(this.#last?.words === undefined ? {} : { words: this.#last.words }),
        },
        `${kind}${from}`,
      );
      this.onProgress(this.#last);
      done = this.#last.done;
      if (kind === 'list') this.#shifted = this.#last.shifted;
    }
    return read.number;
  }

  /** Whether the last read of the list showed signs of a shift. Some signs show only in the merge. */
  get shifted(): boolean {
    return this.#shifted;
  }

  /** Whether a reading of the whole list got an empty body, which concludes no deletes. */
  get isBlank(): boolean {
    return this.#result.isBlank;
  }

  get stage(): ObjectKey {
    return this.#result.stage;
  }

  get pageSize(): number {
    return this.#result.pageSize;
  }

  /** Rows that the readings have returned. */
  get rows(): number {
    return this.#result.rows;
  }

  get #result(): ExtractResult {
    if (this.#last === null) throw new Error('the list was not read');
    return this.#last;
  }
}
