/** Time span of a rate, in milliseconds. */
const SPAN_MS = 10_000;

/** Rows per second of each resource over the last seconds. */
export class RateMeter {
  readonly #samples = new Map<string, { at: number; rows: number }[]>();

  /** Adds a sample and returns rows per second; `null` until there are two samples. */
  rate(resource: string, rows: number, now: number): number | null {
    const samples = (this.#samples.get(resource) ?? []).filter(({ at }) => now - at <= SPAN_MS);
    const last = samples.at(-1);
    // A lower count belongs to another run.
    const kept = last !== undefined && last.rows > rows ? [] : samples;
    kept.push({ at: now, rows });
    this.#samples.set(resource, kept);
    const [first] = kept;
    if (first === undefined || now - first.at < 500) return null;
    return ((rows - first.rows) * 1000) / (now - first.at);
  }
}
