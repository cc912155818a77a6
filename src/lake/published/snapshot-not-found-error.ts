import { WorktrackError } from '../../core/errors.js';

/** Nothing is published for a resource, or nothing on the requested day. Request another day, or run an export. */
export class SnapshotNotFoundError extends WorktrackError {
  readonly code = 'SNAPSHOT_NOT_FOUND';
  readonly resource: string;
  /** Days that have a published snapshot, such as `2026-11-21`, newest first; empty if nothing is published. */
  readonly dates: readonly string[];

  constructor(
    message: string,
    details: { readonly resource: string; readonly dates: readonly string[]; readonly remedy: string },
  ) {
    super(message, details);
    this.resource = details.resource;
    this.dates = details.dates;
  }
}
