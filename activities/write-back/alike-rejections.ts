import type { Said } from '../../src/write-back/plan-file.js';

/** Rejections that are alike, with no accepted row, until the attempt tries rows from all over the file. */
export const MAX_ALIKE = 20;
/** Rejections of all kinds that are held. With more, they are about the rows. */
const MAX_HELD = 10 * MAX_ALIKE;

/**
 * Rejections that are alike as long as no row was accepted. They may be about something that all rows of the file have, such as a
 * wrong key, so none of them is an outcome before a row was accepted or the file ends.
 */
export class AlikeRejections<Row> {
  readonly #groups = new Map<string, Row[]>();
  #size = 0;

  /** How many rejections the largest group has. */
  get largest(): number {
    return Math.max(0, ...[...this.#groups.values()].map(({ length }) => length));
  }

  /** Holds a rejection. @returns false: there are so many different ones that each counts */
  hold(row: Row, said: Said): boolean {
    if (this.#size >= MAX_HELD) return false;
    const likeness = likenessOf(said);
    const group = this.#groups.get(likeness) ?? [];
    this.#groups.set(likeness, group);
    group.push(row);
    this.#size++;
    return true;
  }

  /** Returns all held rejections, and holds them no longer. */
  release(): Row[] {
    const rows = [...this.#groups.values()].flat();
    this.#groups.clear();
    this.#size = 0;
    return rows;
  }
}

/** What rejections have in common: the status, and the message without digits and quoted parts. */
export function likenessOf({ status, message }: Said): string {
  const text = (message ?? '').replace(/"[^"]*"|'[^']*'|`[^`]*`|“[^“”]*”|«[^«»]*»|\d+(?:[.,]\d+)*/g, '');
  return `${status} ${text}`;
}
