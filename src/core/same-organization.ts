/** One record, as the lake knows it and as the service shows it now: the texts of its fields without the key, by column. */
export interface ComparedRecord {
  readonly known: ReadonlyMap<string, string>;
  readonly found: ReadonlyMap<string, string>;
}

/** How many compared records are the same record, with most other cells equal, and how many only have the same key. */
interface Comparison {
  readonly same: number;
  readonly different: number;
}

/** So many records have to be the same. */
const ENOUGH = 20;
/** A value that more than this share of the compared records has tells nothing about one of them. */
const COMMON_SHARE = 0.25;
const NEVER_TELLING: ReadonlySet<string> = new Set(['', 'true', 'false']);

/**
 * How many records have to be the same, for a lake that knows so many: 20, or half of them if there are fewer than 40.
 *
 * @param known live rows; 0 if there is nothing to compare
 */
export function neededRecords(known: number): number {
  return known >= 2 * ENOUGH ? ENOUGH : Math.max(1, Math.ceil(known / 2));
}

/**
 * Whether the compared records show the same organization (docs/explanation/guarantees.md#organization-check). Ids count from 1
 * in many organizations, so equal keys alone show nothing. Two records are the same if most cells that can tell them from
 * others are equal: empty cells, `true`, `false` and values that many of the records have can not. Enough records have to be the
 * same, and more than those that only have the same key.
 */
export function showsSameOrganization(records: readonly ComparedRecord[], needed: number): boolean {
  const { same, different } = compareRecords(records);
  return same >= needed && same > different;
}

function compareRecords(records: readonly ComparedRecord[]): Comparison {
  const isTelling = tellingValues(records);
  let same = 0;
  let different = 0;
  for (const { known, found } of records) {
    const telling = [...known].filter(([column, value]) => isTelling(column, value));
    if (telling.length === 0) continue;
    const equal = telling.filter(([column, value]) => found.get(column) === value).length;
    if (2 * equal > telling.length) same++;
    else different++;
  }
  return { same, different };
}

function tellingValues(records: readonly ComparedRecord[]): (column: string, value: string) => boolean {
  const counts = new Map<string, Map<string, number>>();
  for (const { known } of records)
    for (const [column, value] of known) {
      const ofColumn = counts.get(column) ?? new Map<string, number>();
      counts.set(column, ofColumn.set(value, (ofColumn.get(value) ?? 0) + 1));
    }
  const most = Math.max(1, COMMON_SHARE * records.length);
  return (column, value) => !NEVER_TELLING.has(value) && counts.get(column)!.get(value)! <= most;
}

/** What a run found out about its API key. `first`: no earlier key is known. */
type OrganizationBasis = 'first' | 'same-key' | 'records' | 'adopted';

/** What the check of the organization rests on, in a few words for a list. */
export function organizationText(basis: OrganizationBasis): string {
  return {
    first: 'not compared, because no earlier API key is known',
    'same-key': 'by the same API key',
    records: 'by equal records, with a new API key',
    adopted: 'by --adopt-organization',
  }[basis];
}
