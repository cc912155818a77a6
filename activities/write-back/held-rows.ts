/** After this many refused rows in a row, the attempt checks whether the service refuses every row. */
export const MAX_HELD = 8;
/** Rows that are tried for this check, spread over the rest of the input. */
export const MAX_PROBES = 12;

/**
 * The refused rows of an attempt. One refusal does not show whether it is about the row or about the API key. It was about
 * the row if the service accepts a row whose request began after the refusal had arrived. Only then is it the row's
 * outcome (docs/explanation/guarantees.md#write-back).
 */
export class HeldRows<Row> {
  #now = 0;
  #held: { readonly row: Row; readonly at: number }[] = [];

  /** Number of refusals since the last accepted row. */
  get size(): number {
    return this.#held.length;
  }

  /** The last refused row; `null` if there is none. */
  get last(): Row | null {
    return this.#held.at(-1)?.row ?? null;
  }

  /** Returns the order of a request that begins now. */
  begin(): number {
    return ++this.#now;
  }

  /** Holds a row whose refusal arrives now. */
  hold(row: Row): void {
    this.#held.push({ row, at: ++this.#now });
  }

  /** @param begun the order of an accepted request @returns the rows that were refused before it began */
  accepted(begun: number): Row[] {
    const about = this.#held.filter(({ at }) => at < begun);
    this.#held = this.#held.filter(({ at }) => at > begun);
    return about.map(({ row }) => row);
  }

  /** Returns all held rows, and holds them no longer. */
  release(): Row[] {
    const rows = this.#held.map(({ row }) => row);
    this.#held = [];
    return rows;
  }
}
