import type { ByteString } from '../../core/brands.js';
import { isTombstone, payloadAt } from '../../lake/rows/row.js';
import type { MergeSource } from './merge-source.js';

/**
 * Finds out whether the fetched rows of one key prove that the key is not unique (docs/explanation/guarantees.md#key): one page had
 * two different rows of it, or two readings had the same two. A record that changes while the list is read has different rows,
 * too, but no second reading shows its older one again.
 */
export class Twins {
  /** Different rows of each chain of pages. Most keys have one row, or one in each of two chains. */
  readonly #chains: { readonly chain: number; readonly rows: Set<ByteString> }[] = [];
  #isProof = false;

  constructor(source: Pick<MergeSource, 'chain' | 'isProof'>, row: ByteString) {
    this.add(source, row);
  }

  /** Adds a row. Rows of one chain come in turn. */
  add({ chain, isProof }: Pick<MergeSource, 'chain' | 'isProof'>, row: ByteString): void {
    if (chain === null || isTombstone(row)) return;
    this.#isProof ||= isProof;
    const last = this.#chains.at(-1);
    if (last?.chain === chain) last.rows.add(row);
    else this.#chains.push({ chain, rows: new Set([row]) });
  }

  /** The different rows, if they prove that the key is not unique; otherwise `null`. */
  proof(): readonly ByteString[] | null {
    const several = this.#chains.filter(({ rows }) => rows.size > 1);
    if (several.length === 0) return null;
    const all = several.map(({ rows }) => new Map([...rows].map((row) => [row.slice(payloadAt(row)), row])));
    if (this.#isProof) return [...all[0]!.values()];
    const rest = all.slice(1);
    for (const [at, rows] of rest.entries())
      for (const before of all.slice(0, at + 1)) {
        const both = [...rows].filter(([payload]) => before.has(payload));
        if (both.length > 1) return both.map(([, row]) => row);
      }
    return null;
  }
}
