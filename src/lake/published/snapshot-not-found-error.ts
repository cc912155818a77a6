/** Nothing is published for a resource, or nothing on the requested day. Request another day, or run an export. */
export class SnapshotNotFoundError extends Error {
  static {
    // Set on the prototype, so that stack traces show the name and `inspect` does not repeat it.
    SnapshotNotFoundError.prototype.name = 'SnapshotNotFoundError';
  }
  readonly resource: string;
  /** Days that have a published snapshot, such as `2026-11-21`, newest first; empty if nothing is published. */
  readonly dates: readonly string[];
  /** What to do next, one sentence. */
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
