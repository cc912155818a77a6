import type { ActivityInterfaceFor } from '@temporalio/workflow';
import type { ObjectKey } from '../src/core/brands.js';
import type { Activities, ExtractResult, ListRead, RunRef } from '../src/core/contract.js';

/** The activities as a workflow calls them. */
export type LongActivities = ActivityInterfaceFor<Activities>;

/** What an extraction begins with. */
interface Start {
  /** What is staged already, such as by a failed run before; `null`: nothing. */
  readonly taken: ExtractResult | null;
  /** A page size that was learned, in rows; `null`: as configured. */
  readonly pageSize: number | null;
}

/** The readings of one run, one after the other: each goes on from the stage document that the last one left. */
export class Extraction {
  #last: ExtractResult | null;
  #calls = 0;
  #reads = 0;

  constructor(
    private readonly ref: RunRef,
    private readonly activities: LongActivities,
    private readonly start: Start,
    private readonly onProgress: (extracted: ExtractResult) => void,
  ) {
    this.#last = start.taken;
  }

  /** Reads the list from its beginning to its end. Returns the reading's number. */
  async read(kind: ListRead['kind']): Promise<number> {
    const read: ListRead = { number: this.#reads++, kind };
    // What was taken over may be all that there is to read.
    let done = read.number === 0 && this.#last?.done === true;
    while (!done) {
      this.#last = await this.activities['worktrack.extractPages'].executeWithOptions(
        {
          summary: `${this.ref.resource}: ${kind}${this.#calls === 0 ? '' : `, from page ${this.#last?.pages ?? 0}`}`,
        },
        [
          {
            ...this.ref,
            call: this.#calls++,
            after: this.#last?.stage ?? null,
            pageSize: this.#last?.pageSize ?? this.start.pageSize,
            read,
          },
        ],
      );
      this.onProgress(this.#last);
      done = this.#last.done;
    }
    return read.number;
  }

  get stage(): ObjectKey {
    return this.#result.stage;
  }

  get pageSize(): number {
    return this.#result.pageSize;
  }

  get #result(): ExtractResult {
    if (this.#last === null) throw new Error('nothing was read');
    return this.#last;
  }
}
