import type { ByteString } from '../../core/brands.js';
import { JsonType } from '../../core/value-facts.js';
import type { Column } from '../../lake/rows/data-columns.js';
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

/** Records as their values by field. */
type Values = ReadonlyMap<string, string | null>;

/** Names of ids and of the fields that usually belong to a key, before others. */
const OF_KEY = /id$|_id|key|code|source|number/i;
const MAX_FIELDS = 3;

/**
 * The fields that make the key unique with today's key, as far as these records show it: those with ids, whole numbers or texts
 * without a time; `null` if there are none.
 *
 * @param same for each key that is not unique, its different records
 * @param types the JSON types of each field
 */
export function uniqueKey(
  key: readonly string[],
  same: readonly (readonly Values[])[],
  columns: readonly Pick<Column, 'name' | 'types' | 'values'>[],
): readonly string[] | null {
  const names = columns
    .filter((column) => !key.includes(column.name) && mayIdentify(column))
    .map(({ name }) => name);
  const ranked = [...names].sort((a, b) => Number(OF_KEY.test(b)) - Number(OF_KEY.test(a)));
  const added: string[] = [];
  let left = same;
  while (left.length > 0 && added.length < MAX_FIELDS) {
    const open = (field: string) => left.filter((records) => !areApart(records, [...added, field]));
    const best = ranked.reduce<string | null>(
      (found, field) => (found === null || open(field).length < open(found).length ? field : found),
      null,
    );
    if (best === null || open(best).length === left.length) return null;
    left = open(best);
    added.push(best);
  }
  return left.length === 0 && added.length > 0 ? [...added, ...key] : null;
}

function mayIdentify({ types, values }: Pick<Column, 'types' | 'values'>): boolean {
  const isText = (types & ~(JsonType.string | JsonType.null)) === 0 && (types & JsonType.string) !== 0;
  const isInteger = (types & ~(JsonType.integer | JsonType.null)) === 0 && (types & JsonType.integer) !== 0;
  return isInteger || (isText && (values.formats & ~TEXT) === 0);
}

/** As `Format.text`: no dates and times. */
const TEXT = 1;

/** Whether no two records have the same values in these fields, and none lacks one. */
function areApart(records: readonly Values[], fields: readonly string[]): boolean {
  const seen = new Set(
    records.flatMap((record) => {
      const cells = fields.map((field) => record.get(field) ?? null);
      return cells.includes(null) ? [] : [JSON.stringify(cells)];
    }),
  );
  return seen.size === records.length;
}
