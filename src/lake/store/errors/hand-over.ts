/**
 * Thrown to stop a short run before it writes; the separate steps then do the run. It is no error: nothing reports it
 * (docs/explanation/how-it-works.md#short-runs).
 */
export class HandOver {
  /** @param reason why the run is not a short one, such as `the list has more than one page`; without record data */
  constructor(readonly reason: string) {}
}
