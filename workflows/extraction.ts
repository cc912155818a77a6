import type { ActivityInterfaceFor } from '@temporalio/workflow';
import type { ObjectKey } from '../src/core/brands.js';
import type { Activities, ExtractResult, ListRead, RunRef } from '../src/core/contract.js';

/** The activities as a workflow calls them. */
export type LongActivities = ActivityInterfaceFor<Activities>;

/** The readings of one run, one after the other: each goes on from the stage document that the last one left. */
export class Extraction {
  #last: ExtractResult | null = null;
  #calls = 0;
  #reads = 0;

  constructor(
    private readonly ref: RunRef,
    private readonly activities: LongActivities,
    private readonly pageSizeBefore: number | null,
    private readonly onProgress: (extracted: ExtractResult) => void,
  ) {}

  /** Reads the list from its beginning to its end. Returns the reading's number. */
  async read(kind: ListRead['kind']): Promise<number> {
    const read: ListRead = { number: this.#reads++, kind };
    do {
      this.#last = await this.activities['worktrack.extractPages']({
        ...this.ref,
        call: this.#calls++,
        after: this.#last?.stage ?? null,
        pageSize: this.#last?.pageSize ?? this.pageSizeBefore,
        read,
      });
      this.onProgress(this.#last);
    } while (!this.#last.done);
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
