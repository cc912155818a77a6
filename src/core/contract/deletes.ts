/**
 * What a run knows about the deletes of a resource (docs/explanation/guarantees.md#deletes). It is in the manifest, in the state
 * of the mirror and in reports, so it holds no record content and its size is bounded.
 */
export interface DeleteDetection {
  /**
   * What a delete is concluded from. `by-id`: the service answers 404 or 410 for the record's id; `two-readings`: the record
   * is absent from two complete readings of the list; `none`: deletes are not detected.
   */
  readonly basis: 'by-id' | 'two-readings' | 'none';
  /** The field that shows whether a row is inside the list's window; `null` if the list has no window or no field is configured. */
  readonly windowField: string | null;
  /** Why the basis is `none`, or why it is not `by-id` although `fetchById` is set; `null` if there is nothing to explain. */
  readonly reason: DetectionReason | null;
  /** Rows of the snapshot that the last full read did not list, including rows already marked as deleted; `null`: not known. */
  readonly notListed: number | null;
}

/**
 * `kept`: `deletes: keep`; `no-window-field`: the list has a window and no `windowField` is configured; `no-dates`: no row has
 * a value in that field; `not-dates`: the field has values that are no dates; `endpoint`: GET by id did not find a record that
 * the list had just shown.
 */
export type DetectionReason = 'kept' | 'no-window-field' | 'no-dates' | 'not-dates' | 'endpoint';

/** Why a run that looked for deletes could not conclude some of them. Part of a history, so it holds no record content. */
export type DeletesProblem =
  /** `form`: the form of a value that is no date, as `formOf` gives it. */
  | { readonly kind: 'not-dates'; readonly form: string }
  | { readonly kind: 'no-dates' }
  | { readonly kind: 'endpoint' }
  /** The list was empty although the snapshot has this many rows that it should list. */
  | { readonly kind: 'empty-list'; readonly rows: number };
