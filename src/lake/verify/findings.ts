/**
 * Problems of one object, a line for each kind: a damaged part can have a million bad rows, and the first of them
 * says as much as all.
 */
export class Findings {
  readonly #byKind = new Map<string, { readonly first: string; more: number }>();

  /** @param kind groups problems that are alike  @param text the whole problem, with the object's key */
  add(kind: string, text: string): void {
    const known = this.#byKind.get(kind);
    if (known === undefined) this.#byKind.set(kind, { first: text, more: 0 });
    else known.more++;
  }

  /** In the order of their first occurrence. */
  toList(): string[] {
    return [...this.#byKind.values()].map(({ first, more }) =>
      more === 0 ? first : `${first} (and ${more} more like it)`,
    );
  }
}
