import type { EpochMs } from '../../core/brands.js';
import { toByteString } from '../../core/brands.js';
import { dateSpan } from '../../core/date-span.js';
import { type DeletedRule, markIn } from '../../lake/rows/deletion-mark.js';
import { isLater } from '../../lake/rows/newer.js';

/** A record: its values as text, by field. Fields without a value are absent. */
type Row = ReadonlyMap<string, string>;

/** Records that are remembered. */
const MAX_RECORDS = 50_000;
/** Changes that a field must have moved with, before it counts as the time of changes. */
const MIN_CHANGES = 3;
/** Names of fields with the time of a change. */
const CHANGE_TIME = /updat|modif|chang|edited|touched/i;

interface Moves {
  forward: number;
  isNeverBack: boolean;
}

/**
 * What the versions of records that were seen in turn show about their fields: in the lake, and on each page of the
 * trial.
 */
export class SeenRecords {
  readonly #newest = new Map<string, Row>();
  readonly #moves = new Map<string, Moves>();
  #changes = 0;

  /** Adds a version of a record. @param key its key as one text */
  see(key: string, row: Row): void {
    const before = this.#newest.get(key);
    if (before === undefined && this.#newest.size >= MAX_RECORDS) return;
    this.#newest.set(key, row);
    if (before === undefined) return;
    const shared = [...row].flatMap(([field, value]) => {
      const earlier = before.get(field);
      return earlier === undefined ? [] : [{ field, value, earlier }];
    });
    if (shared.every(({ value, earlier }) => value === earlier)) return;
    this.#changes++;
    for (const { field, value, earlier } of shared) this.#noteMove(field, isLater(value, earlier));
  }

  #noteMove(field: string, isForward: boolean | null): void {
    const moves = this.#moves.get(field) ?? { forward: 0, isNeverBack: true };
    this.#moves.set(field, moves);
    if (isForward === true) moves.forward++;
    if (isForward === false) moves.isNeverBack = false;
  }

  /**
   * The field that holds the time of a record's last change: it moved forward with each change that was seen, at least three, never
   * back, and every record has a time in it. `null`: none is known.
   *
   * @param compared the field that fits `updatedSince`; `null`: none
   */
  updatedAt(compared: string | null): string | null {
    const fields = [...this.#moves].flatMap(([field, { forward, isNeverBack }]) => {
      const isNamed = field === compared || CHANGE_TIME.test(field);
      const moved = isNeverBack && forward >= MIN_CHANGES && forward === this.#changes;
      return isNamed && moved && this.#isTime(field) ? [field] : [];
    });
    return fields.find((field) => field === compared) ?? fields[0] ?? null;
  }

  #isTime(field: string): boolean {
    return [...this.#newest.values()].every((row) => dateSpan(row.get(field) ?? '') !== null);
  }

  /**
   * The setting for the field where records say that they are deleted, if some of them do, and not most. `null`: none is known.
   */
  deleted(now: EpochMs): DeletedRule {
    const found = new Map<string, { values: Set<string> | null; records: number }>();
    for (const row of this.#newest.values())
      for (const [field, value] of row) {
        const rule = markIn(field, toByteString(value), now);
        if (rule === null) continue;
        const { values, records } = found.get(field) ?? { values: rule.values && new Set(), records: 0 };
        for (const one of rule.values ?? []) values?.add(one);
        found.set(field, { values, records: records + 1 });
      }
    const [best] = [...found]
      .filter(([, { records }]) => records <= this.#newest.size / 2)
      .sort(([, a], [, b]) => b.records - a.records);
    return best === undefined
      ? null
      : { field: best[0], values: best[1].values && [...best[1].values].sort() };
  }
}
