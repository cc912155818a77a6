import type { ObjectKey } from '../../core/brands.js';

export interface Problem {
  /** The object that must be restored or rebuilt. */
  readonly key: ObjectKey;
  /** The full message, including the key. */
  readonly text: string;
  /** Whether the object could not be read, so that it may be intact. Default: it is damaged or missing. */
  readonly isUnread?: boolean;
}

/** What `verify` has found so far. */
export interface Findings {
  readonly problems: Problem[];
  /** Objects that were damaged in transit and are intact in the store, and files of other programs. */
  readonly notes: string[];
}

/** The kind of a problem of an object that could not be read. */
export const UNREAD = 'unread';

/**
 * Collects the problems of one object, and reports the first problem and the count for each kind. A damaged part can
 * have a million bad rows.
 */
export class ObjectProblems {
  readonly #byKind = new Map<string, { readonly first: string; more: number }>();

  /** @param kind groups similar problems  @param text the full message, including the object's key */
  add(kind: string, text: string): void {
    const known = this.#byKind.get(kind);
    if (known === undefined) this.#byKind.set(kind, { first: text, more: 0 });
    else known.more++;
  }

  /** The problems in order of first occurrence. @param keyOf key of the object that causes problems of a kind */
  toList(keyOf: (kind: string) => ObjectKey): Problem[] {
    const unread = this.#byKind.get(UNREAD);
    // What could not be read has no other problem.
    if (unread !== undefined) return [{ key: keyOf(UNREAD), text: unread.first, isUnread: true }];
    return [...this.#byKind].map(([kind, { first, more }]) => ({
      key: keyOf(kind),
      text: more === 0 ? first : `${first} (and ${more} more like it)`,
    }));
  }
}
