/** Span that a rate is taken over, in milliseconds. */
const SPAN_MS = 10_000;

/** Rows a second over the last seconds, for each resource. */
export class RateMeter {
  readonly #samples = new Map<string, { at: number; rows: number }[]>();

  /** Adds what is known now and returns rows a second; `null` until there are two samples. */
  rate(resource: string, rows: number, now: number): number | null {
    const samples = (this.#samples.get(resource) ?? []).filter(({ at }) => now - at <= SPAN_MS);
    const last = samples.at(-1);
    // A count that falls is another run's.
    const kept = last !== undefined && last.rows > rows ? [] : samples;
    kept.push({ at: now, rows });
    this.#samples.set(resource, kept);
    const [first] = kept;
    if (first === undefined || now - first.at < 500) return null;
    return ((rows - first.rows) * 1000) / (now - first.at);
  }
}
