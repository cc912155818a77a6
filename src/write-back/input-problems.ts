import type { InputError } from '../core/input-error.js';

/** Kinds of errors that are listed. */
const MAX_KINDS = 50;
/** Different cells of a kind that are kept. */
const MAX_VALUES = 200;

/** Errors that differ only in their place and their cell. */
export interface ProblemKind {
  readonly first: InputError;
  readonly count: number;
  /** The first different cells. */
  readonly values: ReadonlySet<string>;
}

/** All errors of an input, by kind. */
export class InputProblems {
  readonly #kinds = new Map<string, { first: InputError; count: number; values: Set<string> }>();
  #others = 0;

  add(error: InputError): void {
    this.addKind({ first: error, count: 1, values: new Set(error.value === null ? [] : [error.value]) });
  }

  addKind({ first, count, values }: ProblemKind): void {
    const kind = this.#kinds.get(first.kind);
    if (kind !== undefined) {
      kind.count += count;
      for (const value of values) if (kind.values.size < MAX_VALUES) kind.values.add(value);
    } else if (this.#kinds.size < MAX_KINDS) {
      this.#kinds.set(first.kind, { first, count, values: new Set(values) });
    } else {
      this.#others += count;
    }
  }

  addAll(other: InputProblems): void {
    for (const kind of other.kinds) this.addKind(kind);
    this.#others += other.others;
  }

  /** The kinds, in the order of their first lines. */
  get kinds(): readonly ProblemKind[] {
    return [...this.#kinds.values()].sort((a, b) => (a.first.line ?? 0) - (b.first.line ?? 0));
  }

  /** Errors of kinds that are not listed. */
  get others(): number {
    return this.#others;
  }
}
