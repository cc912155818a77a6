/** Nothing is published for a resource, or not on the day that was asked for: another day, or an export, mends it. */
export class SnapshotNotFoundError extends Error {
  static {
    // On the prototype, so that stack traces carry it and `inspect` does not repeat it.
    SnapshotNotFoundError.prototype.name = 'SnapshotNotFoundError';
  }
  readonly resource: string;
  /** Days that have a published snapshot, `2026-11-21`, the last one first; empty where nothing is published. */
  readonly dates: readonly string[];
  /** What to do about it, one sentence. */
  readonly remedy: string;

  constructor(
    message: string,
    details: { readonly resource: string; readonly dates: readonly string[]; readonly remedy: string },
  ) {
    super(message);
    this.resource = details.resource;
    this.dates = details.dates;
    this.remedy = details.remedy;
  }
}
